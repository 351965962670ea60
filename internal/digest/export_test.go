package digest

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Leaving is a collection's plan once its delivery is made.
func Leaving(t *testing.T, p work.Plan, lead string) work.Plan {
	t.Helper()
	c, err := read(p)
	if err != nil {
		t.Fatal(err)
	}
	c.State, c.LeavesAt, c.Closed = posthouse.CollectionLeaving, time.Time{}, true
	c.Delivery, c.Outcome = lead, posthouse.Pending
	next, err := c.plan()
	if err != nil {
		t.Fatal(err)
	}
	next.Version++
	return next
}
