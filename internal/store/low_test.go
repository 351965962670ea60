package store

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// A claim begins a second before the last one's end, and now and then at the beginning, so that what
// came in late with an early due time is not left behind.
func TestClaimsBeginWhereTheLastOneEnded(t *testing.T) {
	t.Parallel()
	lane := work.Lane{Tenant: "default", Channel: "bot", Priority: posthouse.Normal}
	start := time.UnixMicro(1_800_000_000_000_000)
	due := func(at time.Time) []work.Item { return []work.Item{{}, {Delivery: posthouse.Delivery{DueAt: at}}} }
	var l lows
	for _, step := range []struct {
		name  string
		after time.Duration // since the start
		want  time.Time     // zero: the beginning
		took  time.Duration // due time of the last that was claimed, since the start
	}{
		{"the first", 0, time.Time{}, 5 * time.Second},
		{"the next", 100 * time.Millisecond, start.Add(4 * time.Second), 6 * time.Second},
		{"further on", 999 * time.Millisecond, start.Add(5 * time.Second), 7 * time.Second},
		{"a second after the first", time.Second, time.Time{}, 3 * time.Second},
		{"a straggler was found", 1100 * time.Millisecond, start.Add(2 * time.Second), 3 * time.Second},
	} {
		now := start.Add(step.after)
		from := l.from(lane, now)
		want := int64(0)
		if !step.want.IsZero() {
			want = step.want.UnixMicro()
		}
		if from != want {
			t.Errorf("%s begins at %d, want %d", step.name, from, want)
		}
		l.took(lane, from, due(start.Add(step.took)), now)
	}
	late := start.Add(2 * time.Second)
	l.none(lane, l.from(lane, late), late)
	if from, want := l.from(lane, late.Add(time.Millisecond)), start.Add(2*time.Second).UnixMicro(); from != want {
		t.Errorf("right after a look that found nothing it begins at %d, want %d", from, want)
	}
	if other := l.from(work.Lane{Tenant: "default", Channel: "bot", Priority: posthouse.High}, start); other != 0 {
		t.Errorf("another lane begins at %d, want 0", other)
	}
}

// What is due another day costs the look before a claim nothing.
func TestALookGoesNoFurtherThanWhatIsDue(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		if s.dialect != mysqlDialect {
			return // the others say less of what they have read
		}
		for range 10 {
			accept(t, s, entry(50))
		}
		tamper(t, s, "UPDATE queue SET due_at = ?", time.Now().Add(time.Hour).UnixMicro())
		text, args := s.readyText(at(), []work.Lane{lane}, []int64{0})
		var plan string
		err := s.write.QueryRowContext(t.Context(), "ANALYZE FORMAT=JSON "+text, args...).Scan(&plan)
		_, read, _ := strings.Cut(plan, `"table_name": "queue"`)
		_, read, _ = strings.Cut(read, `"r_rows": `)
		if err != nil || !strings.HasPrefix(read, "0,") {
			t.Errorf("%v: the plan of a look is\n%s\nwant it to read no row of 500 that are not due", err, plan)
		}
	})
}

// While the queue is short, an index that has the rows of all lanes looks better to MariaDB's planner.
func TestAClaimGoesByTheIndexOfItsLane(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		if s.dialect != mysqlDialect {
			return // the others' planners choose it
		}
		for range 10 {
			accept(t, s, entry(50))
		}
		query := "EXPLAIN FORMAT=JSON " + s.dialect.due(queueTable.list) + s.dialect.skip
		var plan string
		err := s.write.QueryRowContext(t.Context(), query, "t1", "c1", 1, 0, micros(time.Now()), 0, "1", 100).Scan(&plan)
		if err != nil || !strings.Contains(plan, `"key": "queue_due"`) {
			t.Errorf("the plan of a claim is %v\n%s\nwant it to go by the index queue_due", err, plan)
		}
	})
}
