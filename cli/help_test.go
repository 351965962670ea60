package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/secret"
)

func TestNoLineOfTheHelpIsWiderThanATerminal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		environ []string
		most    int
	}{{nil, 100}, {[]string{"COLUMNS=72"}, 72}} {
		root := root(&shell.Shell{Environ: test.environ})
		var visit func(*cobra.Command)
		visit = func(cmd *cobra.Command) {
			for line := range strings.Lines(cmd.Long + "\n" + flagsHelp(cmd)) {
				indented := strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "      ") // written as it is
				if width := text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n")); width > test.most && !indented {
					t.Errorf("%s: %d columns: %s", cmd.CommandPath(), width, line)
				}
			}
			for _, below := range cmd.Commands() {
				visit(below)
			}
		}
		visit(root)
	}
}

// flagsHelp is what the help says of a command's flags, of those that have room for words beside their names.
func flagsHelp(cmd *cobra.Command) string {
	_, flags, _ := strings.Cut(cmd.UsageString(), "\nFlags:\n")
	flags, _, _ = strings.Cut(flags, "\n\n")
	if !strings.HasPrefix(cmd.CommandPath(), "posthouse channel") {
		return ""
	}
	return flags
}

func TestTheShellCompletesWhatTheServerHas(t *testing.T) {
	t.Parallel()
	key := secret.FormatKey(secret.NewKey())
	environ := []string{"POSTHOUSE_URL=" + serveForTest(t, key, dbtest.SQLite(t)), "POSTHOUSE_API_KEY=" + key}
	for _, name := range []string{"desk", "oa"} {
		if text, code := ran(t, environ, "channel", "set", name, "--driver", "console"); code != 0 {
			t.Fatal(text)
		}
	}
	for _, test := range []struct{ line, want string }{
		{"channel pause d", "desk"},
		{"channel pause desk ", ""},
		{"send --channel o", "oa"},
		{"send --to a --channel ", "desk oa"},
		{"status --state failed,unk", "failed,unknown"},
		{"channel set x --driver web", "webhook"},
		{"channel drivers httpa", "httpapi"},
		{"channel list ", ""},
	} {
		text, code := ran(t, environ, append([]string{"__complete"}, strings.Split(test.line, " ")...)...)
		names, _, _ := strings.Cut(text, ":") // and then how it ended
		if got := strings.Join(strings.Fields(names), " "); got != test.want || code != 0 {
			t.Errorf("%q: got %q and exit code %d, want %q", test.line, text, code, test.want)
		}
	}
}

func TestEveryCommandHasAManualPage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	if text, code := ran(t, nil, "man", dir); code != 0 {
		t.Fatal(text)
	}
	page, err := os.ReadFile(filepath.Join(dir, "posthouse-channel-set.1"))
	if err != nil || !bytes.Contains(page, []byte("Create a channel")) {
		t.Errorf("got error %v and %.200s", err, page)
	}
}
