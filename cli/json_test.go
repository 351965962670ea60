package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/secret"
)

// lists are the words that the help of a command begins with that lists something.
var lists = regexp.MustCompile(`^(List |Write (every|all|the records|the audit log))`)

// Every command that lists takes --json at its word: one envelope, also of what is a table or lines without it.
func TestEveryListIsJSONInOneEnvelope(t *testing.T) {
	t.Parallel()
	key := secret.FormatKey(secret.NewKey())
	server := serveForTest(t, key, dbtest.SQLite(t))
	environ := []string{"POSTHOUSE_URL=" + server, "POSTHOUSE_API_KEY=" + key}
	file := filepath.Join(t.TempDir(), "people.csv")
	if err := os.WriteFile(file, []byte("address,name\n,nobody\nli.na,Li Na\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"channel set desk --driver console", "campaign add spring --channel desk --text hello", "campaign import spring " + file,
		"audience add leaders --channel desk", "audience import leaders " + file, "subscription add http://127.0.0.1:9/x",
	} {
		if text, code := ran(t, environ, strings.Fields(line)...); code != 0 {
			t.Fatalf("%s: %s", line, text)
		}
	}
	text, _ := ran(t, environ, "subscription", "list", "--json")
	subscription := regexp.MustCompile(`"id": "([^"]+)"`).FindStringSubmatch(text)
	if subscription == nil {
		t.Fatal(text)
	}
	names := map[string]string{
		"campaign export": "spring", "campaign refused": "spring", "audience refused": "leaders", "channel callbacks list": "desk",
		"channel accounts list": "desk", "channel accounts export": "desk", "subscription dead": subscription[1],
	}
	full := map[string]bool{"campaign export": true, "campaign refused": true, "audience refused": true, "audit export": true, "channel list": true}
	found := 0
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, below := range cmd.Commands() {
			visit(below)
		}
		if !lists.MatchString(cmd.Short) || cmd.HasSubCommands() {
			return
		}
		found++
		_, path, _ := strings.Cut(cmd.CommandPath(), " ")
		text, code := ran(t, environ, append(strings.Fields(path+" "+names[path]), "--json")...)
		var list struct {
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal([]byte(text), &list); code != 0 || err != nil || list.Items == nil || full[path] && len(list.Items) == 0 {
			t.Errorf("posthouse %s %s --json: %d, %v: %s", path, names[path], code, err, text)
		}
	}
	visit(root(&shell.Shell{}))
	if found < 35 {
		t.Errorf("%d commands list something: the test does not see them all", found)
	}
	for _, line := range []string{"campaign export spring --format csv --json", "channel accounts export desk --format ndjson --json", "roster show --ics --json", "media show m1 --out - --json"} {
		if text, code := ran(t, environ, strings.Fields(line)...); code != 2 || !strings.Contains(text, "give one of them") {
			t.Errorf("%s: %d %s", line, code, text)
		}
	}
}
