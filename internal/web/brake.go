package web

import (
	"crypto/sha256"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// brake bounds guesses, by where they come from and over all. It counts what differs, so that a phone that was told a wrong
// password does not use up the bound of those beside it.
type brake struct {
	mu    sync.Mutex
	from  map[string]*failures // by place, see places
	right map[string]time.Time // when an address last showed the right password of a user, see pair
	all   failures
	limit bounds
}

// bounds are how many different guesses a minute are looked at.
type bounds struct{ address, shared, all int }

// failures are those of one window, and guesses that are being judged.
type failures struct {
	marks []mark // of what was shown, each once
	since time.Time
}

// mark identifies a credential without holding it.
type mark = [sha256.Size]byte

const (
	brakeAfter = 10
	// brakeAfterShared is of an address that many may share: of a proxy that is not trusted.
	brakeAfterShared = 100
	brakeAfterAll    = 200
	brakeWindow      = time.Minute
	// maxSuspects bounds the memory: about 4 MB. Addresses that are forgotten still count over all.
	maxSuspects = 10_000
	// maxRight bounds the memory of who was right: about 2 MB.
	maxRight = 10_000
)

func newBrake() *brake {
	return &brake{from: map[string]*failures{}, right: map[string]time.Time{}, limit: bounds{brakeAfter, brakeAfterShared, brakeAfterAll}}
}

// verdict is what the brake says to a guess.
type verdict struct {
	wait  time.Duration // how long to wait; 0 for a guess that is within the bounds
	first bool          // of its address within the window: worth a line in the log
}

// failed counts something wrong from an address that was judged already: it is nothing that can be guessed.
func (b *brake) failed(address string, shown mark, now time.Time) verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count([]charge{b.charge(group(address), b.limit.address, now), b.overAll(now)}, shown, now)
}

// charge is a bound that a guess counts for.
type charge struct {
	place string // empty for the bound over all
	*failures
	most int
}

// charge is the bound of a place. It is kept once something counts for it: what is refused takes no memory.
func (b *brake) charge(place string, most int, now time.Time) charge {
	f := b.from[place]
	if f == nil {
		f = &failures{}
	}
	f.begin(now)
	return charge{place, f, most}
}

func (b *brake) overAll(now time.Time) charge {
	b.all.begin(now)
	return charge{"", &b.all, b.limit.all}
}

// charges are all bounds that a guess counts for.
func (b *brake) charges(g Guess, now time.Time) []charge {
	own, at := g.pair(), group(g.Of.Address)
	switch _, was := b.right[own]; {
	case g.Vouched:
		return []charge{b.charge(g.user(), b.limit.address, now)}
	case was:
		return []charge{b.charge(own, b.limit.address, now)}
	case g.Of.Shared:
		return []charge{b.charge(own, b.limit.address, now), b.charge(at, b.limit.shared, now), b.overAll(now)}
	}
	return []charge{b.charge(at, b.limit.address, now), b.overAll(now)}
}

// count lets something pass where each of its bounds has room, and counts it there.
func (b *brake) count(list []charge, shown mark, now time.Time) verdict {
	var v verdict
	for _, c := range list {
		v.wait = max(v.wait, c.wait(shown, c.most, now))
	}
	v.first = v.wait == 0 && len(list[0].marks) == 0
	if v.wait > 0 {
		return v
	}
	for _, c := range list {
		c.add(shown)
		if c.place != "" {
			b.keep(c, now)
		}
	}
	return v
}

// keep remembers the failures of a place. Others may be forgotten for it.
func (b *brake) keep(c charge, now time.Time) {
	if len(b.from) >= maxSuspects {
		forget(b.from, maxSuspects, func(f *failures) bool { return f.over(now) })
	}
	b.from[c.place] = c.failures
}

// admit lets a guess be judged where each of its bounds has room. Until it was judged it counts as wrong, so that many at once
// are bounded as well.
func (b *brake) admit(g Guess, now time.Time) verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count(b.charges(g, now), g.mark(), now)
}

// release takes a guess back that was right, or that could not be judged.
func (b *brake) release(g Guess, right bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.charges(g, now) {
		c.drop(g.mark())
	}
	if !right {
		return
	}
	if len(b.right) >= maxRight {
		forget(b.right, maxRight, func(at time.Time) bool { return now.Sub(at) >= 24*time.Hour })
	}
	b.right[g.pair()] = now
}

func (f *failures) over(now time.Time) bool { return now.Sub(f.since) >= brakeWindow }

// begin begins a window where the last one is over.
func (f *failures) begin(now time.Time) {
	if f.over(now) {
		*f = failures{since: now}
	}
}

// wait is how long to wait with what is beyond the bound. What was wrong within the window is no other guess.
func (f *failures) wait(shown mark, most int, now time.Time) time.Duration {
	if len(f.marks) < most || slices.Contains(f.marks, shown) {
		return 0
	}
	return f.since.Add(brakeWindow).Sub(now)
}

func (f *failures) add(shown mark) {
	if !slices.Contains(f.marks, shown) {
		f.marks = append(f.marks, shown)
	}
}

func (f *failures) drop(shown mark) {
	f.marks = slices.DeleteFunc(f.marks, func(m mark) bool { return m == shown })
}

// forget makes room in what has at most so many: what is over goes, and where that is too little, up to a tenth of all.
func forget[V any](m map[string]V, most int, over func(V) bool) {
	for name, v := range m {
		if over(v) {
			delete(m, name)
		}
	}
	for name := range m {
		if len(m) <= most*9/10 {
			return
		}
		delete(m, name)
	}
}

// group is the address that counts: of IPv6 the first 64 bits, since one subscriber has all that begin with them.
func group(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if a = a.Unmap().WithZone(""); a.Is6() {
		return netip.PrefixFrom(a, 64).Masked().String()
	}
	return a.String()
}
