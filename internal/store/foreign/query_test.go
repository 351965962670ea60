package foreign

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/dbtest"
)

// A query of a user's holds no more of its database than a row may be, whatever it makes up.
func TestARowOfAQueryIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dsn   func(testing.TB) string
		large string
		says  string
	}{
		"sqlite":   {dbtest.SQLite, "replace(hex(zeroblob(%d)), '0', 'x')", "too big"},
		"postgres": {dbtest.Postgres, "repeat('x', 2 * %d)", "bytes: at most 524288 are allowed"},
		"mariadb":  {dbtest.MariaDB, "REPEAT('x', 2 * %d)", "bytes: at most 524288 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := c.dsn(t)
			if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
				if err := os.WriteFile(path, nil, 0o600); err != nil { // an empty file is an empty database
					t.Fatal(err)
				}
			}
			for size, fits := range map[string]bool{"100000": true, "300000": false} {
				var got int
				err := Query(t.Context(), dsn, time.UTC, "SELECT 'o1' AS openid, "+strings.Replace(c.large, "%d", size, 1)+" AS n",
					func([]string) error { return nil }, func(values []*string) error { got = len(*values[1]); return nil })
				if fits && (err != nil || got != 200000) {
					t.Errorf("a value of 200,000 bytes: got %d, %v", got, err)
				}
				if !fits && (err == nil || !strings.Contains(err.Error(), c.says) || got != 0) {
					t.Errorf("a value of 600,000 bytes: got %d, %v; want %s", got, err, c.says)
				}
			}
			rest := strings.Repeat(", "+strings.Replace(c.large, "%d", "50000", 1), 10)
			err := Query(t.Context(), dsn, time.UTC, "SELECT 'o1' AS openid"+rest, func([]string) error { return nil }, func([]*string) error { return nil })
			if err == nil || !strings.Contains(err.Error(), "at most 524288 are allowed") {
				t.Errorf("ten values of 100,000 bytes: %v", err)
			}
		})
	}
}
