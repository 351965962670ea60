package crash

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// dropPoints are where a server dies in the drop of a partition. PostgreSQL drops those of all tables in one transaction.
var dropPoints = map[house.Database][]string{
	house.Postgres: {"drop of posthouse_messages", "drop of posthouse_transitions", "drop, committed"},
	house.MariaDB: {
		"drop, noted", "half of the drop of posthouse_messages", "drop of posthouse_messages", "half of the drop of posthouse_sent", "drop of posthouse_sent",
		"drop of posthouse_settled", "half of the drop of posthouse_transitions", "drop of posthouse_transitions", "drop, committed",
	},
}

// drops kills the server while it drops a partition: whenever somebody looks, what is there is whole, what is open stays, and
// the next process completes it.
func drops(t *testing.T, p *points, db house.Database) {
	t.Helper()
	later := house.Text("generic", 0)
	later.NotBefore = time.Now().Add(24 * time.Hour)
	open, err := p.Send(t, "open-in-a-partition", later, false)
	if err != nil {
		t.Fatal(err)
	}
	past := past{dbtest.SQL(t, p.DSN), db}
	for n, clean := 0, 0; clean < 3; n++ { // one that has lost its short lease is clean no more
		id, err := p.Send(t, fmt.Sprintf("to-be-dropped-%d", n), house.Text("generic", n), false)
		if err != nil || n == 50 {
			t.Fatalf("%d messages of %d were sent at the first attempt, want 3; %v", clean, n, err)
		}
		house.Until(t, "a message to be sent, or to take another course", func() bool {
			clean = past.count(t, "SELECT COUNT(*) FROM posthouse_sent")
			return past.count(t, "SELECT COUNT(*) FROM posthouse_messages WHERE sole = 0 AND id = '"+id+"'") > 0 ||
				past.count(t, "SELECT COUNT(*) FROM posthouse_sent WHERE id = '"+posthouse.DeliveryID(id, 1)+"'") > 0
		})
	}
	right, points := 0, dropPoints[db]
	for n, name := range points {
		p.server.Kill(t)
		stays, gone := past.furnish(t, n, open)
		p.arm(t, name)
		p.server.Launch(t)
		p.server.Wait(t)
		ok := whole(t, p.store, name)
		p.server.Start(t)
		house.Until(t, "the partition to be dropped", func() bool { return past.partitions(t, n) == 0 })
		if ok = whole(t, p.store, name+", completed") && ok; ok && past.thereOnly(t, p.store, stays, gone) {
			right++
		}
	}
	house.Report(t, house.Row{
		Test: "A2", Database: string(db), What: "kill -9 in the drop of a partition", N: len(points), Unit: "kills",
		Figure: fmt.Sprintf("whole in %d of %d", right, len(points)), Bar: "what is seen is whole, open deliveries stay, the next process completes it",
		Bound: house.Bound(len(points)), Pass: right == len(points),
	})
}

// past makes what is old by SQL: no server was there to accept it.
type past struct {
	*sql.DB
	kind house.Database
}

