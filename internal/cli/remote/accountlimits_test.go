package remote

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

// FLEET-9: a document of limits sets the windows of accounts that there are: 0 is unlimited, and what is wrong is named with its
// account before anything is stored.
func TestADocumentOfLimitsSetsTheWindowsOfAccounts(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		"accounts:\n  a: {perSecond: 10, perMinute: 300, perHour: 0, perDay: 5000}\n": `"name":"a","config":{"key":"********"},"limits":[{"max":10,"per":"1s"},{"max":300,"per":"1m"},{"max":5000,"per":"24h"}]`,
		"accounts:\n  a: {perSecond: 0, perMinute: 0, perHour: 0, perDay: 0}\n":       `"limits":[]`,
		"accounts:\n  a: {perSecond: 1}\n  nobody: {perSecond: 1}\n":                  "accounts.nobody: the channel wecom has no account of this name",
		"accounts:\n  a: {perHour: -1}\n":                                             "accounts.a.perHour is -1",
		"accounts:\n  a: {perHour: 1.5}\n":                                            "accounts.a.perHour is 1.5",
		"accounts:\n  a: {perHour: many}\n":                                           "accounts.a.perHour is many",
		"accounts:\n  a: {perFortnight: 1}\n":                                         "accounts.a.perFortnight is not known",
		"accounts:\n  a: 7\n":                                                         "accounts.a: want an object",
		"accounts: []\n":                                                              "want an object accounts",
	} {
		stored := ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodPut {
				body, _ := io.ReadAll(r.Body)
				stored = string(body)
				_ = json.NewEncoder(w).Encode(map[string]int{"stored": 1})
				return
			}
			_ = json.NewEncoder(w).Encode(wire.Page[posthouse.Account]{Items: []posthouse.Account{{Name: "a", Config: map[string]any{"key": "********"}}}})
		}))
		t.Cleanup(server.Close)
		file := filepath.Join(t.TempDir(), "limits.yaml")
		if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		sh := &shell.Shell{Out: &out, Err: &out}
		cmd := sh.Calling(accountGroup(sh))
		cmd.SetArgs([]string{"import", "wecom", file, "--form", "limits", "--url", server.URL, "--key", "ph_1_x"})
		switch err := cmd.ExecuteContext(t.Context()); {
		case strings.HasPrefix(want, `"`):
			if err != nil || !strings.Contains(stored, want) {
				t.Errorf("%s: stored is %s, %v; want %s", document, stored, err, want)
			}
		case err == nil || !strings.Contains(err.Error(), want) || stored != "":
			t.Errorf("%s: got %v, and stored is %q; want %s and nothing", document, err, stored, want)
		}
	}
}
