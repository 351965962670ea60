package crash

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/torture/house"
)

// A2 in the migration: kill -9 while the first server of a new database makes its schema. The next one
// makes it whole and sends.
func TestA2KilledWhileMigrating(t *testing.T) {
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		passes := house.Size(2, 20)
		right := 0
		for n := range passes {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				migrate(t, db, float64(n)/float64(passes))
				right++
			})
		}
		house.Report(t, house.Row{
			Test: "A2", Database: string(db), What: "kill -9 while the schema is made", N: passes, Unit: "kills",
			Figure: fmt.Sprintf("made whole by the next start in %d of %d", right, passes), Bar: "all", Bound: house.Bound(passes), Pass: right == passes,
		})
	})
}

// migrate kills a first start when a share of the tables is there, where they can be seen one by one,
// and at a random time where the schema is one transaction.
func migrate(t *testing.T, db house.Database, share float64) {
	dsn := db.DSN(t)
	h := house.Open(t, house.Options{DSN: dsn, Members: -1})
	m := h.Add(t, "")
	m.Launch(t)
	if db == house.MariaDB {
		tables := dbtest.SQL(t, dsn)
		seen := 1 + int(share*19)
		for tablesOf(t, tables) < seen {
			house.Pause(t.Context(), time.Millisecond)
		}
	} else {
		house.Pause(t.Context(), rand.N(150*time.Millisecond))
	}
	m.Kill(t)
	m.Start(t)
	h.PutChannel(t, h.Channel("generic"))
	accepted := h.Produce(t, house.Load{Messages: 5})
	h.Settle(t)
	h.Judge(t)
	if n := count(t, h, accepted); n.lost+n.extra > 0 || n.messages != 5 {
		t.Errorf("after the migration: %+v", n)
	}
	if t.Failed() {
		t.FailNow()
	}
}

func tablesOf(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
