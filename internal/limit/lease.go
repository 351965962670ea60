package limit

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// Leased holds keys for a moment and grants their permits in memory, so that a permit costs no round trip: one process at a
// time holds a key, and many keys share one transaction. It is for bounds that say Lease and whose shortest window is shorter
// than a lease, such as accounts with a limit a second; all others, and keys that another process holds, go to Inner.
//
// A lease writes into the key's row that its short windows are full, and that of the longer ones as much is taken as the short ones
// let through in the meantime, both at the moment at which the lease ends. So everybody else is refused by the windows
// themselves, and whatever becomes of the holder, what it may have granted is counted already: a holder that dies costs
// permits, and never lets one too many through. When a lease ends, what was granted takes the place of that, if the row is
// still as it was written.
//
// Times are those of the database: a lease is held by the clock that it was taken by, carried on by this process's.
type Leased struct {
	// Inner decides on all that is not leased. Required.
	Inner Limiter
	// Rows keeps the states of the leased keys: the rows that Inner decides by. Required.
	Rows Rows
	// Lasts is how long a lease lasts. Defaults to 2s.
	Lasts time.Duration
	// Log defaults to slog.Default().
	Log *slog.Logger

	mu      sync.Mutex // never held while the database is asked
	keys    map[string]*lease
	renewed map[string]chan struct{} // closed when the keys that are being renewed are
	tick    *time.Timer              // runs while there are leases
	done    bool
}

// lease is a key that this process holds.
type lease struct {
	windows []posthouse.Limit
	state   *State // what was granted, by all before and by us
	budget  int    // permits that the row holds for us
	offset  time.Duration
	from    time.Time // by the database's clock
	until   time.Time
	text    []byte // the row, as we wrote it
	used    bool   // since it was taken or renewed
	then    *term  // what is more in the row that is being written, nil where none is
}

// term is what a lease has when its row is written.
type term struct {
	budget int // besides
	until  time.Time
	text   []byte
}

// defaultLasts is long enough for a claim or two, and short enough that others wait little for a process that died.
const defaultLasts = 2 * time.Second

func (l *Leased) lasts() time.Duration {
	if l.Lasts > 0 {
		return l.Lasts
	}
	return defaultLasts
}

// leasable reports whether a bound is one to lease: others are kept away from it by its short windows.
func (l *Leased) leasable(b *Bound) bool {
	return b.Lease && slices.ContainsFunc(b.Windows, func(w posthouse.Limit) bool { return w.Per.Std() < l.lasts() })
}

// Take is as Limiter says.
func (l *Leased) Take(ctx context.Context, bounds []Bound, want int) (Grant, error) {
	grants, err := l.Each(ctx, []Ask{{bounds, want}})
	if err != nil {
		return Grant{}, err
	}
	return grants[0], nil
}

// Each is as Limiter says. The leases that are missing are taken in one transaction, and what is not leased is asked of Inner in
// one step.
func (l *Leased) Each(ctx context.Context, asks []Ask) ([]Grant, error) {
	list := make([]request, len(asks))
	for i, a := range asks {
		bounds, err := kept(a.Bounds)
		if err != nil {
			return nil, err
		}
		list[i] = request{Ask: Ask{bounds, a.Want}, others: bounds}
		if a.Want > 0 {
			list[i].own, list[i].others = l.parted(bounds)
		}
	}
	err := l.takeOwn(ctx, list)
	if err == nil {
		err = l.takeOthers(ctx, list)
	}
	grants := make([]Grant, len(list))
	for i := range list {
		if grants[i] = list[i].grant; err != nil {
			l.giveBack(list[i].grant.Stamps, list[i].grant.N)
		}
	}
	if err != nil {
		return nil, err
	}
	return grants, nil
}

// request is one that is being decided.
type request struct {
	Ask
	own, others []Bound // those that are leased, and those that are not
	grant       Grant
}

// takeOwn grants what is leased, and all of requests of which nothing is.
func (l *Leased) takeOwn(ctx context.Context, list []request) error {
	var all []Bound
	for i := range list {
		list[i].grant.N = max(0, list[i].Want)
		all = append(all, list[i].own...)
	}
	if len(all) == 0 {
		return nil
	}
	err := l.hold(ctx, all)
	defer l.mu.Unlock()
	now := time.Now()
	for i := range list {
		r := &list[i]
		switch {
		case err != nil:
			r.grant = Grant{}
		case len(r.own) == 0:
		case slices.ContainsFunc(r.own, func(b Bound) bool { return !l.keys[b.Key].runs(now, b.Windows) }): // somebody else holds it
			r.own, r.others = nil, r.Bounds
		default:
			r.grant = l.grant(r.own, r.Want)
		}
	}
	return err
}