func (p past) exec(t *testing.T, statement string) {
	t.Helper()
	if _, err := p.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func (p past) count(t *testing.T, query string) (n int) {
	t.Helper()
	if err := p.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// of is the time of the nth partition: a later one each.
func (p past) of(n int) time.Time {
	return time.Now().Truncate(24*time.Hour).AddDate(0, 0, 2*n-200)
}

// furnish makes the nth old partition with copies of all clean messages in it, those that were sent as if that had been then,
// and returns which of them stay and which go.
func (p past) furnish(t *testing.T, n int, open string) (stays, gone string) {
	t.Helper()
	low, high := posthouse.FirstID(p.of(n)), posthouse.FirstID(p.of(n).Add(time.Hour))
	for _, table := range []string{"messages", "sent", "settled", "transitions"} {
		if p.kind == house.Postgres {
			p.exec(t, fmt.Sprintf("CREATE TABLE posthouse_%s_past%d PARTITION OF posthouse_%[1]s FOR VALUES FROM ('%[3]s') TO ('%[4]s')", table, n, low, high))
			continue
		}
		from, parts := "gap", "" // MariaDB's stand one behind the other
		if n == 0 {
			from, parts = "old", "PARTITION old VALUES LESS THAN ('"+low+"'), "
		}
		var end string
		if err := p.QueryRowContext(t.Context(), "SELECT partition_description FROM information_schema.partitions WHERE table_schema = DATABASE() AND table_name = ? AND partition_name = ?",
			"posthouse_"+table, from).Scan(&end); err != nil {
			t.Fatal(err)
		}
		p.exec(t, fmt.Sprintf("ALTER TABLE posthouse_%s REORGANIZE PARTITION %s INTO (%sPARTITION past%d VALUES LESS THAN ('%s'), PARTITION gap VALUES LESS THAN (%s))", table, from, parts, n, high, end))
	}
	recent := " WHERE id >= '" + posthouse.FirstID(time.Now().AddDate(0, 0, -1)) + "'" // not the copies
	p.copy(t, "posthouse_sent", low, recent, map[string]string{"at": fmt.Sprintf("at - %d", time.Since(p.of(n)).Microseconds())})
	p.copy(t, "posthouse_messages", low, recent+" AND id IN (SELECT CONCAT(substr(id, 1, 22), '0000') FROM posthouse_sent) OR id = '"+open+"'", nil)
	p.copy(t, "posthouse_due", low, " WHERE id = '"+posthouse.DeliveryID(open, 1)+"'", nil)
	var sent string
	if err := p.QueryRowContext(t.Context(), "SELECT MAX(id) FROM posthouse_sent").Scan(&sent); err != nil {
		t.Fatal(err)
	}
	return low[:10] + posthouse.DeliveryID(open, 1)[10:], low[:10] + sent[10:]
}

// copy repeats rows under ids of another time: the first ten characters.
func (p past) copy(t *testing.T, table, low, where string, as map[string]string) {
	t.Helper()
	rows, err := p.QueryContext(t.Context(), "SELECT * FROM "+table+" WHERE 1 = 0")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil || rows.Err() != nil {
		t.Fatal(err, rows.Err())
	}
	values := make([]string, len(columns))
	for i, c := range columns {
		values[i] = c
		if c == "id" {
			values[i] = "CONCAT('" + low[:10] + "', substr(id, 11))"
		} else if as[c] != "" {
			values[i] = as[c]
		}
	}
	p.exec(t, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %[1]s%[4]s", table, strings.Join(columns, ", "), strings.Join(values, ", "), where))
}

// partitions is how many tables have the nth old partition still.
func (p past) partitions(t *testing.T, n int) int {
	t.Helper()
	if p.kind == house.Postgres {
		return p.count(t, fmt.Sprintf("SELECT COUNT(*) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'posthouse%%past%d'", n))
	}
	return p.count(t, fmt.Sprintf("SELECT COUNT(*) FROM information_schema.partitions WHERE table_schema = DATABASE() AND partition_name = 'past%d'", n)) +
		p.count(t, "SELECT COUNT(*) FROM posthouse_meta WHERE name = 'leaving' AND value <> ''")
}

// thereOnly reports whether one delivery is there and another is not.
func (p past) thereOnly(t *testing.T, s *store.Store, stays, gone string) bool {
	t.Helper()
	d, err := s.Messages.Delivery(t.Context(), posthouse.DefaultTenant, stays)
	if err != nil || d.State != posthouse.Pending {
		t.Errorf("the open delivery %s is %q, %v; want it pending", stays, d.State, err)
		return false
	}
	if _, err = s.Messages.Delivery(t.Context(), posthouse.DefaultTenant, gone); posthouse.CodeOf(err) != posthouse.CodeNotFound {
		t.Errorf("the settled delivery %s: %v, want it gone", gone, err)
		return false
	}
	return true
}

// whole reports whether every message that readers see has its deliveries, and each of these all its events.
func whole(t *testing.T, s *store.Store, when string) bool {
	t.Helper()
	versions, ok := map[string]int64{}, true
	fail := func(what string, args ...any) { t.Errorf(when+": "+what, args...); ok = false }
	if _, err := s.History.ExportEvents(context.WithoutCancel(t.Context()), "", "", func(e posthouse.Event) error {
		versions[e.Delivery] = max(versions[e.Delivery], e.Version)
		return nil
	}); err != nil {
		fail("%v", err)
	}
	err := s.History.Holdings(t.Context(), func(h reading.Holding) error {
		if h.Message == nil || len(h.Deliveries) == 0 {
			fail("message %s is stored as %v with %d deliveries", h.ID, h.Message, len(h.Deliveries))
		}
		for i := range h.Deliveries {
			if d := &h.Deliveries[i]; versions[d.ID] != d.Version {
				fail("delivery %s is of version %d, and its events of %d", d.ID, d.Version, versions[d.ID])
			}
			delete(versions, h.Deliveries[i].ID)
		}
		return nil
	})
	if err != nil || len(versions) > 0 {
		fail("events without deliveries: %v, %v", versions, err)
	}
	return ok
}
