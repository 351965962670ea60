package store

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// The kind that is further behind begins, and the other one at least every 20 ms.
func TestTheKindThatIsFurtherBehindBegins(t *testing.T) {
	t.Parallel()
	lane := work.Lane{Tenant: "default", Channel: "bot", Priority: posthouse.Normal}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	due := func(d time.Duration) []work.Item {
		return []work.Item{{}, {Delivery: posthouse.Delivery{DueAt: start.Add(d)}}}
	}
	const ms = time.Millisecond
	var c courses
	for _, step := range []struct {
		name  string
		after time.Duration
		rows  bool
		took  time.Duration // due time of the last that was claimed
		all   bool
	}{
		{"the first", 0, true, 0, false},
		{"no row was left", 1 * ms, false, -5 * time.Second, true},
		{"still none is known", 2 * ms, false, -4 * time.Second, true},
		{"20 ms later", 20 * ms, true, -9 * time.Second, true},
		{"rows are further behind", 21 * ms, true, -8 * time.Second, true},
		{"clean ones wait for 20 ms at most", 22 * ms, false, -4 * time.Second, true},
		{"rows are still behind", 23 * ms, true, -3 * time.Second, true},
		{"now clean ones are", 24 * ms, false, -2 * time.Second, true},
		{"rows again", 25 * ms, true, -1 * time.Second, false},
		{"until none is left", 26 * ms, false, 0, false},
	} {
		now := start.Add(step.after)
		if rows := c.rowsFirst(lane, now); rows != step.rows {
			t.Fatalf("%s: rows begin: %v", step.name, rows)
		}
		c.took(lane, step.rows, due(step.took), step.all)
	}
	if !c.rowsFirst(work.Lane{Tenant: "default", Channel: "bot", Priority: posthouse.High}, start) {
		t.Error("another lane begins with what this one began with")
	}
}
