package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Foresight says what a claim would make of deliveries that are not stored. It asks what a claim asks of single people: which addresses are
// suppressed and what people want, quiet hours, and the windows of recipients and caps. It takes nothing of a window, but what it lets begin
// counts for what it is asked about later.
type Foresight struct {
	engine *Engine
	began  []begun
}

// begun is a permit that a delivery would have taken.
type begun struct {
	delivery, key string
	at            time.Time
}

// Foresight begins to look at deliveries of one caller.
func (e *Engine) Foresight() *Foresight { return &Foresight{engine: e} }

// mostHolds bounds what holds one delivery after the other.
const mostHolds = 10

// Claimed is a delivery as claims from a time on would leave it: due when it would begin, with the reason where that is later, or ended before it
// begins.
func (f *Foresight) Claimed(ctx context.Context, item work.Item, at time.Time) (posthouse.Delivery, error) {
	d := item.Delivery
	r := f.engine.Routes.route(d.Tenant, d.Channel)
	if r == nil || d.State != posthouse.Pending {
		return d, nil
	}
	d.DueAt = later(d.DueAt, at)
	for range mostHolds {
		item.Delivery = d
		held, err := f.held(ctx, r, &item, d.DueAt)
		if err != nil {
			return d, err
		}
		switch held.verdict {
		case verdictSuppress:
			d.State, d.Reason, d.Error, d.DueAt = posthouse.Suppressed, held.reason, held.result.Error, time.Time{}
			return d, nil
		case verdictRelease:
			d.Reason, d.DueAt = held.reason, d.DueAt.Add(held.result.After)
		default:
			f.take(r, &item, d.DueAt)
			return d, nil
		}
		if !d.Deadline.IsZero() && !d.DueAt.Before(d.Deadline) {
			d.Error = fmt.Sprintf("it would wait until %s, and its deadline comes before", d.DueAt.UTC().Format(time.RFC3339))
			d.State, d.DueAt = posthouse.Expired, time.Time{}
			return d, nil
		}
	}
	return d, nil
}

// Failed is told of a delivery that its step takes for failed: caps give back what it took.
func (f *Foresight) Failed(delivery string) {
	f.began = slices.DeleteFunc(f.began, func(b begun) bool { return b.delivery == delivery && quiet.IsKey(b.key) })
}

// held is what keeps a delivery from beginning at a time, in the order of a claim; without a verdict nothing does.
func (f *Foresight) held(ctx context.Context, r *route, item *work.Item, at time.Time) (done, error) {
	sieve := *f.engine.deliveries.sieve
	sieve.Overdue = nil // of what is not stored, the preview of its route knows
	sieve.Now = func() time.Time { return at }
	barred, err := sieve.Items(ctx, r.Channel, work.Each([]work.Item{*item}))
	if err != nil {
		return done{}, fmt.Errorf("look whether a recipient is suppressed: %w", err)
	}
	if b, is := barred[0]; is {
		return done{verdict: verdictSuppress, reason: b.Reason, result: channel.Result{Error: b.Why}}, nil
	}
	if !critical(item) {
		ends, err := f.engine.o.Quiet.Until(ctx, r.Key.Tenant, r.Settings.Quiet, at, []quiet.Whom{whomOf(r.Channel, item)})
		if err != nil {
			return done{}, fmt.Errorf("ask for quiet hours: %w", err)
		}
		if len(ends) > 0 && ends[0].After(at) {
			return aloneUntil(&item.Delivery, at, ends[0]), nil
		}
	}
	return f.limited(ctx, r, item, at)
}

// tiers are the windows of a person that count a delivery. Agents heed caps alone: their limits are their own.
func (f *Foresight) tiers(r *route, item *work.Item) (tiers []state.Tier) {
	if !r.Settings.Pulled {
		tiers = r.Settings.Tiers.OfRecipient(r.Key, &item.Delivery)
	}
	return append(tiers, state.CapsOf(r.Key, r.Settings.Tiers.Caps, f.engine.o.Quiet.Caps(r.Key.Tenant), item)...)
}

func (f *Foresight) take(r *route, item *work.Item, at time.Time) {
	for _, t := range f.tiers(r, item) {
		f.began = append(f.began, begun{item.Delivery.ID, t.Key, at})
	}
}

// limited is which window of a person has no room at a time.
func (f *Foresight) limited(ctx context.Context, r *route, item *work.Item, at time.Time) (done, error) {
	tiers := f.tiers(r, item)
	if len(tiers) == 0 {
		return done{}, nil
	}
	bounds := make([]limit.Bound, len(tiers))
	for i := range tiers {
		bounds[i] = tiers[i].Bound
	}
	g, err := f.engine.o.Limiter.Peek(ctx, bounds)
	if err != nil {
		return done{}, fmt.Errorf("look at the windows of a recipient: %w", err)
	}
	free := f.engine.life.Now().Add(g.Wait)
	if g.N > 0 || !free.After(at) {
		if g, free, err = f.crowded(ctx, tiers, at); err != nil || g.N > 0 {
			return done{}, err
		}
	}
	reason, why := state.HeldBy(tiers, g)
	if why != "" {
		return done{verdict: verdictSuppress, reason: reason, result: channel.Result{Error: why}}, nil
	}
	return done{verdict: verdictRelease, reason: reason, result: channel.Result{After: max(free.Sub(at), time.Millisecond)}}, nil
}

// crowded finds the window that what was let begin before leaves no room, and when it has room at the latest. A grant of one is of none.
func (f *Foresight) crowded(ctx context.Context, tiers []state.Tier, at time.Time) (g limit.Grant, free time.Time, err error) {
	g.N = 1
	for i := range tiers {
		for _, w := range tiers[i].Windows {
			var ends []time.Time
			for _, b := range f.began {
				if end := b.at.Add(w.Per.Std()); b.key == tiers[i].Key && end.After(at) {
					ends = append(ends, end)
				}
			}
			if len(ends) == 0 {
				continue
			}
			room, err := f.engine.o.Limiter.Peek(ctx, []limit.Bound{{Key: tiers[i].Key, Windows: []posthouse.Limit{w}}})
			if err != nil {
				return g, free, fmt.Errorf("look at a window of a recipient: %w", err)
			}
			slices.SortFunc(ends, time.Time.Compare)
			if over := len(ends) - max(room.N, 1); over >= 0 && ends[over].After(free) {
				g, free = limit.Grant{Key: tiers[i].Key, Held: w}, ends[over]
			}
		}
	}
	return g, free, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
