package store

import (
	"cmp"
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// A claim begins where the last one ended, or a fifth of a second ago if that is earlier, and now and then at the beginning, so
// that what came in late with an early due time is not left behind.
func TestClaimsBeginWhereTheLastOneEnded(t *testing.T) {
	t.Parallel()
	lane := work.Lane{Tenant: "default", Channel: "bot", Priority: posthouse.Normal}
	start := time.UnixMicro(1_800_000_000_000_000)
	at := func(d time.Duration, id string) place { return place{start.Add(d).UnixMicro(), id} }
	var l lows
	for _, step := range []struct {
		name  string
		after time.Duration // since the start
		want  place
		took  time.Duration // due time of the last that was claimed, since the start
		id    string        // its id
		whole bool
	}{
		{"the first", 0, place{}, -time.Minute, "b", false},
		{"the next of those due in the same instant", 100 * time.Millisecond, at(-time.Minute, "b"), -time.Minute, "c", false},
		{"further on", 200 * time.Millisecond, at(-time.Minute, "c"), -2 * time.Second, "a", false},
		{"where no more comes in", 300 * time.Millisecond, at(-2*time.Second, "a"), 300 * time.Millisecond, "d", false},
		{"near the present", 400 * time.Millisecond, at(100*time.Millisecond, ""), 350 * time.Millisecond, "e", false},
		{"a second after the first", time.Second, place{}, -3 * time.Second, "a", false},
		{"a straggler was found", 1100 * time.Millisecond, at(-3*time.Second, "a"), -2 * time.Second, "f", true},
		{"of whole messages", 1200 * time.Millisecond, at(-2200*time.Millisecond, ""), time.Second, "g", true},
		{"of whole messages near the present", 1300 * time.Millisecond, at(800*time.Millisecond, ""), 1300 * time.Millisecond, "h", false},
	} {
		now := start.Add(step.after)
		from := l.from(lane, now)
		if from != step.want {
			t.Errorf("%s begins at %v, want %v", step.name, from, step.want)
		}
		last := posthouse.Delivery{ID: step.id, DueAt: start.Add(step.took), UpdatedAt: now}
		l.took(lane, from, []work.Item{{}, {Delivery: last}}, step.whole, now)
	}
	late := start.Add(2 * time.Second)
	l.none(lane, l.from(lane, late), late)
	if from, want := l.from(lane, late.Add(time.Millisecond)), at(1100*time.Millisecond, ""); from != want {
		t.Errorf("right after a look that found nothing it begins at %v, want %v", from, want)
	}
	// Two agents claim at once: what one of them finds further back is not passed over by the other.
	far, back := l.from(lane, late), posthouse.Delivery{ID: "a", DueAt: start, UpdatedAt: late}
	l.took(lane, place{}, []work.Item{{Delivery: back}}, false, late)
	l.took(lane, far, []work.Item{{Delivery: posthouse.Delivery{ID: "i", DueAt: late, UpdatedAt: late}}}, false, late)
	if from, want := l.from(lane, late), at(0, "a"); from != want {
		t.Errorf("after a straggler that was found meanwhile it begins at %v, want %v", from, want)
	}
	// What a slow transaction has made due may lie further back.
	l.committed(late, late.Add(lowSlack))
	if from, want := l.from(lane, late.Add(lowSoon)), at(0, "a"); from != want {
		t.Errorf("after a transaction that was not slow it begins at %v, want %v", from, want)
	}
	l.committed(late, late.Add(lowSlack+1))
	if from, want := l.from(lane, late.Add(lowSoon-1)), at(0, "a"); from != want {
		t.Errorf("at once after a slow transaction it begins at %v, want %v", from, want)
	}
	if from := l.from(lane, late.Add(lowSoon)); from != (place{}) {
		t.Errorf("after a slow transaction it begins at %v, want the beginning", from)
	}
	if other := l.from(work.Lane{Tenant: "default", Channel: "bot", Priority: posthouse.High}, start); other != (place{}) {
		t.Errorf("another lane begins at %v, want the beginning", other)
	}
}

// What is due another day costs the look before a claim nothing.
func TestALookGoesNoFurtherThanWhatIsDue(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		if s.DB.Dialect != sqldb.MySQL {
			return // the others say less of what they have read
		}
		for range 10 {
			accept(t, s, entry(50))
		}
		tamper(t, s, "UPDATE posthouse_queue SET due_at = ?", time.Now().Add(time.Hour).UnixMicro())
		text, args := s.Queue.readyText(at(), []work.Lane{lane}, []place{{}}, []place{{}})
		var plan string
		err := s.DB.Writer.QueryRowContext(t.Context(), "ANALYZE FORMAT=JSON "+text, args...).Scan(&plan)
		_, read, _ := strings.Cut(plan, `"table_name": "posthouse_queue"`)
		_, read, _ = strings.Cut(read, `"r_rows": `)
		if err != nil || !strings.HasPrefix(read, "0,") {
			t.Errorf("%v: the plan of a look is\n%s\nwant it to read no row of 500 that are not due", err, plan)
		}
	})
}

