package store

import (
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/work"
)

// lows remembers for each lane from which due time on there is anything left to claim. A database that
// keeps old versions of rows for an open transaction, a backup for one, keeps their index entries too,
// and a claim that began at the beginning would walk over all that was ever claimed since.
type lows struct {
	mu     sync.Mutex
	byLane map[work.Lane]low
}

// low is where a lane's claims begin, and when they last began at the beginning.
type low struct {
	due    int64 // microseconds
	looked time.Time
}

const (
	// lowSlack is how far a due time may lie before one that was claimed already: an accept commits
	// later than its clock was read.
	lowSlack = int64(time.Second / time.Microsecond)
	// lowEvery is how often a claim begins at the beginning all the same, for what lies further back.
	lowEvery = time.Second
)

// from is the due time a claim of the lane begins at, 0 for the beginning.
func (l *lows) from(lane work.Lane, now time.Time) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.byLane[lane]; now.Sub(at.looked) < lowEvery {
		return at.due
	}
	return 0
}

// none notes that nothing is due since from: a look from the beginning need not be repeated for a while.
func (l *lows) none(lane work.Lane, from int64, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, known := l.byLane[lane]; known && from == 0 {
		at.looked = now
		l.byLane[lane] = at
	}
}

// took notes a claim that began at from: it was ordered by due time, so nothing is left before its last.
func (l *lows) took(lane work.Lane, from int64, items []work.Item, now time.Time) {
	if len(items) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.byLane[lane]
	if from == 0 {
		at.looked = now
	}
	at.due = micros(items[len(items)-1].Delivery.DueAt) - lowSlack
	if l.byLane == nil {
		l.byLane = map[work.Lane]low{}
	}
	l.byLane[lane] = at
}
