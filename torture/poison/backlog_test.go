package poison

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// TestABacklogDueAtOnceCostsNoMore (E4) makes more and more deliveries due in the same instant, and
// measures what a claim costs, how the database finds them, and what a server that drains them holds in
// memory.
func TestABacklogDueAtOnceCostsNoMore(t *testing.T) {
	house.Alone(t)
	for _, db := range backlogs() {
		t.Run(string(db.Database), func(t *testing.T) {
			dsn := db.DSN(t)
			h := house.Open(t, house.Options{DSN: dsn})
			h.PutChannel(t, posthouse.Channel{Name: "backlog", Driver: "discard"})
			pause(t, h, "backlog")
			raw, st := dbtest.SQL(t, dsn), h.Store(t)
			have, worst := 0, time.Duration(0)
			var figures []string
			for _, size := range db.sizes {
				pile(t, db.Database, raw, "backlog", size-have)
				have = size
				claims := house.Size(50, 500)
				took := claimMany(t, st, claims)
				have -= claims * claimed
				worst = max(worst, took[len(took)*99/100])
				figures = append(figures, fmt.Sprintf("of %d: p50 %s, p99 %s", size, ms(took[len(took)/2]), ms(took[len(took)*99/100])))
			}
			plan := explain(t, db.Database, raw)
			indexed := byDue.MatchString(plan) && !sorts.MatchString(plan)
			if !indexed {
				t.Errorf("a claim does not follow the index of due deliveries:\n%s", plan)
			}
			_, before := h.Members[0].Processor(t)
			resume(t, h, "backlog")
			after, drained := watchMemory(t, h, have)
			house.Report(t, house.Row{
				Test: "E4", Database: string(db.Database), What: fmt.Sprintf("claims of %d while many are due at once", claimed), N: db.sizes[len(db.sizes)-1], Unit: "deliveries due",
				Figure: fmt.Sprintf("%s; by the index of due deliveries: %t; the server held %d MiB before and at most %d MiB while it sent %d of them",
					strings.Join(figures, "; "), indexed, before>>20, after>>20, drained),
				Bar: "p99 ≤ 20 ms in the full form, by the index, memory grows by less than 400 MiB", Pass: indexed && after-before < mostMemory && (worst <= 20*time.Millisecond || !house.Full()),
			})
		})
	}
}

// mostMemory is how much more a server may hold while it drains a backlog of any size: SQLite's page
// caches are 64 MiB for each connection, the other databases keep theirs themselves.
const mostMemory = 400 << 20

// claimed is how many one claim asks for.
const claimed = 32

type backlog struct {
	house.Database
	sizes []int
}

func backlogs() []backlog {
	if !house.Full() {
		return []backlog{{house.Postgres, []int{4_000, 20_000}}}
	}
	return []backlog{
		{house.SQLite, []int{20_000, 100_000, 1_000_000}}, {house.Postgres, []int{20_000, 100_000, 1_000_000, 10_000_000}},
		{house.MariaDB, []int{20_000, 100_000, 1_000_000}},
	}
}

// byDue is what a plan says that follows the index of due deliveries, sorts what one says that sorts by itself.
var (
	byDue = regexp.MustCompile(`USING (COVERING )?INDEX posthouse_queue_due\b|Scan using posthouse_queue_due\b|"key": "posthouse_queue_due"`)
	sorts = regexp.MustCompile(`Sort|TEMP B-TREE|filesort`)
)

// numbers are the rows 1 to 10,000, by database; digit is a letter of an id for one of them.
var numbers = map[house.Database]string{
	house.SQLite:   "(WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < %d) SELECT n FROM g)",
	house.Postgres: "(SELECT generate_series(1, %d) AS n)",
	house.MariaDB:  "(SELECT seq AS n FROM seq_1_to_%d)",
}

const perMessage = 10_000

