package digest

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// mostTries is how often the text of a collection is tried that cannot be made whatever messages it has, such as by a template that is
// disabled: about a day by the planner's waits. Then it has failed.
const mostTries = 150

// alike is how many of a collection's messages, from the first on, the same rules hold to: what people choose, quiet hours, caps and
// exemptions are by kind, and a text of several kinds has none.
func (r *Composer) alike(ctx context.Context, c *collection, messages []posthouse.Message) (int, error) {
	if _, mixed := kindOf(messages); !mixed || r.Own == nil {
		return len(messages), nil
	}
	var kinds []string
	for i := range messages {
		kinds = append(kinds, messages[i].Kind)
	}
	slices.Sort(kinds)
	own, err := r.Own(ctx, c.Tenant, c.Channel, c.To, slices.Compact(kinds))
	if err != nil {
		return 0, err
	}
	with := func(kind string) string {
		if slices.Contains(own, kind) {
			return kind
		}
		return ""
	}
	n := slices.IndexFunc(messages, func(m posthouse.Message) bool { return with(m.Kind) != with(messages[0].Kind) })
	if n < 0 {
		n = len(messages)
	}
	return n, nil
}

// fitting is how many of a collection's messages, from the first on, fit into one text that is accepted and that the provider takes. 0 says that
// the first has no room in a text of this digest, even alone. why is what is wrong with the digest, whatever messages it has.
func (r *Composer) fitting(ctx context.Context, c *collection, messages []posthouse.Message) (n int, why, err error) {
	if c.Most > 0 {
		messages = messages[:min(c.Most, len(messages))]
	}
	why, err = r.refused(ctx, c, messages)
	if why == nil || err != nil {
		return len(messages), nil, err
	}
	if wrong, err := r.refusedBare(ctx, c, messages[:1]); err != nil || wrong != nil {
		return 0, wrong, err
	}
	// The most that fit: one more than that is refused.
	n = sort.Search(len(messages)-1, func(i int) bool {
		if err != nil {
			return true
		}
		var refused error
		refused, err = r.refused(ctx, c, messages[:i+1])
		return refused != nil
	})
	return n, nil, err
}

// refused is why the text of messages would not be accepted.
func (r *Composer) refused(ctx context.Context, c *collection, messages []posthouse.Message) (why, err error) {
	if r.Trial == nil {
		return nil, nil
	}
	d, err := c.draft(r.newID(), messages)
	if err != nil {
		return nil, err
	}
	return r.Trial.Refused(ctx, c.Tenant, d)
}

// refusedBare is refused with next to nothing in the list: what is wrong then is not the messages.
func (r *Composer) refusedBare(ctx context.Context, c *collection, messages []posthouse.Message) (why, err error) {
	d, err := c.draftOf(r.newID(), "1.", messages)
	if err != nil {
		return nil, err
	}
	return r.Trial.Refused(ctx, c.Tenant, d)
}

// cut puts the first members of a collection into one of their own, which leaves at once: all of them together have no room in one text.
func (r *Composer) cut(ctx context.Context, p work.Plan, of *collection, first []posthouse.Delivery, messages []posthouse.Message) error {
	return r.amend(ctx, p, of, "the collection is cut: look again", func(c *collection, now time.Time) (work.Withdrawal, error) {
		ids := idsOf(first)
		c.again(now)
		own := *c
		own.ID, own.Version, own.CreatedAt = r.newID(), 0, now
		own.Kind, own.Mixed = kindOf(messages[:len(first)])
		c.Kind, c.Mixed = kindOf(messages[len(first):])
		own.Members = nil
		moves := func(m posthouse.CollectionMember) bool { return slices.Contains(ids, m.Delivery) }
		for _, m := range c.Members {
			if moves(m) {
				own.Members = append(own.Members, m)
			}
		}
		c.Members = slices.DeleteFunc(c.Members, moves)
		plan, err := own.plan()
		return work.Withdrawal{IDs: ids, Into: &plan}, err
	})
}

// again has a collection whose moment has come be composed at once, without new members.
func (c *collection) again(now time.Time) {
	c.LeavesAt, c.Closed, c.failures, c.Error = now, true, 0, ""
}

// kindOf is the kind of messages, or that they have several.
func kindOf(messages []posthouse.Message) (kind string, mixed bool) {
	for i := range messages {
		if messages[i].Kind != messages[0].Kind {
			return "", true
		}
	}
	return messages[0].Kind, false
}

// giveUp is why the text of a collection cannot be made, until it was tried for long enough: then the collection has failed, and its members with it.
func (r *Composer) giveUp(ctx context.Context, p work.Plan, of *collection, why error) error {
	if p.Failures < mostTries {
		return why
	}
	return r.amend(ctx, p, of, "the collection has failed", func(c *collection, _ time.Time) (work.Withdrawal, error) {
		lead := &posthouse.Delivery{State: posthouse.Failed, Reason: state.ReasonTemplate, Error: state.Plain(why.Error(), state.MaxError)}
		c.end(posthouse.CollectionSettled)
		c.Outcome, c.Error = posthouse.Failed, lead.Error
		return work.Withdrawal{IDs: c.live(), As: lead}, nil
	})
}
