package web

import (
	"crypto/sha256"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// brake bounds the wrong keys and passwords that are answered as such, by address and over all. What is right always
// passes: behind a proxy that is not trusted everybody has one address, and a stranger must not lock the others out.
// It counts what differs, so that a phone that was told a wrong password does not use up the bound of those beside it.
//
// It slows a guesser down and makes guessing seen. What stops guessing is the length of keys and passwords.
type brake struct {
	mu    sync.Mutex
	from  map[string]*failures // by address, see group
	all   failures
	limit bounds
}

// bounds are how many different wrong ones a minute are answered as wrong.
type bounds struct{ address, all int }

// failures are those of one window.
type failures struct {
	marks []mark // of what was shown, each once
	since time.Time
}

// mark tells what somebody showed from other things, without being it.
type mark = [sha256.Size]byte

const (
	brakeAfter    = 10
	brakeAfterAll = 200
	brakeWindow   = time.Minute
	// maxSuspects bounds the memory: about 4 MB. Addresses that are forgotten still count over all.
	maxSuspects = 10_000
)

func newBrake() *brake {
	return &brake{from: map[string]*failures{}, limit: bounds{brakeAfter, brakeAfterAll}}
}

// verdict is what the brake says to a wrong guess.
type verdict struct {
	wait  time.Duration // how long to wait; 0 for a guess that is within the bounds
	first bool          // of its address within the window: worth a line in the log
}

// failed counts a wrong guess from an address.
func (b *brake) failed(address string, shown mark, now time.Time) verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := group(address)
	f := b.from[name]
	if f == nil {
		if len(b.from) >= maxSuspects {
			b.forget(now)
		}
		f = &failures{}
		b.from[name] = f
	}
	here, first := f.count(shown, b.limit.address, now)
	all, _ := b.all.count(shown, b.limit.all, now)
	return verdict{max(here, all), first && all == 0}
}

// count notes what was shown, and returns how long to wait where it is beyond the bound; and whether it is the first of
// its window.
func (f *failures) count(shown mark, bound int, now time.Time) (wait time.Duration, first bool) {
	if now.Sub(f.since) >= brakeWindow {
		*f = failures{since: now}
	}
	if slices.Contains(f.marks, shown) {
		return 0, false
	}
	if len(f.marks) >= bound {
		return f.since.Add(brakeWindow).Sub(now), false
	}
	f.marks = append(f.marks, shown)
	return 0, len(f.marks) == 1
}

// forget makes room: what is over goes, and where that is nothing, a tenth of the rest.
func (b *brake) forget(now time.Time) {
	for name, f := range b.from {
		if now.Sub(f.since) >= brakeWindow {
			delete(b.from, name)
		}
	}
	for name := range b.from {
		if len(b.from) <= maxSuspects*9/10 {
			return
		}
		delete(b.from, name)
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
