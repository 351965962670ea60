package clock

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
)

// jumpEdits make all that the product asks of the database's clock go through a table that the test
// sets: the server's own clock stays right, so that nothing but the product can be confused.
var jumpEdits = []overlay.Edit{
	{File: "internal/store/sqldb/postgres.go", Old: "clock_timestamp()", New: "(clock_timestamp() + (SELECT jump FROM torture_clock) * interval '1 second')"},
	{File: "internal/store/claim_once.go", Old: "clock_timestamp()", New: "(clock_timestamp() + (SELECT jump FROM torture_clock) * interval '1 second')"},
	{File: "internal/store/cleanclaim.go", Old: "clock_timestamp()", New: "(clock_timestamp() + (SELECT jump FROM torture_clock) * interval '1 second')"},
	{File: "internal/store/sqldb/mysql.go", Old: "UNIX_TIMESTAMP(SYSDATE(6))", New: "(UNIX_TIMESTAMP(SYSDATE(6)) + (SELECT jump FROM torture_clock))"},
	{File: "internal/store/sqldb/mysql.go", Old: "UNIX_TIMESTAMP(NOW(6))", New: "(UNIX_TIMESTAMP(NOW(6)) + (SELECT jump FROM torture_clock))"},
}

// openJump makes the table and returns what sets the database's clock off by so much.
func openJump(t *testing.T, dsn string) (jump func(d time.Duration)) {
	t.Helper()
	db := dbtest.SQL(t, dsn)
	do := func(query string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Error(err)
		}
	}
	do("CREATE TABLE torture_clock (jump bigint NOT NULL)")
	do("INSERT INTO torture_clock VALUES (0)")
	return func(d time.Duration) {
		t.Helper()
		do(fmt.Sprintf("UPDATE torture_clock SET jump = %d", int(d.Seconds())))
	}
}

// step is how far the database's clock jumps.
const step = 10 * time.Minute

// slow is what a send takes: long enough that the rescuer, which looks every 200 ms, finds under way what a jump has
// taken the lease of, and within the time-out of a second.
const slow = posthouse.Duration(700 * time.Millisecond)

// D2: the database's clock jumps ten minutes forward, and then twenty back, while messages flow. Nothing
// starts before its time by that clock, nothing waits longer than the jump, and what is sent twice was in
// doubt: a jump forward ends the leases of what is on its way.
func databaseJumps(t *testing.T, binary string) {
	for _, db := range []house.Database{house.Postgres, house.MariaDB} {
		t.Run(string(db), func(t *testing.T) {
			dsn := db.DSN(t)
			jump := openJump(t, dsn)
			h := house.Open(t, house.Options{DSN: dsn, Members: 2, Binary: binary})
			h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: slow}}})
			h.PutChannel(t, h.Channel("generic"))
			const far, near = 5, 5
			later := h.Produce(t, house.Load{Messages: far, Prefix: "far", Draft: due(2 * step)})    // beyond the jump
			sooner := h.Produce(t, house.Load{Messages: near, Prefix: "near", Draft: due(step / 2)}) // within it
			third := house.Size(80, 1000)
			n := 3 * third
			began := time.Now()
			accepted := map[int]string{}
			for i, to := range []time.Duration{0, step, -step} {
				jump(to)
				for again := 1; to > 0 && !losesLeases(t, h); again++ { // what is under way was claimed before, and had ended
					if again > 10 {
						t.Fatal("the jump ended no lease")
					}
					jump(0)
					for k, id := range h.Produce(t, house.Load{Messages: 100, Prefix: fmt.Sprint("again-", again)}) {
						accepted[again*10_000+k] = id
					}
					jump(to)
				}
				for k, id := range h.Produce(t, house.Load{Messages: third, Prefix: fmt.Sprint("third-", i)}) {
					accepted[i*third+k] = id
				}
			}
			house.Pause(t.Context(), 2*time.Second)
			st := h.Store(t)
			stalled := waiting(t, st) - far
			jump(step) // as if the time of the jump back had passed
			house.Until(t, "all but what is due later to be settled", func() bool { return waiting(t, st) == far })
			h.Fault(t, house.Fault{At: began, Until: time.Now(), Kind: "clock", Target: string(db)})
			begun := starts(t, h)
			startedFar, startedNear := 0, 0
			for _, id := range later {
				startedFar += len(begun[posthouse.DeliveryID(id, 1)])
				if _, err := h.Members[0].Client(t, 3).Messages.Cancel(t.Context(), id); err != nil {
					t.Error(err)
				}
			}
			for i, id := range sooner {
				accepted[n+i] = id
				startedNear += min(1, len(begun[posthouse.DeliveryID(id, 1)]))
			}
			h.Settle(t)
			report := h.Verdict(t, "--sometimes", "none", "--slack", (2*step + time.Minute).String())
			if report.Verdict != verify.Holds {
				t.Errorf("the checker says:\n%s", report.Page())
			}
			lost, twice, leases := unlike(t, h, accepted)
			total := report.Totals
			house.Report(t, house.Row{
				Test: "D2", Database: string(db), What: "database's clock (as the product reads it) jumps 10 min forward, 20 back, 20 forward", N: len(accepted), Unit: "messages",
				Figure: fmt.Sprintf("%d lost; %d of %d due beyond the jump started, %d of %d due within it; %d waited for the clock to come back, and were sent then; %d leases ended by the jump, %d twice (unexplained %d)",
					lost, startedFar, far, startedNear, near, stalled, leases, twice, total.DuplicatedUnexplained),
				Bar: "leases are ended; 0 lost, 0 early beyond the jump, none waits longer than it, unexplained 0", Bound: house.Bound(len(accepted)),
				Pass: leases > 0 && lost == 0 && startedFar == 0 && startedNear == near && total.DuplicatedUnexplained == 0,
			})
		})
	}
}

// losesLeases waits until the servers have missed leases, for longer than the rescuer needs.
func losesLeases(t *testing.T, h *house.House) bool {
	t.Helper()
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); house.Pause(t.Context(), 20*time.Millisecond) {
		for _, m := range h.Members {
			if m.Metric(t, "posthouse_lease_losses_total") > 0 {
				return true
			}
		}
	}
	return false
}

// due makes messages that are due in a while.
func due(in time.Duration) func(n int) posthouse.Draft {
	return func(n int) posthouse.Draft {
		d := house.Text("generic", n)
		d.NotBefore = time.Now().Add(in)
		return d
	}
}

// waiting counts what is not settled.
func waiting(t *testing.T, st *store.Store) (n int) {
	t.Helper()
	depths, err := st.Queue.Depths(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range depths {
		n += d.Count
	}
	return n
}

// TestTheJumpStillFitsTheSource finds the edits whose text has moved on, without a build.
func TestTheJumpStillFitsTheSource(t *testing.T) {
	t.Parallel()
	overlay.Check(t, jumpEdits...)
}
