package crash

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// A2 in the migration: kill -9 while the first server of a new database makes its schema. The next one
// makes it whole and sends.
func TestA2KilledWhileMigrating(t *testing.T) {
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		want := house.Size(2, 20)
		struck, kills := 0, 0
		longest := map[house.Database]time.Duration{house.SQLite: 20 * time.Millisecond, house.Postgres: 60 * time.Millisecond}[db]
		for ; struck < want && kills < 20*want && !t.Failed(); kills++ {
			t.Run(fmt.Sprint(kills), func(t *testing.T) {
				if migrate(t, db, float64(struck)/float64(want), longest) {
					struck++
				} else {
					longest = longest * 9 / 10 // on a quick machine the schema is made sooner
				}
			})
		}
		house.Report(t, house.Row{
			Test: "A2", Database: string(db), What: "kill -9 while the schema is made", N: struck, Unit: "kills",
			Figure: fmt.Sprintf("%d of %d kills left a schema that was not whole; made whole by the next start each time", struck, kills),
			Bar:    "all", Bound: house.Bound(struck), Pass: struck == want,
		})
	})
}

// migrate kills a first start once the schema is begun: when a share of the tables is there, where they can be seen one by
// one, and after a pause of at most longest where each step is one transaction. It reports whether the schema was not
// whole, which the next start has mended then.
func migrate(t *testing.T, db house.Database, share float64, longest time.Duration) (struck bool) {
	t.Helper()
	dsn := db.DSN(t)
	h := house.Open(t, house.Options{DSN: dsn, Members: -1})
	m := h.Add(t, "")
	m.Launch(t)
	tables := dbtest.SQL(t, dsn)
	for limit := time.Now().Add(time.Minute); !begun(t, db, dsn, tables, share); {
		if time.Now().After(limit) {
			t.Fatal("the first server of a new database does not begin with its schema")
		}
		house.Pause(t.Context(), time.Millisecond)
	}
	house.Pause(t.Context(), rand.N(longest+1))
	m.Kill(t)
	have, whole, err := h.Store(t).Schema.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m.Start(t)
	h.PutChannel(t, h.Channel("generic"))
	accepted := h.Produce(t, house.Load{Messages: 5})
	h.Settle(t)
	h.Judge(t)
	if n := count(t, h, accepted); n.lost+n.extra > 0 || n.messages != 5 {
		t.Errorf("after the migration: %+v", n)
	}
	return have < whole
}

// begun reports whether a start has got so far with the schema.
func begun(t *testing.T, db house.Database, dsn string, tables *sql.DB, share float64) bool {
	t.Helper()
	if db == house.SQLite {
		_, err := os.Stat(strings.TrimPrefix(dsn, "sqlite:") + "-wal")
		return err == nil
	}
	if db == house.Postgres {
		return tablesOf(t, tables, "'public'") > 0
	}
	return tablesOf(t, tables, "DATABASE()") > int(share*19)
}

func tablesOf(t *testing.T, db *sql.DB, schema string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = "+schema).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
