package store

import (
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// recentEvents are those that this process has committed lately, so that its own readers need not read them back. They are a
// copy: what is not here, or was committed by others, is read.
type recentEvents struct {
	mu    sync.Mutex
	rows  map[occurrence][]posthouse.StatusEvent // by the first event of a row
	order []occurrence
	n     int
}

// mostRecent bounds the events that are held.
const mostRecent = 20_000

// tell says that the feed has grown. Of a database that others write to as well, only what was committed is held: another
// process may have done what this one has tried.
func (f *feedSwitch) tell(told []tidings, shared bool) {
	if shared {
		f.recent.put(told)
	}
	f.poke()
}

func (r *recentEvents) put(told []tidings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows == nil {
		r.rows = map[occurrence][]posthouse.StatusEvent{}
	}
	for _, of := range told {
		first := occurrence{of.ids[0], of.version}
		before, held := r.rows[first] // by a transaction that was undone
		r.n += len(of.events) - len(before)
		r.rows[first] = of.events
		if !held {
			r.order = append(r.order, first)
		}
	}
	for r.n > mostRecent {
		r.n -= len(r.rows[r.order[0]])
		delete(r.rows, r.order[0])
		r.order = r.order[1:]
	}
}

// of are the events of a row, where they are held.
func (r *recentEvents) of(row *work.FeedRow) []posthouse.StatusEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.rows[occurrence{row.Deliveries[0], row.Version}]
	if len(list) != len(row.Deliveries) {
		return nil
	}
	return list
}
