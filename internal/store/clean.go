package store

import (
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/work"
)

// Most deliveries take one course: accepted, claimed, sent at the first attempt. Such a delivery is clean, and costs four
// narrow writes: its message, whose row carries it (sole = 1), an entry of posthouse_due until it is claimed, a share of
// a row of posthouse_flights while it is under way, and a row of posthouse_sent, which keeps its history. The events follow
// from these rows (layout/sole.go).
//
// A message that takes another course is expanded first, in the transaction that finds so (expand.go): it gets the row of
// posthouse_queue or posthouse_settled and the events that it would have had from the beginning, and sole becomes 0. A clean
// delivery never comes back.

// flight is one claim of clean deliveries.
type flight struct {
	layout.Flight
	left   int               // how many have no result yet
	pinned map[string]string // delivery → the account it was accepted for, where it was for one
	shared bool              // some took another course: the rescuer deletes the row
	over   bool              // its row goes with the last results
}

// flights are those of this process. They are what it remembers of its claims: what is not here is looked up.
type flights struct {
	mu    sync.Mutex
	of    map[string]*flight // delivery → its flight
	empty []string           // flights without deliveries, whose rows are still there
}

// add notes a claim.
func (f *flights) add(made *flight, items []work.Item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]*flight{}
	}
	made.left = len(items)
	for i := range items {
		f.of[items[i].Delivery.ID] = made
	}
	if len(f.of) > forgottenFlights {
		f.forget(time.Now().Add(-time.Hour).UnixMicro())
	}
}

// forgottenFlights is how many deliveries under way make the process look for those that nobody reported on.
const forgottenFlights = 100_000

func (f *flights) forget(before int64) {
	for id, known := range f.of {
		if known.LeaseUntil < before {
			delete(f.of, id)
		}
	}
}

// find is the flight of a delivery that this process claimed and that is clean as far as it knows.
func (f *flights) find(d *posthouse.Delivery) *flight {
	if f == nil || d.State != posthouse.Sending || d.Version != 2 || d.Token != 1 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[d.ID]
}

// landed notes that deliveries have a result, which is committed. A flight that is over by it, and whose row is still there,
// is to be deleted.
func (f *flights) landed(changes []work.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range changes {
		id := changes[i].Before.ID
		known := f.of[id]
		if known == nil {
			continue
		}
		delete(f.of, id)
		if known.left--; known.left == 0 && !known.shared && !known.over {
			f.empty = append(f.empty, known.ID)
		}
	}
}

// expanded forgets deliveries that are not clean any more, if their transaction commits. What is left of their flights is
// the rescuer's to delete, who looks.
func (f *flights) expanded(ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if known := f.of[id]; known != nil {
			delete(f.of, id)
			known.shared = true
		}
	}
}

// ends reports whether n results are the last of a flight, whose row goes with them.
func (f *flights) ends(known *flight, n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	known.over = known.left == n && !known.shared
	return known.over
}

// takeEmpty hands out the flights whose rows are to be deleted.
func (f *flights) takeEmpty() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.empty
	f.empty = nil
	return list
}
