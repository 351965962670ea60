package pooler

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// counted is how many connections the processes of one database have, by what the server says.
var counted = map[dbtest.Kind]string{
	dbtest.KindPostgres: "SELECT COUNT(*)::text FROM pg_stat_activity WHERE application_name = 'posthouse'",
	dbtest.KindMariaDB:  "SELECT COUNT(*) - 1 FROM information_schema.PROCESSLIST WHERE db = 'posthouse'",
}

// busyMost is what a process has to the database at most, where it has no more than eight processors.
var busyMost = map[dbtest.Kind]int{dbtest.KindPostgres: 17, dbtest.KindMariaDB: 32}

// G2: processes on one database, under load and then with nothing to do: how many connections each has.
func TestG2ConnectionsOfManyProcesses(t *testing.T) {
	if !house.Full() {
		return // what is idle is given up after 20 s
	}
	for _, kind := range []dbtest.Kind{dbtest.KindPostgres, dbtest.KindMariaDB} {
		t.Run(string(kind), func(t *testing.T) {
			processes := house.Size(2, 16)
			db := dbtest.Own(t, dbtest.Options{Kind: kind})
			h := house.Open(t, house.Options{DSN: db.DSN, Members: processes})
			h.PutChannel(t, h.Channel(called))
			busy := 0
			h.Produce(t, house.Load{Messages: 200 * processes, Producers: 4 * processes, Each: func(accepted int) {
				if accepted%100 == 0 {
					busy = max(busy, connections(t, db))
				}
			}})
			h.Settle(t)
			house.Pause(t.Context(), 45*time.Second) // in which what was used under load is given up
			var sum, most int
			const looks = 40
			for range looks {
				n := connections(t, db)
				sum, most = sum+n, max(most, n)
				house.Pause(t.Context(), 250*time.Millisecond)
			}
			mean := float64(sum) / looks / float64(processes)
			house.Report(t, house.Row{
				Test: "G2", Database: string(kind), What: "connections of processes that share a database", N: processes, Unit: "processes",
				Figure: fmt.Sprintf("%d under load by %d callers, idle %.1f a process in the mean, %d of all at most", busy, 4*processes, mean, most),
				Bar:    fmt.Sprintf("≤ %d a process; wanted ≤ 4 idle", busyMost[kind]), Bound: house.Bound(processes),
				Pass: max(busy, most) <= busyMost[kind]*processes,
			})
		})
	}
}

func connections(t *testing.T, db *dbtest.Server) int {
	t.Helper()
	text, err := db.Ask(counted[db.Kind()])
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
