package limit

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
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

	mu   sync.Mutex
	keys map[string]*lease
	tick *time.Timer // runs while there are leases
	done bool
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
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.hold(ctx, all); err != nil {
		for i := range list {
			list[i].grant = Grant{}
		}
		return err
	}
	for i := range list {
		r := &list[i]
		if len(r.own) == 0 {
			continue
		}
		var err error
		if r.grant, err = l.grant(ctx, r.own, r.Want); err != nil {
			return err
		}
	}
	return nil
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

// grant grants from leases, by Inner where another process holds one of the keys. The Leased is locked.
func (l *Leased) grant(ctx context.Context, bounds []Bound, want int) (Grant, error) {
	now := time.Now()
	budget, states := maxMax, make([]*State, len(bounds))
	for i, b := range bounds {
		of := l.keys[b.Key]
		if of == nil { // somebody else holds it
			return l.Inner.Take(ctx, bounds, want)
		}
		budget, states[i] = min(budget, of.budget), of.state
	}
	at := now.Add(l.keys[bounds[0].Key].offset)
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
		first := l.keys[bounds[0].Key]
		g.Wait = max(time.Millisecond, first.until.Sub(now.Add(first.offset)))
		g.Held, g.Key = bounds[0].Windows[0], bounds[0].Key
	}
	return g, nil
}

// hold takes or renews the leases of bounds, and with them those that end soon, in one transaction. The Leased is locked.
func (l *Leased) hold(ctx context.Context, bounds []Bound) error {
	now := time.Now()
	wanted := map[string][]posthouse.Limit{}
	for _, b := range bounds {
		if !l.keys[b.Key].holds(now, b.Windows) {
			wanted[b.Key] = b.Windows
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for key, of := range l.keys {
		if _, named := wanted[key]; !named && of.used && of.left(now) < l.lasts()/2 {
			wanted[key] = of.windows
		}
	}
	return l.renew(ctx, wanted)
}

// holds reports whether a lease goes on, under the windows it was taken for.
func (of *lease) holds(now time.Time, windows []posthouse.Limit) bool {
	if of == nil || of.left(now) < margin || !slices.Equal(of.windows, windows) {
		return false
	}
	return of.budget > 0 || of.full(now)
}

// margin is what must be left of a lease for a grant: a moment between the look at the clock and the grant does no harm then.
const margin = 20 * time.Millisecond

// full reports whether the windows hold, and not only the budget.
func (of *lease) full(now time.Time) bool {
	return peek(now.Add(of.offset), []Bound{{Windows: of.windows}}, []*State{of.state}).N == 0
}

// left is what is left of a lease.
func (of *lease) left(now time.Time) time.Duration { return of.until.Sub(now.Add(of.offset)) }

// renew ends the leases of keys, and begins new ones of those that are wanted by windows: nil ends only. A row that is no more
// as it was written belongs to somebody else by now; one whose short windows are full is left to Inner. The Leased is locked.
func (l *Leased) renew(ctx context.Context, wanted map[string][]posthouse.Limit) error {
	keys := make([]string, 0, len(wanted))
	for key := range wanted {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	before := time.Now()
	var fresh map[string]*lease
	err := l.Rows.UpdateLimits(ctx, keys, func(now time.Time, texts [][]byte) ([][]byte, error) {
		fresh = map[string]*lease{}
		after := make([][]byte, len(keys))
		for i, key := range keys {
			of, text, err := l.next(l.keys[key], texts[i], now, wanted[key])
			if err != nil {
				return nil, fmt.Errorf("the row of %q: %w", key, err)
			}
			if after[i] = text; of != nil {
				of.offset = now.Sub(before)
				fresh[key] = of
			}
		}
		return after, nil
	})
	for _, key := range keys { // after an error, nobody knows what the rows hold: what was reserved counts as granted
		delete(l.keys, key)
	}
	if err != nil {
		return failed("lease", keys, err)
	}
	if l.keys == nil {
		l.keys = map[string]*lease{}
	}
	for key, of := range fresh {
		l.keys[key] = of
	}
	l.wind()
	return nil
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
		l.tick = time.AfterFunc(l.lasts()/4, l.turn)
	}
}

// turn renews the leases that are used, and ends the others before they run out.
func (l *Leased) turn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick = nil
	now, soon := time.Now(), map[string][]posthouse.Limit{}
	for key, of := range l.keys {
		if of.left(now) > l.lasts()/2 {
			continue
		}
		soon[key] = nil
		if of.used {
			soon[key] = of.windows
		}
	}
	l.end(soon)
	l.wind()
}

// end writes the leases of keys back or on. The Leased is locked.
func (l *Leased) end(keys map[string][]posthouse.Limit) {
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
	defer l.mu.Unlock()
	l.done = true
	all := map[string][]posthouse.Limit{}
	for key := range l.keys {
		all[key] = nil
	}
	l.end(all)
	return nil
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
