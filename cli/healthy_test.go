package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
)

func TestHealthySaysWhetherTheServerRuns(t *testing.T) {
	t.Parallel()
	s := serveOn(t, dbtest.SQLite(t), filepath.Join(t.TempDir(), "posthouse.keys"))
	for _, c := range []struct {
		addr string
		args []string
		code int
		want string
	}{
		{strings.TrimPrefix(s.url, "http://"), []string{"healthy"}, 0, "/healthz answers: well"},
		{strings.TrimPrefix(s.url, "http://"), []string{"healthy", "--ready"}, 0, "/readyz answers: well"},
		{freeAddr(t), []string{"healthy"}, 1, "does not answer"},
	} {
		if text, code := ran(t, []string{"POSTHOUSE_ADDR=" + c.addr}, c.args...); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%v: exit code %d and %q; want %d and %q", c.args, code, text, c.code, c.want)
		}
	}
}

func TestVersionSaysWhatWasBuilt(t *testing.T) {
	t.Parallel()
	o := Options{Version: "0.1.0", Commit: "1d3de335", Date: "2026-11-27T00:00:00Z"}
	sh := o.shell()
	var out strings.Builder
	sh.Out, sh.Err = &out, &out
	if code := run(t.Context(), sh, []string{"version"}); code != 0 || !strings.HasPrefix(out.String(), "posthouse 0.1.0 (go") || !strings.Contains(out.String(), "commit  1d3de335 2026-11-27T00:00:00Z\nschema  ") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}
