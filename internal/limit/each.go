package limit

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Each-calls decide on many requests, in their order and in one atomic step. What one was granted counts for the next; one
// that is refused consumes nothing.

// asked are several requests, without the bounds that have no windows, and their keys, each once.
func asked(asks []Ask) (some []Ask, keys []string, err error) {
	some = make([]Ask, len(asks))
	for i, a := range asks {
		some[i].Want = max(0, a.Want)
		if some[i].Bounds, err = kept(a.Bounds); err != nil {
			return nil, nil, err
		}
		keys = append(keys, keysOf(some[i].Bounds)...)
	}
	slices.Sort(keys)
	return some, slices.Compact(keys), nil
}

// each decides on requests by the states of their keys.
func each(now time.Time, asks []Ask, keys []string, states []*State) []Grant {
	byKey := make(map[string]*State, len(keys))
	for i, key := range keys {
		byKey[key] = states[i]
	}
	grants := make([]Grant, len(asks))
	for i, a := range asks {
		if len(a.Bounds) == 0 {
			grants[i] = Grant{N: a.Want}
			continue
		}
		of := make([]*State, len(a.Bounds))
		for j, b := range a.Bounds {
			of[j] = byKey[b.Key]
		}
		grants[i] = take(now, a.Bounds, of, a.Want)
	}
	return grants
}

// unlimited are the grants of requests that no window applies to.
func unlimited(asks []Ask) []Grant {
	grants := make([]Grant, len(asks))
	for i := range grants {
		grants[i].N = asks[i].Want
	}
	return grants
}

// Each is as Limiter says.
func (m *Memory) Each(_ context.Context, asks []Ask) ([]Grant, error) {
	asks, keys, err := asked(asks)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return unlimited(asks), nil
	}
	states, now, unlock := m.lock(keys)
	defer unlock()
	return each(now, asks, keys, states), nil
}

// Each is as Limiter says: one transaction for all.
func (q SQL) Each(ctx context.Context, asks []Ask) (grants []Grant, err error) {
	asks, keys, err := asked(asks)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return unlimited(asks), nil
	}
	err = q.update(ctx, "take", keys, func(now time.Time, states []*State) { grants = each(now, asks, keys, states) })
	if err != nil {
		return nil, err
	}
	return grants, nil
}

// Each is as Limiter says, by one call for each request: Redis is asked for claims, which take many permits at once.
func (r *Redis) Each(ctx context.Context, asks []Ask) ([]Grant, error) {
	grants := make([]Grant, len(asks))
	for i, a := range asks {
		g, err := r.Take(ctx, a.Bounds, a.Want)
		if err != nil {
			for _, g := range grants[:i] {
				_ = r.Refund(context.WithoutCancel(ctx), g, g.N) // what is not given back counts until its windows have passed
			}
			return nil, err
		}
		grants[i] = g
	}
	return grants, nil
}

// Each is as Limiter says. Secondary decides alone: keys that are asked for one by one, such as recipients, are many and
// seldom full, so that Primary would hardly ever save its call.
func (f *Fallback) Each(ctx context.Context, asks []Ask) ([]Grant, error) {
	return f.Secondary.Each(ctx, asks)
}

// RefundEach is as Limiter says: one transaction for all.
func (q SQL) RefundEach(ctx context.Context, list []Back) error {
	var keys []string
	for _, b := range list {
		if _, some := b.Grant.back(b.N); some {
			keys = append(keys, b.Grant.keys()...)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	return q.update(ctx, "refund", keys, func(_ time.Time, states []*State) {
		for _, b := range list {
			n, _ := b.Grant.back(b.N)
			for _, stamp := range b.Grant.Stamps {
				if i, is := slices.BinarySearch(keys, stamp.Key); is {
					states[i].Refund(stamp.At, n)
				}
			}
		}
	})
}

// RefundEach is as Limiter says.
func (f *Fallback) RefundEach(ctx context.Context, list []Back) error {
	for _, b := range list {
		if b.Grant.first != nil && f.usable() {
			f.giveBack(ctx, *b.Grant.first, min(b.N, b.Grant.N))
		}
	}
	return f.Secondary.RefundEach(ctx, list)
}

// RefundEach is as Limiter says: what is leased comes back without a round trip.
func (l *Leased) RefundEach(ctx context.Context, list []Back) error {
	var others []Back
	for _, b := range list {
		n, some := b.Grant.back(b.N)
		if !some {
			continue
		}
		if b.Grant.Stamps = l.giveBack(b.Grant.Stamps, n); len(b.Grant.Stamps) > 0 {
			others = append(others, Back{b.Grant, n})
		}
	}
	if len(others) == 0 {
		return nil
	}
	return l.Inner.RefundEach(ctx, others)
}

// oneByOne gives back permits of one grant after the other.
func oneByOne(ctx context.Context, l Limiter, list []Back) error {
	var errs []error
	for _, b := range list {
		errs = append(errs, l.Refund(ctx, b.Grant, b.N))
	}
	return errors.Join(errs...)
}
