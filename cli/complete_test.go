package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/secret"
)

// closed are the placeholders of flags that take one of some words, or several of them.
var closed = []string{"FORM", "FORMAT", "LEVEL", "STATE", "STATES", "STATUSES", "SCOPE", "WAY", "PROTOCOL", "POLICY", "PRIORITY", "LANGUAGE", "BOOL"}

// listed is a list of words in the help of a flag: "default, duty, flow or wecom".
var listed = regexp.MustCompile(`[A-Z]: ((?:[a-z_0-9-]+, )*[a-z_0-9-]+(?:,| or) [a-z_0-9-]+)(?: \(|$| \[|\. )`)

// The shell completes each flag of a closed set, by the words that the help names.
func TestEveryFlagOfAClosedSetIsCompleted(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			placeholder, help := pflag.UnquoteUsage(f)
			if placeholder != "" && placeholder == strings.ToLower(placeholder) {
				t.Errorf("%s --%s wants a %q: the help says what that is in capitals", cmd.CommandPath(), f.Name, placeholder)
			}
			names := listed.FindStringSubmatch(help)
			if !slices.Contains(closed, placeholder) && names == nil {
				return
			}
			complete, ok := cmd.GetFlagCompletionFunc(f.Name)
			if !ok {
				t.Errorf("%s --%s is not completed: %s", cmd.CommandPath(), f.Name, help)
				return
			}
			words, directive := complete(cmd, nil, "")
			if len(words) == 0 || directive != cobra.ShellCompDirectiveNoFileComp {
				t.Errorf("%s --%s completes %v", cmd.CommandPath(), f.Name, words)
			}
			for name := range strings.FieldsFuncSeq(strings.Join(names[min(1, len(names)):], ""), func(r rune) bool { return r == ',' || r == ' ' }) {
				if name != "or" && !slices.Contains(words, name) {
					t.Errorf("%s --%s completes %v, and its help names %s", cmd.CommandPath(), f.Name, words, name)
				}
			}
			found[f.Name] = true
		})
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	visit(root(&shell.Shell{}))
	for _, name := range []string{"profile", "limit-by", "status", "state", "on-unknown", "scope", "log-level", "format", "pull", "channel"} {
		if !found[name] {
			t.Errorf("the test does not see that --%s is of a closed set: %v", name, found)
		}
	}
}

// A name that the server does not know brings those near it, of the caller's tenant alone; so does a word that is no command.
func TestUnknownNamesBringTheNearest(t *testing.T) {
	t.Parallel()
	key := secret.FormatKey(secret.NewKey())
	server := serveForTest(t, key, dbtest.SQLite(t))
	environ := []string{"POSTHOUSE_URL=" + server, "POSTHOUSE_API_KEY=" + key}
	must := func(environ []string, args ...string) string {
		t.Helper()
		text, code := ran(t, environ, args...)
		if code != 0 {
			t.Fatal(text)
		}
		return text
	}
	must(environ, "tenant", "add", "other")
	other := []string{"POSTHOUSE_URL=" + server, "POSTHOUSE_API_KEY=" + regexp.MustCompile(`ph_\w+`).FindString(must(environ, "key", "add", "theirs", "--tenant", "other", "--scope", "admin"))}
	for i, whose := range [][]string{environ, other} {
		must(whose, "channel", "set", "desk", "--driver", "console")
		must(whose, "campaign", "add", []string{"spring", "sprint"}[i], "--channel", "desk", "--text", "hello")
		must(whose, "template", "set", []string{"alert", "alertt"}[i], "--text", "hello")
		must(whose, "audience", "add", []string{"leaders", "readers"}[i])
	}
	route := filepath.Join(t.TempDir(), "route.json")
	if err := os.WriteFile(route, []byte(`{"steps":[{"channels":["desk"],"to":[{"user":"u1"}],"within":"10m"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	must(environ, "route", "put", "oncall", "--file", route)
	must(environ, "template", "set", "b; $(id)", "--text", "hello")
	for _, c := range []struct{ line, want string }{
		{"send --channel desk --to u1 --template b;$(id)", "did you mean --template 'b; $(id)'?"},
		{"campaign show sprng", "did you mean spring?"}, {"campaign start sprnig", "did you mean spring?"}, {"campaign repair Spring2", "did you mean spring?"},
		{"template show alret", "did you mean alert?"}, {"audience show leader", "did you mean leaders?"}, {"campaign strat spring", "did you mean start?"},
		{"campaign show autumn", ""}, {"campaign show sprng --json", `"hint":"did you mean spring?"`}, {"campaign show sprng --lang zh", "是否指 spring？"},
		{"send --channel dsk --to u1 --text hello", "did you mean --channel desk?"}, {"send --channel dsk --to u1 --text hello --lang zh", "是否指 --channel desk？"},
		{"send --channel desk --to u1 --template alrt", "did you mean --template alert?"}, {"send --channel autumn --to u1 --text hello", ""},
		{"campaign add x --channel dsk --text hello", "did you mean --channel desk?"}, {"channel set x --preset telegrm", "did you mean --preset telegram?"},
		{"channel set desk --driver console --profile wecomm", "did you mean --profile wecom?"},
		{"suppression add u1 --channel dsk", "did you mean --channel desk?"}, {"suppression add u1 --channel nix", "or it is not open; the channels are desk"},
		{"campaign add x --channel nix --text hello --lang zh", `没有渠道 "nix"，或渠道未打开；可用的渠道有 desk`},
		{"status --state pendng", `--state: is "pendng": did you mean pending or sending? Want one of pending, `},
		{"campaign list --in runing --lang zh", `为 "runing"，是否指 running？应为 draft、importing、`},
		{"campaign export spring --outcome faild", "did you mean failed?"}, {"key add k --scope sned", "did you mean send? Want one of read, "},
		{"decisions make replya --channel desk", "OUTCOME: is \"replya\": did you mean replay?"}, {"route show oncal", "did you mean oncall?"},
		{"preset show telegrm", "did you mean telegram?"}, {"help campain", "did you mean campaign?"}, {"help campaign strat", "did you mean start?"},
	} {
		text, code := ran(t, environ, strings.Fields(c.line)...)
		if code == 0 || !strings.Contains(text, c.want) || c.want == "" && strings.Contains(text, "did you mean") {
			t.Errorf("%s: %d %s, want %q", c.line, code, text, c.want)
		}
	}
}

// Of a list with commas the last word is completed.
func TestTheLastOfAListIsCompleted(t *testing.T) {
	t.Parallel()
	cmd, _, err := root(&shell.Shell{}).Find([]string{"job", "list"})
	if err != nil {
		t.Fatal(err)
	}
	complete, _ := cmd.GetFlagCompletionFunc("status")
	if words, _ := complete(cmd, nil, "failed,a"); !slices.Equal(words, []string{"failed,aborted"}) {
		t.Errorf("got %v", words)
	}
}