// While the queue is short, an index that has the rows of all lanes looks better to MariaDB's planner.
func TestAClaimGoesByTheIndexOfItsLane(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		if s.DB.Dialect != sqldb.MySQL {
			return // the others' planners choose it
		}
		for range 10 {
			accept(t, s, entry(50))
		}
		since, begin := place{}.since(s.DB.Dialect)
		query := "EXPLAIN FORMAT=JSON " + dueRows(s.DB.Dialect, layout.Queue.List, since) + s.DB.Dialect.Skip
		var plan string
		err := s.DB.Writer.QueryRowContext(t.Context(), query, slices.Concat([]any{"t1", "c1", 1, ""}, begin, []any{sqldb.Micros(time.Now()), 0, "1", 100})...).Scan(&plan)
		if err != nil || !strings.Contains(dense(plan), `"key":"posthouse_queue_due"`) || !strings.Contains(dense(plan), toTheID) {
			t.Errorf("the plan of a claim is %v\n%s\nwant it to go by the index posthouse_queue_due down to the id", err, plan)
		}
	})
}

// toTheID is what MariaDB says of an index that it searches down to the id, without its spaces.
const toTheID = `"due_at","id"]`

func dense(plan string) string { return strings.Join(strings.Fields(plan), "") }

// Of deliveries that are due in the same instant, those before the place are not walked over.
func TestALookBeginsAtItsPlaceInTheIndex(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(50))
		verb, want := "EXPLAIN QUERY PLAN ", `posthouse_queue_due\(.*\(due_at,id\)>\(\?,\?\)`
		switch s.DB.Dialect {
		case sqldb.Postgres:
			verb, want = "EXPLAIN ", `posthouse_queue_due.*IndexCond:.*ROW\(due_at,id\)>=ROW\(`
		case sqldb.MySQL:
			verb, want = "EXPLAIN FORMAT=JSON ", regexp.QuoteMeta(toTheID)
		}
		text, args := s.Queue.readyText(at(), []work.Lane{lane}, []place{{5, "x"}}, []place{{}})
		if plan, err := explained(t, s, verb+text, args...); err != nil || !regexp.MustCompile(want).MatchString(dense(plan)) {
			t.Errorf("%v: the plan of a look is\n%s\nwant %s", err, plan, want)
		}
	})
}

// What an agent holds is found among what is leased, and not among all that waits.
func TestWhatAnAgentHoldsIsFoundByItsLeases(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		verb, want := "EXPLAIN QUERY PLAN ", "posthouse_queue_lease"
		switch s.DB.Dialect {
		case sqldb.Postgres:
			return // its planner goes by what the tables hold
		case sqldb.MySQL:
			verb, want = "EXPLAIN FORMAT=JSON ", `"key":"posthouse_queue_lease"`
		}
		if plan, err := explained(t, s, verb+heldPage(s.DB.Dialect), "t1", "agent", "", 51); err != nil || !strings.Contains(dense(plan), want) {
			t.Errorf("%v: the plan of a page of what an agent holds is\n%s\nwant %s", err, plan, want)
		}
	})
}

// explained is what a database says of how it runs a statement.
func explained(t *testing.T, s *Store, query string, args ...any) (string, error) {
	t.Helper()
	rows, err := s.DB.Reader.QueryContext(t.Context(), s.DB.Text(query), args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	var plan strings.Builder
	cells := make([]any, len(columns))
	for i := range cells {
		cells[i] = new(sql.RawBytes)
	}
	for err == nil && rows.Next() {
		err = rows.Scan(cells...)
		plan.Write(*cells[len(cells)-1].(*sql.RawBytes))
		plan.WriteByte('\n')
	}
	return plan.String(), cmp.Or(err, rows.Err())
}