// pile stores messages for many recipients each, all due in the same instant, past all our code: it is
// about the rows.
func pile(t *testing.T, db house.Database, raw *sql.DB, channel string, deliveries int) {
	t.Helper()
	now := time.Now().UnixMicro()
	digit := func(shift int) string {
		return fmt.Sprintf("substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >> %d) & 31) + 1, 1)", shift)
	}
	do := func(query string) {
		if _, err := raw.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%v\n%s", err, query)
		}
	}
	for ; deliveries > 0; deliveries -= perMessage {
		n := min(deliveries, perMessage)
		id := posthouse.NewID()
		end := []string{digit(15), digit(10), digit(5), digit(0)}
		delivery := fmt.Sprintf("'%s' || %s", id[:22], strings.Join(end, " || "))
		if db == house.MariaDB {
			delivery = fmt.Sprintf("concat('%s', %s)", id[:22], strings.Join(end, ", "))
		}
		do(fmt.Sprintf(`INSERT INTO posthouse_messages (id, tenant, channel, content, recipients, created_at) VALUES ('%s', 'default', '%s', '{"text":"hello"}', %d, %d)`, id, channel, n, now))
		do(fmt.Sprintf(`INSERT INTO posthouse_queue (id, tenant, channel, user_id, state, idem_key, on_unknown, epoch, created_at, updated_at, due_at)
			SELECT %[1]s, 'default', '%[2]s', 'u1', 'pending', %[1]s, 'retry', 1, %[3]d, %[3]d, %[3]d FROM %[4]s s`, delivery, channel, now, fmt.Sprintf(numbers[db], n)))
	}
	if db == house.Postgres {
		do("ANALYZE posthouse_queue") // as autovacuum does in time
		do("CHECKPOINT")              // millions of rows at once leave gigabytes to be written, which is no claim's doing
	}
}

// claimMany claims again and again, and returns the times in order.
func claimMany(t *testing.T, st *store.Store, times int) (took []time.Duration) {
	t.Helper()
	lane := work.Lane{Tenant: posthouse.DefaultTenant, Channel: "backlog", Priority: posthouse.Normal}
	for range times {
		begin := time.Now()
		items, err := st.Queue.Claim(t.Context(), begin, work.Claim{Lane: lane, Max: claimed, Owner: "test", Lease: time.Hour, Epoch: 1})
		if err != nil || len(items) != claimed || items[0].Message == nil {
			t.Fatalf("claimed %d of %d, %v", len(items), claimed, err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took
}

// explain is the database's plan for what a claim looks for.
func explain(t *testing.T, db house.Database, raw *sql.DB) (plan string) {
	t.Helper()
	verb := map[house.Database]string{house.SQLite: "EXPLAIN QUERY PLAN ", house.Postgres: "EXPLAIN ", house.MariaDB: "EXPLAIN FORMAT=JSON "}[db]
	table, since := "posthouse_queue", "(due_at, id) >= (1, 'x')"
	if db == house.MariaDB { // as claims do there
		table, since = "posthouse_queue FORCE INDEX (posthouse_queue_due)", "(due_at = 1 AND id >= 'x' OR due_at > 1)"
	}
	rows, err := raw.QueryContext(t.Context(), fmt.Sprintf(`%s SELECT id FROM %s WHERE tenant = 'default' AND channel = 'backlog' AND priority = 1 AND pin = ''
		AND state = 'pending' AND %s AND due_at <= %d AND (deadline = 0 OR deadline > 1) ORDER BY due_at, id LIMIT %d`, verb, table, since, time.Now().UnixMicro(), claimed))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		cells, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for _, c := range cells {
			plan += c.String + " "
		}
		plan += "\n"
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}

// watchMemory watches the first member send for a while, and says what it held at most.
func watchMemory(t *testing.T, h *house.House, backlog int) (most int64, sent int) {
	t.Helper()
	m := h.Members[0]
	enough, end := min(backlog, house.Size(5_000, 300_000)), time.Now().Add(time.Duration(house.Size(20, 300))*time.Second)
	for sent < enough && time.Now().Before(end) {
		house.Pause(t.Context(), 200*time.Millisecond)
		_, held := m.Processor(t)
		most, sent = max(most, held), int(m.Metric(t, "posthouse_message_send_total"))
	}
	return most, sent
}
