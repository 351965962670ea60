package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/archive"
	"github.com/posthouse/posthouse/internal/dbtest"
)

// What has settled goes into a file that can be read back, on each database; what is to settle within the time waits for the next.
func TestArchiveHoldsWhatSettled(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres, "mariadb": dbtest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := dsn(t)
			sendTo(t, dsn)
			environ := []string{"POSTHOUSE_DSN=" + dsn}
			path := filepath.Join(t.TempDir(), "it.ndjson.gz")
			for _, c := range []struct {
				want string
				args []string
			}{
				{"is still to come", []string{"--before", time.Now().AddDate(1, 0, 0).Format(time.DateOnly), "--to", path}},
				{"is not before --before", []string{"--before", "2h", "--after", "1h", "--to", path}},
				{"--to is missing", []string{"--before", "2h"}},
				{"--before is missing", []string{"--to", path}},
				{"no such file or directory", []string{"--before", "2h", "--to", filepath.Join(path, "below")}},
			} {
				if out, code := ran(t, environ, append([]string{"archive"}, c.args...)...); code != 2 || !strings.Contains(out, c.want) {
					t.Errorf("%v: exit code %d: %s; want %q", c.args, code, out, c.want)
				}
			}
			out, code := ran(t, environ, "archive", "--before", "1ms", "--to", path)
			if code != 0 || !strings.Contains(out, "1 messages, 2 deliveries, 6 events") {
				t.Fatalf("exit code %d: %s", code, out)
			}
			if out, code := ran(t, environ, "archive", "--before", "1ms", "--to", path); code != 2 || !strings.Contains(out, "is already there") {
				t.Errorf("once more: exit code %d: %s", code, out)
			}
			if out, code := ran(t, environ, "archive", "check", path); code != 0 || !strings.Contains(out, "1 messages, 2 deliveries, 6 events, settled before ") {
				t.Errorf("check: exit code %d: %s", code, out)
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			_, totals, err := archive.Read(file, func(r *archive.Record) error {
				texts = append(texts, r.Message.Content.Text)
				return nil
			})
			if err != nil || !slices.Equal(texts, []string{"hello"}) || totals.Messages != 1 || file.Close() != nil {
				t.Errorf("the archive holds %q, %+v: %v", texts, totals, err)
			}
			left, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(left) != 1 {
				t.Errorf("left beside it: %v, %v", left, err)
			}
		})
	}
}
