package cli

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/sqltest"
)

// A database of an earlier build has the number of this version, and lacks a table of it: each command that goes by the schema says so.
func TestADatabaseOfAnEarlierBuildIsRefusedByName(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres, "mariadb": dbtest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := dsn(t)
			db := sqltest.Open(t, dsn)
			sqltest.Exec(t, db, "DROP TABLE posthouse_people")
			refused(t, dsn, "no table posthouse_people")
		})
	}
}

// refused expects of each command that goes by the schema that it names what is missing.
func refused(t *testing.T, dsn, missing string) {
	t.Helper()
	for _, args := range [][]string{
		{"migrate"}, {"migrate", "status"}, {"migrate", "new-epoch", "--yes"}, {"doctor"}, {"serve", "--addr", "127.0.0.1:0", "--create-keyring"}, {"events"},
	} {
		text, code := ran(t, []string{"POSTHOUSE_DSN=" + dsn}, args...)
		if code != 1 || !strings.Contains(text, missing) || !strings.Contains(text, "psql -1 -v ON_ERROR_STOP=1") {
			t.Errorf("%v: exit code %d and %q; want 1, %q and the way out", args, code, text, missing)
		}
	}
}
