package reading

import (
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Recent holds the events that this process has committed lately, so that its own readers need not read them back. They are a
// copy: what is not here, or was committed by others, is read.
type Recent struct {
	mu    sync.Mutex
	rows  map[occurrence][]posthouse.FeedEvent // by the first event of a row
	order []occurrence
	n     int
}

// mostRecent bounds the events that are held.
const mostRecent = 20_000

// Tidings are deliveries that reached one version in a transaction, or, with version 0, what providers told. The events are there
// where they can be told without reading them back.
type Tidings struct {
	Version int64
	IDs     []string
	Events  []posthouse.FeedEvent
}

// Put holds what was told.
func (r *Recent) Put(told []Tidings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows == nil {
		r.rows = map[occurrence][]posthouse.FeedEvent{}
	}
	for _, of := range told {
		first := occurrence{of.IDs[0], of.Version}
		before, held := r.rows[first] // by a transaction that was undone
		r.n += len(of.Events) - len(before)
		r.rows[first] = of.Events
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
func (r *Recent) of(row *work.FeedRow) []posthouse.FeedEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.rows[occurrence{row.Deliveries[0], row.Version}]
	if len(list) != len(row.Deliveries) {
		return nil
	}
	return list
}
