package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse/internal/cli/shell"
)

func TestEveryCommandIsInAChapterAndHasAnExample(t *testing.T) {
	t.Parallel()
	root := root(&shell.Shell{})
	known := map[string]bool{}
	for _, cmd := range root.Commands() {
		known[cmd.Name()] = true
		if cmd.GroupID == "" {
			t.Errorf("%s is in no chapter of the list of commands", cmd.Name())
		}
		if !strings.Contains(cmd.Example, "posthouse "+cmd.Name()) {
			t.Errorf("the help of %s has no example of it: %q", cmd.Name(), cmd.Example)
		}
		for line := range strings.Lines(cmd.Example) {
			line, _, _ = strings.Cut(line, " | ")
			words := typed(strings.TrimSpace(line))
			if len(words) == 0 || words[0] != "posthouse" {
				continue
			}
			found, rest, err := root.Find(words[1:])
			if err == nil && !found.DisableFlagParsing {
				if err = found.ParseFlags(rest); errors.Is(err, pflag.ErrHelp) {
					err = nil
				}
			}
			if err != nil || found == root {
				t.Errorf("%q is no command: %v", strings.TrimSpace(line), err)
			}
		}
	}
	for _, c := range chapters() {
		for name := range strings.FieldsSeq(c.commands) {
			if !known[name] {
				t.Errorf("chapter %s names %s, which is no command", c.id, name)
			}
		}
	}
}

// What was learned before goes on, and the help has one word.
func TestFormerWordsStillMeanTheSame(t *testing.T) {
	t.Parallel()
	root := root(&shell.Shell{})
	for line, want := range map[string]string{
		"agents list":           "posthouse agent list",
		"agent --app-id p1":     "posthouse agent run",
		"--json agent --once":   "posthouse agent run",
		"agent --help":          "posthouse agent",
		"agent list":            "posthouse agent list",
		"campaign create x":     "posthouse campaign add",
		"audience create x":     "posthouse audience add",
		"key revoke x":          "posthouse key delete",
		"media get x":           "posthouse media show",
		"send --text agent --a": "posthouse send",
	} {
		cmd, _, err := root.Find(former(strings.Fields(line)))
		if err != nil || cmd.CommandPath() != want {
			t.Errorf("%q is %s, %v: want %s", line, cmd.CommandPath(), err, want)
		}
	}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if strings.Contains(helpOf(cmd), "Aliases:") {
			t.Errorf("the help of %s lists former words", cmd.CommandPath())
		}
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	visit(root)
}

// One verb for one thing: these words are aliases at most.
func TestOneVerbForOneThing(t *testing.T) {
	t.Parallel()
	former := []string{"create", "drop", "rm", "remove", "revoke", "get"}
	var got []string
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if slices.Contains(former, cmd.Name()) {
			got = append(got, cmd.CommandPath())
		}
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	visit(root(&shell.Shell{}))
	if diff := cmp.Diff([]string(nil), got); diff != "" {
		t.Errorf("commands with a former word (-want +got):\n%s", diff)
	}
}
