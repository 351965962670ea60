package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/secret"
)

func TestARouteIsStoredShownPreviewedAndDeleted(t *testing.T) {
	t.Parallel()
	key := secret.FormatKey(secret.NewKey())
	environ := []string{"POSTHOUSE_URL=" + serveForTest(t, key, dbtest.SQLite(t)), "POSTHOUSE_API_KEY=" + key}
	file := filepath.Join(t.TempDir(), "route.json")
	run := func(code int, want string, args ...string) {
		t.Helper()
		if text, got := ran(t, environ, args...); got != code || !strings.Contains(text, want) {
			t.Errorf("%v: %d\n%s\nwant %d and %q", args, got, text, code, want)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(0, "", "channel", "set", "desk", "--driver", "console")
	run(0, "", "channel", "set", "night", "--driver", "console")
	write(`{"steps": [{"channels": ["desk"], "within": "5m"}, {"channels": ["night"]}]}`)
	run(0, "duty: version 1: desk → night", "route", "put", "duty", "--file", file)
	run(0, "desk → night", "route", "list")
	run(0, "5m", "route", "show", "duty", "--version", "1")
	run(0, "night", "route", "preview", "duty", "--to", "u1=u1", "--text", "Hello")
	write(`{"stages": []}`)
	run(2, `unknown field "stages"`, "route", "put", "duty", "--file", file)
	run(0, "deleted", "route", "delete", "duty")
	run(1, "duty", "route", "show", "duty")
}