// takeOthers asks Inner for the bounds that are not leased, as much as is granted of the others. One request alone is a Take: a
// Fallback asks its Primary then.
func (l *Leased) takeOthers(ctx context.Context, list []request) (err error) {
	var asks []Ask
	var of []*request
	for i := range list {
		if r := &list[i]; len(r.others) > 0 && (r.grant.N > 0 || len(r.own) == 0) {
			asks, of = append(asks, Ask{r.others, r.grant.N}), append(of, r)
		}
	}
	var found []Grant
	switch len(asks) {
	case 0:
		return nil
	case 1:
		found = make([]Grant, 1)
		found[0], err = l.Inner.Take(ctx, asks[0].Bounds, asks[0].Want)
	default:
		found, err = l.Inner.Each(ctx, asks)
	}
	if err != nil {
		return err
	}
	for i, r := range of {
		if back := r.grant.N - found[i].N; back > 0 {
			l.giveBack(r.grant.Stamps, back)
		}
		r.join(found[i])
	}
	return nil
}

// join makes one grant of what is leased and what is not, which is no more than that.
func (r *request) join(others Grant) {
	if others.N > 0 {
		others.Stamps = inOrder(r.Bounds, append(others.Stamps, r.grant.Stamps...))
		others = others.orLonger(&r.grant, r.Want)
	}
	r.grant = others
}

// parted are the bounds that are leased, and the others.
func (l *Leased) parted(bounds []Bound) (own, others []Bound) {
	for i := range bounds {
		if l.leasable(&bounds[i]) {
			own = append(own, bounds[i])
		} else {
			others = append(others, bounds[i])
		}
	}
	return own, others
}

// inOrder are stamps in the order of their bounds.
func inOrder(bounds []Bound, stamps []Stamp) []Stamp {
	list := make([]Stamp, 0, len(stamps))
	for _, b := range bounds {
		for _, s := range stamps {
			if s.Key == b.Key {
				list = append(list, s)
			}
		}
	}
	return list
}

// grant grants from leases. The Leased is locked.
func (l *Leased) grant(bounds []Bound, want int) Grant {
	now := time.Now()
	budget, states := maxMax, make([]*State, len(bounds))
	for i, b := range bounds {
		of := l.keys[b.Key]
		budget, states[i] = min(budget, of.budget), of.state
	}
	first := l.keys[bounds[0].Key]
	at := now.Add(first.offset)
	if _, room := advance(at, bounds, states); budget >= min(want, room) {
		budget = want // the windows hold, and say for how long
	}
	g := take(at, bounds, states, max(0, budget))
	for _, b := range bounds {
		of := l.keys[b.Key]
		of.budget -= g.N
		of.used = true
	}
	if g.N == 0 && g.Wait == 0 { // the budget is used up before the windows are: the next lease has more
		g.Wait = max(time.Millisecond, first.until.Sub(at))
		g.Held, g.Key = bounds[0].Windows[0], bounds[0].Key
	}
	return g
}

// giveBack returns permits to leases, and reports which of the stamps are of keys that are not leased.
func (l *Leased) giveBack(stamps []Stamp, n int) (others []Stamp) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range stamps {
		of := l.keys[s.Key]
		if of == nil || of.left(time.Now()) <= 0 {
			others = append(others, s)
			continue
		}
		of.state.Refund(s.At, n)
		if s.At.After(of.from) { // what was granted before is no part of what the row holds for us
			of.budget += n
		}
	}
	return others
}

// Refund is as Limiter says.
func (l *Leased) Refund(ctx context.Context, g Grant, n int) error {
	n, some := g.back(n)
	if !some {
		return nil
	}
	g.Stamps = l.giveBack(g.Stamps, n)
	return l.Inner.Refund(ctx, g, n)
}

// Peek is as Limiter says. Of keys that another process holds, it sees what their rows say.
func (l *Leased) Peek(ctx context.Context, bounds []Bound) (Grant, error) {
	bounds, err := kept(bounds)
	if err != nil {
		return Grant{}, err
	}
	var others []Bound
	mine := Grant{N: maxMax}
	l.mu.Lock()
	now := time.Now()
	for i, b := range bounds {
		if of := l.keys[b.Key]; of.holds(now, b.Windows) {
			if g := peek(now.Add(of.offset), bounds[i:i+1], []*State{of.state}); g.N < mine.N {
				mine = g
			}
		} else {
			others = append(others, b)
		}
	}
	l.mu.Unlock()
	if len(others) == 0 {
		return mine, nil
	}
	g, err := l.Inner.Peek(ctx, others)
	if err != nil || g.N < mine.N || g.N == mine.N && g.Wait >= mine.Wait {
		return g, err
	}
	return mine, nil
}
