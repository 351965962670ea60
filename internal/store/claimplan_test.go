package store

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// waiting has messages to one recipient each accepted, whose deliveries have rows of their own, and returns the messages' ids.
func waiting(t *testing.T, s *Store, n int) (messages []string) {
	t.Helper()
	var entries []work.Entry
	for range n {
		entries = append(entries, entry(1, each(func(d *posthouse.Delivery) { d.Deadline = time.Now().Add(time.Hour) })))
		messages = append(messages, entries[len(entries)-1].Message.ID)
	}
	accept(t, s, entries...)
	return messages
}

// Where an account makes few calls and a call holds many messages, a claim finds as many as a call holds and takes few. It goes over
// what it finds a few times, and over nothing behind it.
func TestAClaimOfWholeMessagesGoesOverEachOnce(t *testing.T) {
	t.Parallel()
	const behind, most = 400, 200
	s := openTest(t, dbtest.Postgres(t))
	waiting(t, s, most+behind)
	for messages, took := range map[int]int{1: 1, math.MaxInt64: most} {
		var text string
		err := s.DB.Writer.QueryRowContext(t.Context(), s.DB.Text("EXPLAIN (ANALYZE, FORMAT JSON) "+claimTexts[claimForm{whole: true, fed: true}]),
			lane.Tenant, lane.Channel, sqldb.PriorityNumber(lane.Priority), "", 0, "", int64(math.MaxInt64), "1", most,
			int64(math.MaxInt64), messages, true, most, time.Minute.Microseconds(), "w1", 1, "", posthouse.NewID()).Scan(&text)
		if err != nil {
			t.Fatal(err)
		}
		var plans []struct{ Plan planStep }
		if err := json.Unmarshal([]byte(text), &plans); err != nil {
			t.Fatal(err)
		}
		if got := plans[0].Plan.touched(); got < most || got > 2*most {
			t.Errorf("a step of a claim of %d of %d that were found went over %v rows:\n%s", took, most, got, text)
		}
	}
	wantRows(t, s, map[string]int64{"posthouse_queue WHERE state = 'sending'": most + 1})
}

// The other databases count in a statement of its own, which looks up each message by its key.
func TestWhatIsDueOfMessagesIsLookedUpByTheirKeys(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		if s.DB.Dialect.AtOnce {
			return // it counts within the claim
		}
		messages := waiting(t, s, 600)[:200]
		verb, want := "EXPLAIN QUERY PLAN ", []string{"SEARCH q USING INDEX sqlite_autoindex_posthouse_queue_1 (id>? AND id<?)"}
		if s.DB.Dialect == sqldb.MySQL {
			verb, want = "ANALYZE FORMAT=JSON ", []string{`"full_scan": 0`, `"PRIMARY": 200`}
		}
		now := sqldb.Micros(time.Now())
		rows, err := s.DB.Reader.QueryContext(t.Context(), verb+dueOfText(s.DB.Dialect), layout.IDList(messages), now, now)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		cells, plan := make([]any, len(columns)), ""
		for i := range cells {
			cells[i] = new(string)
		}
		if err := sqldb.Drain(rows, func(scan sqldb.Scanner) error {
			err := scan(cells...)
			plan += *cells[len(cells)-1].(*string) + "\n"
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(plan, w) {
				t.Errorf("the plan says nothing of %s:\n%s", w, plan)
			}
		}
	})
}

// Until PostgreSQL has looked at the table anew, it believes that nothing is pending, and that all of it is found at once.
func TestWhatStandsInALineIsFoundByItsKey(t *testing.T) {
	t.Parallel()
	s := openTest(t, dbtest.Postgres(t))
	message := waiting(t, s, 600)[5]
	var text string
	err := s.DB.Writer.QueryRowContext(t.Context(), s.DB.Text("EXPLAIN (FORMAT JSON) "+standingText(s.DB.Dialect)),
		message, posthouse.LastDeliveryID(message), "line:x").Scan(&text)
	if err != nil || !strings.Contains(text, `"Index Name": "posthouse_queue_pkey"`) {
		t.Errorf("%v: the plan is\n%s", err, text)
	}
}
