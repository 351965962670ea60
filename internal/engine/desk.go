package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// desk is where agents wait for something to be handed out. Whatever comes in wakes one of them; who got
// something wakes the next.
type desk struct {
	mu    sync.Mutex
	lines map[state.Key][]*waiter // who may be handed something of a channel, longest waiting first
	all   map[*waiter]bool

	closed chan struct{} // nobody waits any more
	close  sync.Once
}

// Dismiss lets agents that wait go with nothing, now and from now on. Who serves them calls it before it waits for
// requests to finish: they would wait for a minute.
func (e *Engine) Dismiss() { e.desk.close.Do(func() { close(e.desk.closed) }) }

// waiter is an agent that waits.
type waiter struct {
	keys []state.Key
	wake chan struct{} // capacity 1
}

func newDesk() *desk {
	return &desk{lines: map[state.Key][]*waiter{}, all: map[*waiter]bool{}, closed: make(chan struct{})}
}

// enter lets an agent in. It stands in no line yet, but hears when everybody is to look again.
func (d *desk) enter() *waiter {
	w := &waiter{wake: make(chan struct{}, 1)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all[w] = true
	return w
}

// queue puts an agent that has entered in the lines of channels.
func (d *desk) queue(w *waiter, keys []state.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.keys = keys
	for _, k := range keys {
		d.lines[k] = append(d.lines[k], w)
	}
}

// leave takes an agent out of its lines. One that was woken and did not look wakes the next.
func (d *desk) leave(w *waiter) {
	d.mu.Lock()
	delete(d.all, w)
	for _, k := range w.keys {
		d.lines[k] = slices.DeleteFunc(d.lines[k], func(other *waiter) bool { return other == w })
		if len(d.lines[k]) == 0 {
			delete(d.lines, k)
		}
	}
	d.mu.Unlock()
	select {
	case <-w.wake:
		d.wake(w.keys...)
	default:
	}
}

// wake wakes one agent of each channel, and puts it at the end of its line.
func (d *desk) wake(keys ...state.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range keys {
		line := d.lines[k]
		if len(line) == 0 {
			continue
		}
		first := line[0]
		copy(line, line[1:])
		line[len(line)-1] = first
		first.nudge()
	}
}

// wakeAll has everybody look again.
func (d *desk) wakeAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for w := range d.all {
		w.nudge()
	}
}

func (w *waiter) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// awaited lists the channels that somebody waits for.
func (d *desk) awaited() []state.Key {
	d.mu.Lock()
	defer d.mu.Unlock()
	keys := make([]state.Key, 0, len(d.lines))
	for k := range d.lines {
		keys = append(keys, k)
	}
	return keys
}

// waiting is how many agents wait.
func (d *desk) waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.all)
}

// attend looks, while agents wait, for what nobody in this process announced: what came due, and what another
// process accepted.
func (e *Engine) attend(ctx context.Context) {
	for e.pause(e.stride(e.o.Poll)) {
		e.metrics.waiting.Set(float64(e.desk.waiting()))
		lanes := pulledLanes(e.desk.awaited())
		if len(lanes) == 0 {
			continue
		}
		ready, err := e.o.Store.Ready(ctx, time.Now(), lanes)
		if err != nil {
			if ctx.Err() == nil {
				e.log.Warn("the database can not be asked for what agents wait for", "error", err)
			}
			continue
		}
		woken := map[state.Key]bool{}
		for i, due := range ready {
			if k := (state.Key{Tenant: lanes[i].Tenant, Channel: lanes[i].Channel}); due && !woken[k] {
				woken[k] = true
				e.desk.wake(k)
			}
		}
	}
}

// stride is a wait of d and up to a fifth more, always the same in this process and another in others, so that they
// do not look in step. Unlike spread it can be foretold: a loop that skips its look would else begin the next one by
// chance, and no seed of the simulation would take its course again.
func (e *Engine) stride(d time.Duration) time.Duration {
	return d + time.Duration(state.Fraction(e.o.Owner)*float64(d)/5)
}

// pulledLanes are all lanes of pulled channels.
func pulledLanes(keys []state.Key) []work.Lane {
	var lanes []work.Lane
	for _, k := range keys {
		for _, p := range posthouse.Priorities() {
			for _, again := range []bool{false, true} {
				lanes = append(lanes, work.Lane{Tenant: k.Tenant, Channel: k.Channel, Priority: p, Pulled: true, Again: again})
			}
		}
	}
	return lanes
}
