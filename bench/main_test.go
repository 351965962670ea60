package main

import (
	"strings"
	"testing"
)

func TestWrongFlagsAreNamed(t *testing.T) {
	for args, want := range map[string]string{
		"-rounds -1":           "-rounds -1: want more than 0",
		"-scale 0":             "-scale 0: want more than 0",
		"-finished -5":         "-finished -5: want more than 0",
		"drain":                `"drain" is no flag`,
		"-databases oracle":    `"oracle"`,
		"-only nonsense":       `nothing was measured: on sqlite, no work has a word of -only "nonsense"`,
		"-only drain -who you": `-who "you": no contender`,
		"-who nobody":          `-who "nobody": no contender`,
		"-who River, -quick":   `there is an empty word`,
		"-who Asynq":           `-who "Asynq": no contender on sqlite`,
		"-scale NaN":           "-scale NaN: want more than 0",
		"-scale +Inf":          "-scale +Inf: want more than 0",
		"-only drain,":         `-only "drain,": there is an empty word`,
		"-who ,":               `-who ",": there is an empty word`,
		"-json /nonexistent/x": "-json: open /nonexistent/x",
	} {
		if !strings.Contains(args, "-databases") {
			args = "-databases sqlite " + args
		}
		if err := start(t.Context(), strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("bench %s: got %v, want %s", args, err, want)
		}
	}
}
