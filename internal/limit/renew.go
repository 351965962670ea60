package limit

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// A lease is renewed while it goes on: claims need not wait for the write of a row. What is granted between the moment at which the
// next lease is made and the end of that write is within the old one, which the row still says, and counts in the new one: so
// it is counted whichever of the two the row says in the end.

// mostRenewed bounds one transaction of those that nobody waits for.
const mostRenewed = 100

// hold takes or renews the leases of bounds that cannot grant, and leaves the Leased locked. A key that it could not have is another
// process's.
func (l *Leased) hold(ctx context.Context, bounds []Bound) error {
	tried := map[string]bool{}
	for {
		l.mu.Lock()
		wanted, other := l.wanting(bounds, tried)
		var err error
		switch {
		case other != nil: // somebody renews one of them
			l.mu.Unlock()
			select {
			case <-other:
			case <-ctx.Done():
				err = ctx.Err()
			}
		case len(wanted) > 0:
			end := l.begin(wanted)
			l.mu.Unlock()
			err = l.renew(ctx, wanted)
			end()
		default:
			return nil
		}
		if err != nil {
			l.mu.Lock()
			return err
		}
	}
}

// wanting are the keys of bounds that have to be leased, by their windows, each once for a caller; or what to wait for first. The
// Leased is locked.
func (l *Leased) wanting(bounds []Bound, tried map[string]bool) (wanted map[string][]posthouse.Limit, other <-chan struct{}) {
	now := time.Now()
	wanted = map[string][]posthouse.Limit{}
	for _, b := range bounds {
		if l.done || tried[b.Key] || l.keys[b.Key].holds(now, b.Windows) {
			continue
		}
		if renewing := l.renewed[b.Key]; renewing != nil {
			return nil, renewing
		}
		wanted[b.Key] = b.Windows
	}
	for key := range wanted {
		tried[key] = true
	}
	return wanted, nil
}

// begin marks keys as being renewed until end is called. The Leased is locked when begin is called, and not when end is.
func (l *Leased) begin(keys map[string][]posthouse.Limit) (end func()) {
	if l.renewed == nil {
		l.renewed = map[string]chan struct{}{}
	}
	over := make(chan struct{})
	for key := range keys {
		l.renewed[key] = over
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for key := range keys {
			delete(l.renewed, key)
		}
		close(over)
	}
}

// holds reports whether a lease goes on, under the windows it was taken for.
func (of *lease) holds(now time.Time, windows []posthouse.Limit) bool {
	return of.runs(now, windows) && (of.budget > 0 || of.full(now))
}

// runs reports whether a lease has not ended.
func (of *lease) runs(now time.Time, windows []posthouse.Limit) bool {
	return of != nil && of.left(now) >= margin && slices.Equal(of.windows, windows)
}

// margin is what must be left of a lease for a grant: a moment between the look at the clock and the grant does no harm then.
const margin = 20 * time.Millisecond

// full reports whether the windows hold, and not only the budget.
func (of *lease) full(now time.Time) bool {
	return peek(now.Add(of.offset), []Bound{{Windows: of.windows}}, []*State{of.state}).N == 0
}

// left is what is left of a lease.
func (of *lease) left(now time.Time) time.Duration { return of.until.Sub(now.Add(of.offset)) }

// renewal is a write of the rows of some keys.
type renewal struct {
	of     *Leased
	wanted map[string][]posthouse.Limit
	keys   []string
	began  time.Time
	ended  map[string]*lease // that grant nothing any more
	fresh  map[string]*lease
}

// renew ends the leases of keys, and begins new ones of those that are wanted by windows: nil ends only. A row that is no more
// as it was written belongs to somebody else by now; one whose short windows are full is left to Inner. Nobody else renews the keys.
func (l *Leased) renew(ctx context.Context, wanted map[string][]posthouse.Limit) error {
	r := renewal{of: l, wanted: wanted, began: time.Now(), ended: map[string]*lease{}}
	for key := range wanted {
		r.keys = append(r.keys, key)
	}
	slices.Sort(r.keys)
	err := l.Rows.UpdateLimits(ctx, r.keys, r.change)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range r.keys { // after an error, nobody knows what the rows hold: what was reserved counts as granted
		delete(l.keys, key)
	}
	if err != nil {
		return failed("lease", r.keys, err)
	}
	if l.keys == nil {
		l.keys = map[string]*lease{}
	}
	for key, of := range r.fresh {
		of.written()
		l.keys[key] = of
	}
	l.wind()
	return nil
}

// change makes the next leases and their rows, once more where the transaction is repeated.
func (r *renewal) change(now time.Time, texts [][]byte) ([][]byte, error) {
	l := r.of
	l.mu.Lock()
	defer l.mu.Unlock()
	r.fresh = map[string]*lease{}
	after := make([][]byte, len(r.keys))
	for i, key := range r.keys {
		was := l.keys[key]
		if was == nil {
			was = r.ended[key]
		}
		of, text, err := l.next(was, texts[i], now, r.wanted[key])
		if err != nil {
			return nil, fmt.Errorf("the row of %q: %w", key, err)
		}
		delete(l.keys, key)
		r.ended[key], after[i] = was, text
		if of == nil {
			continue
		}
		of.offset, r.fresh[key] = now.Sub(r.began), of
		if was != nil && bytes.Equal(was.text, texts[i]) && slices.Equal(was.windows, of.windows) {
			of.within(was)
			l.keys[key] = of
		}
	}
	return after, nil
}

