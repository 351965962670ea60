package store

import (
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// fresh are the clean deliveries that this process accepts or has accepted a moment ago, as a claim would read them. A message never
// changes after it was accepted, and posthouse_due alone says what is to be claimed: so a claim reads only the messages that
// are not here. What waits longer than a moment, or comes when there is no room, is read.
type fresh struct {
	mu    sync.Mutex
	lanes map[work.Lane]*freshLane
	size  int // of all contents, in bytes
}

type freshLane struct {
	items map[string]*freshItem // by delivery
	order []string              // the deliveries as they came: those that were claimed since are not in items any more
}

// freshItem never changes: a claim copies what it takes.
type freshItem struct {
	work.Item
	size int
	at   time.Time
}

const (
	// freshFor is how long a delivery is kept for its claim: what is due is claimed within milliseconds, if at all.
	freshFor = 2 * time.Second
	// freshSize bounds the contents that are kept, in bytes.
	freshSize = 8 << 20
	// freshBase is what a delivery takes beside its content, in bytes.
	freshBase = 1 << 10
)

// freshOf is a clean entry as it will be read from its row; nil where that may differ, or is not due at once.
func freshOf(e *work.Entry, now time.Time) *freshItem {
	if !readsAsAccepted(e) {
		return nil
	}
	m := e.Message
	m.NotBefore, m.Deadline, m.CreatedAt = sqldb.TimeOf(sqldb.Micros(m.NotBefore)), sqldb.TimeOf(sqldb.Micros(m.Deadline)), sqldb.TimeOf(sqldb.Micros(m.CreatedAt))
	if len(m.Payload) == 0 {
		m.Payload = nil
	}
	from := &e.Deliveries[0]
	d := posthouse.Delivery{Recipient: from.Recipient, Account: from.Account, IdemKey: from.IdemKey, OnUnknown: from.OnUnknown, Epoch: from.Epoch}
	layout.Accepted(&m, &d, sqldb.Micros(from.DueAt))
	return &freshItem{work.Item{Delivery: d, Message: &m}, freshBase + len(m.Content.Title) + len(m.Content.Text) + len(m.Payload), now}
}

// laneOfClean is the lane that a clean delivery waits in.
func laneOfClean(d *posthouse.Delivery) work.Lane {
	return work.Lane{Tenant: d.Tenant, Channel: d.Channel, Priority: d.Priority}
}

// add keeps clean entries that are about to be committed. Where that fails they do no harm: nothing is due of them.
func (f *fresh) add(entries []arrival, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range entries {
		if item := freshOf(a.entry, now); item != nil && f.room(item.size, now) {
			f.keep(item)
		}
	}
}

// room reports whether there is room, and forgets what has waited too long if that makes it.
func (f *fresh) room(size int, now time.Time) bool {
	if f.size+size <= freshSize {
		return true
	}
	for lane, l := range f.lanes {
		f.forget(l, now)
		if len(l.order) == 0 {
			delete(f.lanes, lane)
		}
	}
	return f.size+size <= freshSize
}

func (f *fresh) keep(item *freshItem) {
	if f.lanes == nil {
		f.lanes = map[work.Lane]*freshLane{}
	}
	lane := laneOfClean(&item.Delivery)
	l := f.lanes[lane]
	if l == nil {
		l = &freshLane{items: map[string]*freshItem{}}
		f.lanes[lane] = l
	}
	id := item.Delivery.ID
	f.drop(l, id)
	f.size += item.size
	l.items[id] = item
	l.order = append(l.order, id)
}

// forget drops those at the beginning that were claimed, or have waited too long.
func (f *fresh) forget(l *freshLane, now time.Time) {
	for len(l.order) > 0 {
		item, ok := l.items[l.order[0]]
		if ok && now.Sub(item.at) < freshFor {
			return
		}
		f.drop(l, l.order[0])
		l.order = l.order[1:]
	}
}

func (f *fresh) drop(l *freshLane, id string) {
	if item, ok := l.items[id]; ok {
		f.size -= item.size
		delete(l.items, id)
	}
}

// first are up to n of a lane in the order they came: those that a claim is likely to find.
func (f *fresh) first(lane work.Lane, n int, now time.Time) map[string]*work.Item {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.lanes[lane]
	if l == nil {
		return nil
	}
	f.forget(l, now)
	found := make(map[string]*work.Item, min(n, len(l.items)))
	for _, id := range l.order {
		if len(found) == n {
			break
		}
		if item, ok := l.items[id]; ok {
			found[id] = &item.Item
		}
	}
	return found
}

// claimed drops what a claim knew and is not waiting any more: what it took, and what others took before it. What comes after its
// last may not be committed yet.
func (f *fresh) claimed(lane work.Lane, b *boarding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.lanes[lane]
	if l == nil || len(b.items) == 0 {
		return
	}
	d := &b.items[len(b.items)-1].Delivery
	last := place{sqldb.Micros(d.DueAt), d.ID}
	for id, item := range b.known {
		if !last.before(place{sqldb.Micros(item.Delivery.DueAt), id}) {
			f.drop(l, id)
		}
	}
	f.forget(l, time.Now())
}

// idSet is ids as the keys of a JSON object, in which PostgreSQL finds one by halves.
func idSet(known map[string]*work.Item) string {
	var b strings.Builder
	b.Grow(2 + 32*len(known))
	b.WriteByte('{')
	for id := range known {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + id + `":0`)
	}
	b.WriteByte('}')
	return b.String()
}
