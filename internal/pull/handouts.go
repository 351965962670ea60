package pull

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// returned is a hand-out that its agent is not shown after all.
type returned struct {
	item   work.Item
	reason string
	why    string
	after  time.Duration // how long it waits then; it is set aside where why is set
	barred string        // why nothing is sent to its address
}

// rereadAfter is the wait after what a delivery reads like could not be found out.
const rereadAfter = time.Second

// handouts are claimed deliveries as an agent sees them, with the contents that are sealed or change with the time.
// asked is when the claim was sent. What cannot be shown is set aside or given back, but for what its agent has
// started: that may have left.
func (dk *Desk) handouts(ctx context.Context, handed work.HandedOut, asked time.Time) []posthouse.Handout {
	list := make([]posthouse.Handout, 0, len(handed.Items))
	items, back := dk.unbarred(ctx, handed)
	if !handed.Repeated {
		var held []returned
		items, held = dk.undisturbed(ctx, items)
		back = append(back, held...)
	}
	if err := dk.o.Contents.Unseal(ctx, items); err != nil {
		dk.o.Log.Warn("sealed contents cannot be read: what was to be handed out is given back", "deliveries", len(items), "error", err)
		for _, item := range items {
			back = append(back, returned{item: item, reason: state.ReasonDatabase, after: rereadAfter})
		}
		items = nil
	}
	if err := dk.o.Contents.Localize(ctx, items); err != nil {
		dk.o.Log.Warn("the languages of recipients cannot be looked up: what was to be handed out is given back", "deliveries", len(items), "error", err)
		for _, item := range items {
			back = append(back, returned{item: item, reason: state.ReasonDatabase, after: rereadAfter})
		}
		items = nil
	}
	for _, item := range items {
		fresh, bad := dk.current(ctx, item)
		if bad.reason != "" {
			back = append(back, bad)
			continue
		}
		item.Message = fresh
		list = append(list, dk.handoutOf(item, asked))
		dk.o.Metrics.Handouts.WithLabelValues(item.Delivery.Channel).Inc()
	}
	dk.putBack(slices.DeleteFunc(back, func(b returned) bool { return handed.Repeated && !b.item.Delivery.StartedAt.IsZero() }))
	return list
}

// unbarred leaves out those to whose addresses nothing is sent, and says why. What its agent is shown once more stays: it may
// have left.
func (dk *Desk) unbarred(ctx context.Context, handed work.HandedOut) (items []work.Item, back []returned) {
	if handed.Repeated {
		return handed.Items, nil
	}
	for rest := handed.Items; len(rest) > 0; {
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
		barred, err := dk.o.Sieve.Items(ctx, ch, work.Each(part))
		if err != nil {
			dk.o.Log.Warn("suppressions and preferences cannot be looked up: what was to be handed out is given back", "deliveries", n, "error", err)
		}
		for i, item := range part {
			switch b, is := barred[i]; {
			case err != nil:
				back = append(back, returned{item: item, reason: state.ReasonDatabase, after: rereadAfter})
			case is:
				back = append(back, returned{item: item, reason: b.Reason, barred: b.Why})
			default:
				items = append(items, item)
			}
		}
	}
	return items, back
}

// current is the message of a hand-out as it reads now, or why it cannot be shown.
func (dk *Desk) current(ctx context.Context, item work.Item) (*posthouse.Message, returned) {
	if why := state.Unreadable(item); why != "" {
		return nil, returned{item: item, reason: state.ReasonUnreadable, why: why}
	}
	if item.Message.Clock == nil && item.Language == "" {
		return item.Message, returned{}
	}
	fresh, wrong, err := dk.o.Contents.Fresh(ctx, item.Message, item.Language, cmp.Or(item.Delivery.StartedAt, dk.o.Life.Now()))
	switch {
	case err != nil:
		dk.o.Log.Warn("a template cannot be read: what it fills is given back", "channel", item.Message.Channel, "message", item.Message.ID, "error", err)
		return nil, returned{item: item, reason: state.ReasonDatabase, after: rereadAfter}
	case wrong != "":
		return nil, returned{item: item, reason: state.ReasonTemplate, why: wrong}
	}
	return fresh, returned{}
}

// handoutOf is one delivery as an agent sees it. What is left of its lease is counted from before the claim was sent:
// it can only end later.
func (dk *Desk) handoutOf(item work.Item, asked time.Time) posthouse.Handout {
	d, m := &item.Delivery, item.Message
	to, lease := d.Recipient, state.DefaultHold
	if r := dk.o.Channels.Channel(d.Tenant, d.Channel); r != nil {
		to, lease = r.Addressed(to), r.Settings.Timeout
	}
	h := posthouse.Handout{
		Delivery: d.ID, Token: d.Token, IdemKey: d.IdemKey, Message: d.Message, Channel: d.Channel, Kind: m.Kind, Ref: m.Ref,
		Priority: d.Priority, Recipient: to, Content: m.Content, Template: m.Template, Payload: m.Payload, Sensitive: m.Sensitive,
		Attempt: d.Attempts, Started: !d.StartedAt.IsZero(), Deadline: d.Deadline, LeaseUntil: d.LeaseUntil,
	}
	if !h.Started {
		h.Attempt++
	}
	left := min(lease-time.Since(asked), d.LeaseUntil.Sub(dk.o.Life.Now()))
	h.LeaseMillis = max(0, left.Milliseconds())
	return h
}

// putBack returns what no agent has seen: it waits for another claim, or for a person.
func (dk *Desk) putBack(list []returned) {
	if len(list) == 0 {
		return
	}
	_, err := dk.o.HandOuts.Record(dk.o.Life.Context(), time.Now(), func(now time.Time) []work.Change {
		changes := make([]work.Change, len(list))
		for i, b := range list {
			d := b.item.Delivery
			switch {
			case b.barred != "":
				changes[i] = state.AfterNotSent(dk.o.Channels.Settings(state.Key{Tenant: d.Tenant, Channel: d.Channel}), d, b.reason, b.barred, now)
			case b.why != "":
				changes[i] = state.AfterQuarantine(d, b.reason, b.why)
			default:
				changes[i] = state.AfterGivenBack(d, b.reason, "", now.Add(b.after))
			}
		}
		return changes
	})
	if err != nil {
		dk.o.Log.Warn("what was not handed out waits for its lease to end", "deliveries", len(list), "error", err)
		return
	}
	back := make([]posthouse.Delivery, len(list))
	for i := range list {
		back[i] = list[i].item.Delivery
	}
	dk.Returned(back)
}