// within lets a lease grant what the one before it still may, until its row is written.
func (of *lease) within(was *lease) {
	of.then = &term{budget: max(0, of.budget-was.budget), until: of.until, text: of.text}
	of.budget, of.until, of.text = min(of.budget, was.budget), was.until, was.text
}

// written lets a lease grant all that its row says.
func (of *lease) written() {
	if then := of.then; then != nil {
		of.budget, of.until, of.text, of.then = of.budget+then.budget, then.until, then.text, nil
	}
}

// next is the lease that follows one, nil for none, and the row's text, nil where it stays.
func (l *Leased) next(was *lease, text []byte, now time.Time, windows []posthouse.Limit) (*lease, []byte, error) {
	state := new(State)
	mine := was != nil && bytes.Equal(was.text, text)
	if mine {
		state = was.state
	} else if err := state.UnmarshalText(text); err != nil {
		return nil, nil, err
	}
	if windows == nil {
		if !mine {
			return nil, nil, nil
		}
		settled, err := state.MarshalText()
		return nil, settled, err
	}
	bound := []Bound{{Windows: windows}}
	if !mine && state.latest > now.UnixMicro() || peek(now, bound, []*State{state}).N == 0 && !mine {
		return nil, nil, nil // another process holds it, or nothing is free
	}
	state = state.clone()
	at := state.advance(now, windows)
	of := &lease{windows: windows, state: state, from: timeOf(at), until: timeOf(at).Add(l.lasts())}
	of.budget = state.usable(windows, l.lasts())
	reserved := state.reserve(windows, of.until, of.budget, l.lasts())
	var err error
	of.text, err = reserved.MarshalText()
	return of, of.text, err
}

// usable is how many permits can be granted in the time of a lease at most: what the short windows let through, and what is free
// in the others.
func (s *State) usable(windows []posthouse.Limit, lasts time.Duration) int {
	n := math.MaxInt
	for i, w := range windows {
		if per := w.Per.Std(); per < lasts {
			n = min(n, w.Max*(int(lasts/per)+2))
		} else {
			n = min(n, w.Max-s.windows[i].sum)
		}
	}
	return max(0, n)
}

// reserve is a state in which a lease is counted until its end: all of the short windows, and n of the others.
func (s *State) reserve(windows []posthouse.Limit, until time.Time, n int, lasts time.Duration) *State {
	r := s.clone()
	r.latest = until.UnixMicro()
	for i, w := range windows {
		if w.Per.Std() < lasts {
			r.windows[i].add(r.latest, w.Max)
		} else if n > 0 {
			r.windows[i].add(r.latest, n)
		}
	}
	return r
}

// wind sees to it that leases end in time. The Leased is locked.
func (l *Leased) wind() {
	if l.tick == nil && len(l.keys) > 0 && !l.done {
		l.tick = time.AfterFunc(l.lasts()/4, l.renewDue)
	}
}

// renewDue renews the leases that are used, and ends the others before they run out: some at a time, so that those that others
// wait for come between.
func (l *Leased) renewDue() {
	for l.renewSome() {
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick = nil
	l.wind()
}

// renewSome renews or ends leases that end soon, as many as one transaction takes. It reports whether there were any.
func (l *Leased) renewSome() bool {
	l.mu.Lock()
	soon := l.ending(time.Now())
	end := l.begin(soon)
	l.mu.Unlock()
	defer end()
	l.write(soon)
	return len(soon) > 0
}

// ending are leases that end soon, and by what windows they go on. The Leased is locked.
func (l *Leased) ending(now time.Time) map[string][]posthouse.Limit {
	soon := map[string][]posthouse.Limit{}
	for key, of := range l.keys {
		switch {
		case len(soon) == mostRenewed:
			return soon
		case of.left(now) > l.lasts()/2, l.renewed[key] != nil:
		case of.used && !l.done:
			soon[key] = of.windows
		default:
			soon[key] = nil
		}
	}
	return soon
}

// write writes leases back or on, for nobody who waits.
func (l *Leased) write(keys map[string][]posthouse.Limit) {
	if len(keys) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.lasts())
	defer cancel()
	if err := l.renew(ctx, keys); err != nil {
		log := l.Log
		if log == nil {
			log = slog.Default()
		}
		log.Warn("leases of limits could not be written back: what they held counts as granted", "keys", len(keys), "error", err)
	}
}

// Close writes all leases back. What is asked for after that goes to Inner.
func (l *Leased) Close() error {
	l.mu.Lock()
	l.done = true
	for len(l.renewed) > 0 {
		renewing := anyOf(l.renewed)
		l.mu.Unlock()
		<-renewing
		l.mu.Lock()
	}
	all := map[string][]posthouse.Limit{}
	for key := range l.keys {
		all[key] = nil
	}
	end := l.begin(all)
	l.mu.Unlock()
	defer end()
	l.write(all)
	return nil
}

// anyOf is one that is being renewed.
func anyOf(renewed map[string]chan struct{}) <-chan struct{} {
	for _, over := range renewed {
		return over
	}
	return nil
}
