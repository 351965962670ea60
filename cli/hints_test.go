package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// Every command that a page of the console advises is one, with its flags and arguments.
func TestCommandsThatPagesAdviseExist(t *testing.T) {
	t.Parallel()
	var advised []string
	err := filepath.WalkDir("../internal/console", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, "_test.go") {
			return err
		}
		find := map[string]*regexp.Regexp{
			".html": regexp.MustCompile(`(?m)(?:^|<pre>|\}\}|>)(posthouse [a-z].*?)(?:</pre>|</code>|$)`),
			".go":   regexp.MustCompile(`"(posthouse [a-z][^"]*)"`),
		}[filepath.Ext(path)]
		if find == nil {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range find.FindAllStringSubmatch(string(text), -1) {
			advised = append(advised, m[1])
		}
		return err
	})
	if err != nil || len(advised) < 25 {
		t.Fatalf("%d commands were found, %v: %q", len(advised), err, advised)
	}
	actions := regexp.MustCompile(`\{\{[^}]*\}\}`)
	for _, line := range advised {
		words := typed(actions.ReplaceAllStringFunc(line, func(action string) string {
			if strings.HasPrefix(action, "{{if") || action == "{{end}}" {
				return ""
			}
			return "x"
		}))
		if to := slices.IndexFunc(words, func(w string) bool { return w == ">" || w == "&gt;" }); to >= 0 { // what the shell does with the output
			words = words[:to]
		}
		root := root((Options{}).shell())
		cmd, rest, err := root.Find(words[1:])
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err == nil && cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
			err = fmt.Errorf("%s has no command %q", cmd.CommandPath(), cmd.Flags().Arg(0))
		}
		if err == nil && cmd.Args != nil {
			err = cmd.Args(cmd, cmd.Flags().Args())
		}
		if err != nil && !errors.Is(err, pflag.ErrHelp) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// typed are the words of a line as a shell reads it.
func typed(line string) (words []string) {
	word, open, quoted := "", false, false
	for _, r := range line {
		switch {
		case r == '\'':
			quoted, open = !quoted, true
		case r == ' ' && !quoted:
			if open {
				words = append(words, word)
			}
			word, open = "", false
		default:
			word, open = word+string(r), true
		}
	}
	if open {
		words = append(words, word)
	}
	return words
}
