package pull

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// undisturbed leaves out those for people in their quiet hours, and those beyond a cap. What is critical stays.
func (dk *Desk) undisturbed(ctx context.Context, handed []work.Item) (items []work.Item, back []returned) {
	for rest := handed; len(rest) > 0; {
		name, n := rest[0].Delivery.Channel, 1
		for n < len(rest) && rest[n].Delivery.Channel == name {
			n++
		}
		part := rest[:n]
		rest = rest[n:]
		ch := dk.o.Channels.Channel(part[0].Delivery.Tenant, name)
		if ch == nil {
			items = append(items, part...)
			continue
		}
		kept, held := dk.leaveAlone(ctx, ch, part)
		kept, capped := dk.cap(ctx, ch, kept)
		items, back = append(items, kept...), append(append(back, held...), capped...)
	}
	return items, back
}

// leaveAlone leaves out those for people in their quiet hours.
func (dk *Desk) leaveAlone(ctx context.Context, ch *state.Channel, list []work.Item) (items []work.Item, back []returned) {
	if !dk.o.Quiet.Any(ch.Key.Tenant, ch.Settings.Quiet) {
		return list, nil
	}
	people := make([]quiet.Whom, len(list))
	for i := range list {
		d, m := &list[i].Delivery, list[i].Message
		people[i] = quiet.Whom{User: d.User, Address: d.Address, Local: ch.Settings.Location, Deadline: d.Deadline}
		if m != nil {
			people[i].Kind = m.Kind
		}
	}
	now := dk.o.Life.Now()
	ends, err := dk.o.Quiet.Until(ctx, ch.Key.Tenant, ch.Settings.Quiet, now, people)
	if err != nil {
		dk.o.Log.Warn("quiet hours cannot be looked up: what was to be handed out is given back", "deliveries", len(list), "error", err)
		return nil, putBackAll(list)
	}
	for i, item := range list {
		if len(ends) == 0 || ends[i].IsZero() || item.Message != nil && item.Message.Critical {
			items = append(items, item)
			continue
		}
		b := returned{item: item, reason: state.ReasonQuietHours, after: ends[i].Sub(now) + state.PastQuiet, barred: state.QuietBeyond(&item.Delivery, ends[i])}
		dk.o.Metrics.HeldBack.WithLabelValues(ch.Key.Channel, b.reason, outcomeOf(&b)).Inc()
		back = append(back, b)
	}
	return items, back
}

// putBackAll has all wait for what could not be asked for a moment.
func putBackAll(list []work.Item) (back []returned) {
	for _, item := range list {
		back = append(back, returned{item: item, reason: state.ReasonDatabase, after: rereadAfter})
	}
	return back
}

// outcomeOf is what becomes of what comes back, as metrics call it.
func outcomeOf(b *returned) string {
	if b.barred != "" {
		return "suppress"
	}
	return "release"
}

// cap leaves out those beyond a cap. A phone that gives back what it was handed, or says that it was not sent, has its permit given back.
func (dk *Desk) cap(ctx context.Context, ch *state.Channel, list []work.Item) (items []work.Item, back []returned) {
	tenants := dk.o.Quiet.Caps(ch.Key.Tenant)
	if len(ch.Settings.Tiers.Caps)+len(tenants) == 0 || len(list) == 0 {
		return list, nil
	}
	asks, tiers := make([]limit.Ask, len(list)), make([][]state.Tier, len(list))
	for i := range list {
		tiers[i] = state.CapsOf(ch.Key, ch.Settings.Tiers.Caps, tenants, &list[i])
		asks[i].Want = 1
		for _, t := range tiers[i] {
			asks[i].Bounds = append(asks[i].Bounds, t.Bound)
		}
	}
	grants, err := dk.o.Limiter.Each(ctx, asks)
	if err != nil {
		dk.o.Log.Warn("the limiter cannot be asked: what was to be handed out is given back", "deliveries", len(list), "error", err)
		return nil, putBackAll(list)
	}
	for i, item := range list {
		g := grants[i]
		if g.N > 0 {
			dk.permits.keepCap(&item.Delivery, g)
			items = append(items, item)
			continue
		}
		b := returned{item: item, reason: state.ReasonCapped, after: max(g.Wait, time.Second)}
		_, b.barred = state.HeldBy(tiers[i], g)
		dk.o.Metrics.HeldBack.WithLabelValues(ch.Key.Channel, b.reason, outcomeOf(&b)).Inc()
		back = append(back, b)
	}
	return items, back
}
