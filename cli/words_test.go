package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/secret"
)

// Each line of each error that a command makes of bad values is in the person's language, and in no other.
func TestErrorsOfAllCommandsAreInOneLanguage(t *testing.T) {
	t.Parallel()
	key := secret.FormatKey(secret.NewKey())
	url := serveForTest(t, key, dbtest.SQLite(t))
	for lang, chinese := range map[string]bool{"zh_CN.UTF-8": true, "C": false} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w := &walk{chinese: chinese, seen: map[string]bool{}, sh: (Options{}).shell()}
			w.sh.In, w.sh.Out, w.sh.Err, w.sh.Dir = strings.NewReader(""), &bytes.Buffer{}, &w.errs, dir
			w.sh.Environ = []string{"POSTHOUSE_URL=" + url, "POSTHOUSE_API_KEY=" + key, "LANG=" + lang, "POSTHOUSE_DSN=sqlite:" + dir + "/none.db"}
			w.root = root(w.sh)
			w.root.SetOut(w.sh.Out)
			w.root.SetErr(w.sh.Err)
			w.visit(t, w.root)
			if len(w.seen) < 500 {
				t.Errorf("only %d lines were seen: that is not all commands", len(w.seen))
			}
		})
	}
}

// inEnglish are words that a sentence in Chinese has only where some of it was left in English, and quotes what it may show as it is typed.
var (
	inEnglish = regexp.MustCompile(`(?i)\b(an?|the|all|is|are|of|and|or|not?|want|such|there|did|with|missing|value|commands?|flags?|argument) `)
	quotes    = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

// walk calls commands with values that they refuse: all on one tree of commands, since making one takes longer than to refuse.
type walk struct {
	chinese bool
	sh      *shell.Shell
	root    *cobra.Command
	errs    bytes.Buffer
	seen    map[string]bool
}

// visit walks a command and all below it.
func (w *walk) visit(t *testing.T, cmd *cobra.Command) {
	if cmd.HasSubCommands() {
		w.try(t, cmd, "nix")
		w.try(t, cmd, cmd.Commands()[0].Name()+"x")
		for _, below := range cmd.Commands() {
			if below.Name() != "help" && below.Name() != "completion" && below.Name() != "man" {
				w.visit(t, below)
			}
		}
	}
	if !cmd.HasParent() || !cmd.Runnable() {
		return
	}
	w.try(t, cmd, "--nix")
	w.try(t, cmd, "-Z")
	stays := map[string]bool{"serve": true, "demo": true, "simulate": true, "run": true, "followers": true, "follow": true, "backup": true, "events": true}[cmd.Name()] // they go on where they take a value
	var flags []*pflag.Flag
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "env-file" && f.Name != "output" && f.Name != "to" { // files that would be written
			flags = append(flags, f)
		}
	})
	for _, f := range flags {
		w.try(t, cmd, "--"+f.Name+"x")
		if f.NoOptDefVal == "" {
			w.try(t, cmd, "--"+f.Name)
		}
		if kind := f.Value.Type(); kind == "string" && !stays {
			w.try(t, cmd, "--"+f.Name+"=x y", "nix")
		} else if kind != "string" && !strings.HasPrefix(kind, "string") {
			w.try(t, cmd, "--"+f.Name+"=x y")
		}
	}
	for n := 0; n < 5 && !stays; n++ {
		w.try(t, cmd, strings.Fields("nix nix nix nix")[:n]...)
	}
}

// try runs a command, looks at the lines of its error, and takes its flags back.
func (w *walk) try(t *testing.T, cmd *cobra.Command, args ...string) {
	args = append(strings.Fields(cmd.CommandPath())[1:], args...)
	w.errs.Reset()
	w.root.SetArgs(former(args))
	w.sh.Exit(w.root.ExecuteContext(t.Context()))
	cmd.Flags().Visit(func(f *pflag.Flag) {
		_ = f.Value.Set(f.DefValue) // a text takes what it had
		f.Changed = false
	})
	for line := range strings.Lines(w.errs.String()) {
		if w.seen[line] {
			continue
		}
		w.seen[line] = true
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.Is(unicode.Han, r) }) != w.chinese {
			t.Errorf("%v: %s", args, line)
		}
		if english := inEnglish.FindString(quotes.ReplaceAllString(line, "")); w.chinese && english != "" {
			t.Errorf("%v: %q is in English: %s", args, english, line)
		}
	}
}
