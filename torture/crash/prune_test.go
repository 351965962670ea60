package crash

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// rows are how many rows the tables hold that a prune deletes from.
type rows struct{ settled, messages, events, queue int }

func rowsOf(t *testing.T, db *sql.DB) rows {
	t.Helper()
	var r rows
	err := db.QueryRowContext(t.Context(), `SELECT (SELECT COUNT(*) FROM posthouse_deliveries WHERE state = 'sent'), (SELECT COUNT(*) FROM posthouse_messages),
		(SELECT COUNT(*) FROM posthouse_events), (SELECT COUNT(*) FROM posthouse_deliveries WHERE state <> 'sent')`).Scan(&r.settled, &r.messages, &r.events, &r.queue)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// withoutClean are the rows that stay when the first transaction of a prune has committed: it deletes what stands in posthouse_sent.
// What did not go the clean way, as on a busy machine, goes with a later one.
func (r rows) withoutClean(t *testing.T, db *sql.DB) rows {
	t.Helper()
	var clean, events int
	err := db.QueryRowContext(t.Context(), `SELECT (SELECT COUNT(*) FROM posthouse_sent), (SELECT COUNT(*) FROM posthouse_events WHERE delivery IN (SELECT id FROM posthouse_sent))`).Scan(&clean, &events)
	if err != nil {
		t.Fatal(err)
	}
	return rows{settled: r.settled - clean, messages: r.messages - clean, events: r.events - events, queue: r.queue}
}

// prunes kills the server while it deletes what is old: a delivery goes whole or not at all, and what is
// open stays.
func prunes(t *testing.T, p *points, db house.Database) {
	t.Helper()
	later := house.Text("generic", 0)
	later.NotBefore = time.Now().Add(24 * time.Hour)
	open, err := p.Send(t, "open", later, false)
	if err != nil {
		t.Fatal(err)
	}
	tables := dbtest.SQL(t, p.DSN)
	passes, right := house.Size(1, 10), 0
	for range passes {
		for _, name := range []string{"prune, not committed", "prune deliveries, committed"} {
			if p.prune(t, tables, name, open) {
				right++
			}
		}
	}
	house.Report(t, house.Row{
		Test: "A2", Database: string(db), What: "kill -9 in a prune, before and after its commit", N: 2 * passes, Unit: "kills",
		Figure: fmt.Sprintf("whole in %d of %d", right, 2*passes), Bar: "deleted whole or not at all, open deliveries stay",
		Bound: house.Bound(2 * passes), Pass: right == 2*passes,
	})
}

// prune kills the server at one point of a prune and reports whether the tables are whole.
func (p *points) prune(t *testing.T, tables *sql.DB, name, open string) bool {
	t.Helper()
	for n := range 5 {
		if _, err := p.Send(t, fmt.Sprintf("%s-%s", name, time.Now()), house.Text("generic", n), false); err != nil {
			t.Fatal(err)
		}
	}
	house.Until(t, "the messages to be sent", func() bool { return rowsOf(t, tables).queue == 1 })
	p.server.Kill(t)
	before := rowsOf(t, tables)
	want := before
	if name != "prune, not committed" {
		want = before.withoutClean(t, tables)
	}
	p.server.Env = []string{"POSTHOUSE_KEEP=1ms"}
	p.arm(t, name)
	p.server.Launch(t)
	p.server.Wait(t)
	after := rowsOf(t, tables)
	p.server.Start(t)
	house.Until(t, "all that is old to be deleted", func() bool { return rowsOf(t, tables) == rows{messages: 1, events: 1, queue: 1} })
	p.server.Kill(t)
	p.server.Env = nil
	p.server.Start(t)
	d, err := p.store.Messages.Delivery(t.Context(), posthouse.DefaultTenant, posthouse.DeliveryID(open, 1))
	if err != nil || d.State != posthouse.Pending {
		t.Errorf("the open delivery is %q, %v; want it pending", d.State, err)
		return false
	}
	if after != want {
		t.Errorf("killed at %q: %+v are left of %+v, want %+v", name, after, before, want)
	}
	return after == want
}
