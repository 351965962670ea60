package pull

import (
	"slices"
	"sync"

	"github.com/posthouse/posthouse/internal/state"
)

// lines are where agents wait for something to be handed out. Whatever comes in wakes one of them; who got
// something wakes the next.
type lines struct {
	mu    sync.Mutex
	lines map[state.Key][]*waiter // who may be handed something of a channel, longest waiting first
	all   map[*waiter]bool

	closed chan struct{} // no agent waits any more
	close  sync.Once
}

// waiter is an agent that waits.
type waiter struct {
	keys []state.Key
	wake chan struct{} // capacity 1
}

func newLines() *lines {
	return &lines{lines: map[state.Key][]*waiter{}, all: map[*waiter]bool{}, closed: make(chan struct{})}
}

// enter lets an agent in. It stands in no line yet, but hears when everybody is to look again.
func (d *lines) enter() *waiter {
	w := &waiter{wake: make(chan struct{}, 1)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all[w] = true
	return w
}

// queue puts an agent that has entered in the lines of channels.
func (d *lines) queue(w *waiter, keys []state.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.keys = keys
	for _, k := range keys {
		d.lines[k] = append(d.lines[k], w)
	}
}

// leave takes an agent out of its lines. One that was woken and did not look wakes the next.
func (d *lines) leave(w *waiter) {
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
func (d *lines) wake(keys ...state.Key) {
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
func (d *lines) wakeAll() {
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

// awaited lists the channels that agents wait for.
func (d *lines) awaited() []state.Key {
	d.mu.Lock()
	defer d.mu.Unlock()
	keys := make([]state.Key, 0, len(d.lines))
	for k := range d.lines {
		keys = append(keys, k)
	}
	return keys
}

// waiting is how many agents wait.
func (d *lines) waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.all)
}
