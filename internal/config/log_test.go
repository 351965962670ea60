package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/server"
)

func withSecrets() Config {
	return Config{Server: server.Options{
		DSN: "postgres://posthouse:p4ssw0rd@db/posthouse", AdminKey: "ph_first_abcdefghijkl", Redis: "redis://:r3dispass@cache:6379/0",
	}}
}

func TestNoLineOfTheLogHoldsASecret(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		c := withSecrets()
		c.LogFormat = format
		log := c.Logger(&out, false)
		log.Info("open "+c.Server.DSN, "error", errors.New("connect to "+c.Server.Redis), "key", c.Server.AdminKey)
		log.WithGroup("http").With("header", "Authorization: Bearer ph_other_zyxwvutsrq").Warn("refused")
		for _, secret := range []string{"p4ssw0rd", "r3dispass", "abcdefghijkl", "zyxwvutsrq"} {
			if strings.Contains(out.String(), secret) {
				t.Errorf("the %s log holds %s:\n%s", format, secret, &out)
			}
		}
	}
}

func TestNoLineOfTheLogCommandsATerminal(t *testing.T) {
	t.Parallel()
	hostile := "a\x1b[2Jb\nc\u009bd\u202ee"
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		Config{LogFormat: format}.Logger(&out, false).Error(hostile, "user", hostile, "bytes", []byte(hostile))
		if got := strings.TrimSuffix(out.String(), "\n"); strings.ContainsAny(got, "\x1b\n\u009b\u202e") {
			t.Errorf("the %s log lets through: %q", format, got)
		}
	}
}

func TestLogIsJSONUnlessOnATerminal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		format   string
		terminal bool
		json     bool
	}{
		"in a pipe":        {"", false, true},
		"on a terminal":    {"", true, false},
		"asked for json":   {"json", true, true},
		"asked for text":   {"text", false, false},
		"text, no colours": {"text", false, false},
	} {
		var out bytes.Buffer
		Config{LogFormat: test.format}.Logger(&out, test.terminal).Info("posthouse serves", "n", 7)
		if got := json.Valid(out.Bytes()); got != test.json {
			t.Errorf("%s: JSON is %v, want %v: %s", name, got, test.json, &out)
		}
		if !test.terminal && strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: colours in a pipe: %q", name, &out)
		}
	}
}

func TestDurationsInTheLogHaveTheirUnits(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "text"} {
		var out strings.Builder
		c := Config{LogFormat: format}
		c.Logger(&out, false).Info("ended", "took", 11*time.Millisecond+345*time.Nanosecond, "wait", 90*time.Second)
		if got := strings.ReplaceAll(out.String(), `"`, ""); !strings.Contains(strings.ReplaceAll(got, ":", "="), "took=11ms") || !strings.Contains(got, "1m30s") {
			t.Errorf("%s: %s", format, out.String())
		}
	}
}

func TestLogLevel(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := Config{LogLevel: slog.LevelWarn}.Logger(&out, false)
	log.Info("quiet")
	if out.Len() > 0 {
		t.Errorf("got %q, want nothing below warn", &out)
	}
	log.Warn("loud")
	if out.Len() == 0 {
		t.Error("got nothing, want the warning")
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain 消息":           "plain 消息",
		"a\nb\tc":            `a\nb c`,
		"\x1b[31m\a":         `\u001b[31m\u0007`,
		"left\u202eright":    `left\u202eright`,
		"\u0085 \u007f end":  `\u0085 \u007f end`,
		"one\u2028two\u2029": `one\u2028two\u2029`,
	} {
		if got := Printable(in); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
