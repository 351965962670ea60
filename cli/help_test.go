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

// helpOf is what a command prints when it is asked for help.
func helpOf(cmd *cobra.Command) string {
	var page bytes.Buffer
	cmd.SetOut(&page)
	_ = cmd.Help() // a buffer takes everything
	return page.String()
}

func TestNoLineOfTheHelpIsWiderThanATerminal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sh   shell.Shell
		most int
	}{
		"nobody says":       {shell.Shell{}, 100},
		"a terminal":        {shell.Shell{Width: 72}, 72},
		"a wide terminal":   {shell.Shell{Width: 240}, 100},
		"COLUMNS":           {shell.Shell{Width: 90, Environ: []string{"COLUMNS=80"}}, 80},
		"COLUMNS of a fool": {shell.Shell{Environ: []string{"COLUMNS=many"}}, 100},
	} {
		root := root(&test.sh)
		pages, long := 0, 0
		var visit func(*cobra.Command)
		visit = func(cmd *cobra.Command) {
			pages++
			examples := false
			for line := range strings.SplitSeq(helpOf(cmd), "\n") {
				if line != "" && line[0] != ' ' {
					examples = line == "Examples:" // written to be copied: of the width that help has without a terminal
				}
				width := text.StringWidthWithoutEscSequences(line)
				if width > 100 || width > test.most && !examples && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%s: %s: %d columns: %s", name, cmd.CommandPath(), width, line)
				}
				long = max(long, width)
			}
			for _, below := range cmd.Commands() {
				visit(below)
			}
		}
		if visit(root); pages < 50 || long < test.most-10 {
			t.Errorf("%s: %d pages, of up to %d columns: that is not all of the help", name, pages, long)
		}
	}
}

// One word for one thing: what a command stores, another one deletes, and no third word does either.
func TestWhatIsStoredIsDeletedByOneWord(t *testing.T) {
	t.Parallel()
	deletes := 0
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, name := range append([]string{cmd.Name()}, cmd.Aliases...) {
			switch name {
			case "delete":
				deletes++
			case "rm", "remove", "del", "erase", "destroy":
				t.Errorf("%s: the word for it is delete", cmd.CommandPath())
			}
		}
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	if visit(root(&shell.Shell{})); deletes < 10 {
		t.Errorf("the test sees %d commands that delete", deletes)
	}
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
		{"channel set x --on-unknown ho", "hold"},
		{"send --priority ", "high normal low"},
	} {
		text, code := ran(t, environ, append([]string{"__complete"}, strings.Split(test.line, " ")...)...)
		names, _, _ := strings.Cut(text, ":") // and then how it ended
		if got := strings.Join(strings.Fields(names), " "); got != test.want || code != 0 {
			t.Errorf("%q: got %q and exit code %d, want %q", test.line, text, code, test.want)
		}
	}
}

// A reader finds every command at a glance, in both languages.
func TestThePageOfCommandsNamesEveryCommand(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"../docs/guide/commands.md", "../docs/guide/commands.zh-CN.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var table strings.Builder
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "| `posthouse ") {
				table.WriteString(line)
			}
		}
		for _, cmd := range root(&shell.Shell{}).Commands() {
			if name := cmd.Name(); name != "help" && !strings.Contains(table.String(), "`posthouse "+name+"`") && !strings.Contains(table.String(), "`"+name+"`") {
				t.Errorf("%s: the table of commands lacks %s", file, name)
			}
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
