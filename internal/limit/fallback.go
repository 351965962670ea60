package limit

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// Fallback puts a fast place (Primary, Redis) before a durable one (Secondary,
// SQL), such that losing the fast one costs speed and nothing else.
//
// Primary is asked first and refuses most of what must be refused; what it lets
// through is then taken from Secondary too, and only what both grant is granted.
// While Primary fails, Secondary alone decides.
//
// It guarantees that every permit granted was taken from Secondary. So the limit
// holds exactly as Secondary holds it, in every sliding window: across the switch
// to Secondary and back, if Primary hangs, dies or forgets everything, and if some
// processes reach Primary and others do not. There is no moment at which either
// place must guess what the other has granted, which is why nothing has to wait
// out a window after a switch. The price is one call of Secondary for each call
// that is granted something; want many permits at once to make it small.
//
// An error of Secondary is returned, and what Primary gave is given back. Permits
// whose way back is lost stay taken in Primary until their windows pass: it then
// refuses too much, never too little.
type Fallback struct {
	Primary, Secondary Limiter
	// Pause is how long Primary is left alone after a failure. Defaults to 1s.
	Pause time.Duration
	// Report is called with the error when Primary fails, and with nil when it
	// answers again. Defaults to nothing.
	Report func(error)

	mu    sync.Mutex
	down  bool
	until time.Time // when Primary is tried again
}

// Take is as Limiter says. Grant.At is Secondary's clock.
func (f *Fallback) Take(ctx context.Context, bounds []Bound, want int) (Grant, error) {
	bounds, err := kept(bounds)
	if err != nil {
		return Grant{}, err
	}
	if len(bounds) == 0 {
		return Grant{N: max(0, want)}, nil
	}
	var first *Grant
	ask := want
	if f.usable() {
		g, err := f.Primary.Take(ctx, bounds, want)
		switch {
		case err != nil && ctx.Err() != nil:
			return Grant{}, ctx.Err()
		case f.answered(err) && g.N == 0:
			return g, nil
		case err == nil:
			first, ask = &g, g.N
		}
	}
	g, err := f.Secondary.Take(ctx, bounds, ask)
	g.first = first
	if first != nil && g.N < first.N {
		f.giveBack(ctx, *first, first.N-g.N)
	}
	if err != nil {
		return Grant{}, err
	}
	return g.orLonger(first, want), nil
}

// orLonger takes over the wait of another grant where that is longer.
func (g Grant) orLonger(other *Grant, want int) Grant {
	if other != nil && g.N < want && other.Wait > g.Wait {
		g.Wait, g.Held, g.Key = other.Wait, other.Held, other.Key
	}
	return g
}

// Refund is as Limiter says.
func (f *Fallback) Refund(ctx context.Context, g Grant, n int) error {
	if g.first != nil && f.usable() {
		f.giveBack(ctx, *g.first, min(n, g.N))
	}
	return f.Secondary.Refund(ctx, g, n)
}

// Peek is as Limiter says; it asks Secondary, which has counted everything.
func (f *Fallback) Peek(ctx context.Context, bounds []Bound) (Grant, error) {
	return f.Secondary.Peek(ctx, bounds)
}

// giveBack returns permits to Primary, also if the request is over by now.
func (f *Fallback) giveBack(ctx context.Context, g Grant, n int) {
	f.answered(f.Primary.Refund(context.WithoutCancel(ctx), g, n))
}

// usable reports whether to ask Primary: always while it is well, and once each
// Pause while it is not.
func (f *Fallback) usable() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.down {
		return true
	}
	now := time.Now()
	if now.Before(f.until) {
		return false
	}
	f.until = now.Add(f.pause())
	return true
}

// answered notes how a call of Primary ended and reports whether it was well.
func (f *Fallback) answered(err error) bool {
	f.mu.Lock()
	changed := f.down != (err != nil)
	f.down = err != nil
	if f.down {
		f.until = time.Now().Add(f.pause())
	}
	f.mu.Unlock()
	if changed && f.Report != nil {
		f.Report(err)
	}
	return err == nil
}

func (f *Fallback) pause() time.Duration { return cmp.Or(f.Pause, time.Second) }
