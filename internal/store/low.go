package store

import (
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// lows remembers for each lane from which place on there is anything left to claim. A database that
// keeps old versions of rows, for an open transaction or until it has cleaned up, keeps their index entries
// too, and a claim that began at the beginning would walk over all that was ever claimed since.
type lows struct {
	mu     sync.Mutex
	byLane map[work.Lane]low
	slow   time.Time // when the last transaction of this process ended that took longer than lowSlack
}

// low is where a lane's claims begin, and when they last began at the beginning.
type low struct {
	at     place
	looked time.Time
}

// place is one in the order in which claims take: by due time, in microseconds, then by id. The zero place is the
// beginning.
type place struct {
	due int64
	id  string
}

func (p place) before(other place) bool {
	return p.due < other.due || p.due == other.due && p.id < other.id
}

// since is the condition that a delivery is at the place of its lane or behind it.
func (p place) since(d *sqldb.Dialect) (text string, args []any) {
	if d.Pairs {
		return "(due_at, id) >= (?, ?)", []any{p.due, p.id}
	}
	return "(due_at = ? AND id >= ? OR due_at > ?)", []any{p.due, p.id, p.due}
}

const (
	// lowSlack is how old a due time is before a claim of later ones leaves it behind: an accept commits later than
	// its clock was read. It is also how far behind a claim of whole messages its parts are looked for. Every claim
	// walks over what was claimed meanwhile where the database keeps it: with a second, PostgreSQL's took 2.7 times as
	// long under a held snapshot.
	lowSlack = 200 * time.Millisecond
	// lowEvery is how often a claim begins at the beginning all the same, for what lies further back.
	lowEvery = time.Second
	// lowSoon is the same after a transaction of this process that took longer than lowSlack: what it has made due may lie there.
	lowSoon = 100 * time.Millisecond
)

// from is the place a claim of the lane begins at.
func (l *lows) from(lane work.Lane, now time.Time) place {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, every := l.byLane[lane], lowEvery
	if known.looked.Before(l.slow) {
		every = lowSoon
	}
	if now.Sub(known.looked) < every {
		return known.at
	}
	return place{}
}

// committed notes a transaction that began at a time and has ended now.
func (l *lows) committed(began, now time.Time) {
	if now.Sub(began) <= lowSlack {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slow = now
}

// none notes that nothing is due since from: a look from the beginning need not be repeated for a while.
func (l *lows) none(lane work.Lane, from place, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.byLane[lane]; ok && from == (place{}) {
		known.looked = now
		l.byLane[lane] = known
	}
}

// took notes a claim that began at from: it was ordered, so nothing is left before its last but what comes in late or
// was locked. A claim of whole messages leaves parts of others there; most are due in the same instant. Where another
// claim has found something before from meanwhile, there may be more of it.
func (l *lows) took(lane work.Lane, from place, items []work.Item, whole bool, now time.Time) {
	if len(items) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.byLane[lane]
	if from == (place{}) {
		known.looked = now
	} else if known.at.before(from) {
		return
	}
	last := &items[len(items)-1].Delivery
	known.at = place{sqldb.Micros(last.DueAt), last.ID}
	if recent := sqldb.Micros(last.UpdatedAt) - lowSlack.Microseconds(); whole {
		known.at = place{due: known.at.due - lowSlack.Microseconds()}
	} else if known.at.due > recent {
		known.at = place{due: recent}
	}
	if l.byLane == nil {
		l.byLane = map[work.Lane]low{}
	}
	l.byLane[lane] = known
}
