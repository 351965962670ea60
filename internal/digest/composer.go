package digest

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Digests are the stored digests; version 0 is the latest.
type Digests interface {
	Digest(ctx context.Context, tenant, name string, version int) (posthouse.Digest, error)
}

// Messages are read to be told together.
type Messages interface {
	Delivery(ctx context.Context, tenant, id string) (posthouse.Delivery, error)
	MessagesOf(ctx context.Context, tenant string, deliveries []posthouse.Delivery) (map[string]posthouse.Message, error)
}

// Plans change stored collections.
type Plans interface {
	Collection(ctx context.Context, now time.Time, tenant, id string, decide func(p work.Plan, now time.Time) (next work.Plan, withdraw work.Withdrawal, write bool, err error)) (work.Plan, error)
}

// Trial tries texts before they leave.
type Trial interface {
	// Refused is why a message would not be accepted now, or not be taken by its provider; nil where nothing is known against it.
	Refused(ctx context.Context, tenant string, d posthouse.Draft) (why, err error)
}

// Composer says by what deliveries are gathered, and makes the one delivery of a collection whose moment has come. All fields but those that
// name a default are required.
type Composer struct {
	Digests  Digests
	Messages Messages
	Plans    Plans
	// Zone is where the clock of a cron stands that names none. Defaults to UTC.
	Zone *time.Location
	// Trial tries texts, so that one which is too long leaves as several. Defaults to none: each is taken.
	Trial Trial
	// Own are those of some kinds to which other rules hold, for a recipient on a channel, than to a text of several kinds: one of them is
	// told only with its like. Defaults to none.
	Own func(ctx context.Context, tenant, channel string, to posthouse.Recipient, kinds []string) ([]string, error)
	// Alone is until when a recipient of messages of a kind is left alone on a channel; zero for not. Defaults to never.
	Alone func(ctx context.Context, tenant, channel, kind string, to posthouse.Recipient, deadline, now time.Time) (time.Time, error)
	// Read is a message as its recipient reads it, in the own language. Defaults to the message as it was accepted.
	Read func(ctx context.Context, m *posthouse.Message, to posthouse.Recipient) (*posthouse.Message, error)
	// Log defaults to slog.Default().
	Log *slog.Logger
	// NewID makes the ids of messages and collections. Defaults to posthouse.NewID.
	NewID func() string
}

// Gather is intake.Gatherer's: by what each delivery of a message is gathered. One that does not wait is left out of it. An error of code
// not_found says that there is no such digest.
func (r *Composer) Gather(ctx context.Context, name string, m *posthouse.Message, list []posthouse.Delivery) ([]work.Gathered, error) {
	d, err := r.Digests.Digest(ctx, m.Tenant, name, 0)
	if err != nil {
		return nil, err
	}
	if d.Cron != "" && d.TimeZone == "" && r.Zone != nil {
		d.TimeZone = r.Zone.String()
	}
	out := make([]work.Gathered, len(list))
	for i := range list {
		to := &list[i]
		if to.State != posthouse.Pending || to.Reason != "" || !to.DueAt.IsZero() {
			continue // a rule has decided of it
		}
		if beyond, err := r.beyond(ctx, m, to, time.Now()); err != nil {
			return nil, err
		} else if beyond {
			continue // it is suppressed at once, as without a digest
		}
		by, err := valueOf(d.By, m, to.Recipient)
		if err != nil { // how messages are gathered decides of none: it is gathered with those of no value
			cmp.Or(r.Log, slog.Default()).Warn("the expression of a digest fails: the message is gathered without its value", "tenant", m.Tenant, "digest", d.Name, "message", m.ID, "error", err)
		}
		out[i] = work.Gathered{ID: r.newID(), Digest: d, By: by, Key: keyOf(&d, to.Channel, to.Recipient, by)}
	}
	return out, nil
}

// Compose is intake.Composer's: the delivery of a collection whose moment has come.
func (r *Composer) Compose(ctx context.Context, p work.Plan, now time.Time) ([]posthouse.Draft, work.Plan, error) {
	c, err := read(p)
	if err != nil {
		return nil, p, err
	}
	if c.State != posthouse.CollectionWaiting {
		c.LeavesAt = time.Time{}
		next, err := c.plan()
		return nil, next, err
	}
	there, err := r.waiting(ctx, &c)
	if err != nil {
		return nil, p, err
	}
	switch {
	case len(there) == 0:
		c.end(posthouse.CollectionEmpty)
		next, err := c.plan()
		return nil, next, err
	case len(there) == 1 && !c.Follows.Always:
		return nil, p, r.alone(ctx, p, &c, there)
	}
	found, err := r.Messages.MessagesOf(ctx, p.Tenant, there)
	if err != nil {
		return nil, p, err
	}
	messages := make([]posthouse.Message, len(there))
	for i := range there {
		messages[i] = found[there[i].Message]
	}
	beyond, err := r.allBeyond(ctx, there, messages, now)
	if err != nil {
		return nil, p, err
	}
	if len(beyond) > 0 {
		return nil, p, r.alone(ctx, p, &c, beyond)
	}
	if err := r.read(ctx, &c, messages); err != nil {
		return nil, p, err
	}
	var why error
	n, err := r.alike(ctx, &c, messages)
	if err != nil {
		return nil, p, err
	}
	if n == len(messages) {
		n, why, err = r.fitting(ctx, &c, messages)
	}
	switch {
	case err != nil:
		return nil, p, err
	case why != nil:
		return nil, p, r.giveUp(ctx, p, &c, why)
	case n == 0 || n == 1 && !c.Follows.Always:
		return nil, p, r.alone(ctx, p, &c, there[:1])
	case n < len(there):
		return nil, p, r.cut(ctx, p, &c, there[:n], messages)
	}
	d, err := c.draft(r.newID(), messages)
	if err != nil {
		return nil, p, err
	}
	c.State, c.LeavesAt, c.Closed = posthouse.CollectionLeaving, time.Time{}, true
	c.Delivery, c.Outcome = posthouse.DeliveryID(d.ID, 1), posthouse.Pending
	next, err := c.plan()
	return []posthouse.Draft{d}, next, err
}

// beyond reports whether quiet hours in which now lies last beyond the deadline of a delivery.
func (r *Composer) beyond(ctx context.Context, m *posthouse.Message, d *posthouse.Delivery, now time.Time) (bool, error) {
	if r.Alone == nil || d.Deadline.IsZero() {
		return false, nil
	}
	end, err := r.Alone(ctx, d.Tenant, d.Channel, m.Kind, d.Recipient, d.Deadline, now)
	return err == nil && !end.IsZero() && state.QuietBeyond(d, end) != "", err
}

// allBeyond are those of a collection's deliveries whose deadline comes before the end of quiet hours.
func (r *Composer) allBeyond(ctx context.Context, there []posthouse.Delivery, messages []posthouse.Message, now time.Time) (list []posthouse.Delivery, err error) {
	for i := range there {
		beyond, err := r.beyond(ctx, &messages[i], &there[i], now)
		if err != nil {
			return nil, err
		}
		if beyond {
			list = append(list, there[i])
		}
	}
	return list, nil
}

// read has the messages of a collection read as its recipient does.
func (r *Composer) read(ctx context.Context, c *collection, messages []posthouse.Message) error {
	if r.Read == nil {
		return nil
	}
	for i := range messages {
		m, err := r.Read(ctx, &messages[i], c.To)
		if err != nil {
			return err
		}
		messages[i] = *m
	}
	return nil
}

// waiting are the deliveries of a collection's members that still wait in it. What became of the others is written down.
func (r *Composer) waiting(ctx context.Context, c *collection) (there []posthouse.Delivery, err error) {
	for i := range c.Members {
		m := &c.Members[i]
		if m.Left {
			continue
		}
		d, err := r.Messages.Delivery(ctx, c.Tenant, m.Delivery)
		switch {
		case posthouse.CodeOf(err) == posthouse.CodeNotFound:
			m.Left = true
		case err != nil:
			return nil, err
		case d.State == posthouse.Pending && d.Gathered:
			there = append(there, d)
		default: // a restore holds it for a person
			m.State, m.Left = seen(d.State), true
		}
	}
	return there, nil
}

// alone lets members of a collection go by themselves.
func (r *Composer) alone(ctx context.Context, p work.Plan, of *collection, list []posthouse.Delivery) error {
	return r.amend(ctx, p, of, "a member of the collection goes by itself: look again", func(c *collection, now time.Time) (work.Withdrawal, error) {
		if c.again(now); len(list) == len(c.live()) {
			c.end(posthouse.CollectionAlone)
		}
		return work.Withdrawal{IDs: idsOf(list), Alone: true}, nil
	})
}

// amend changes a collection, as it was read, over the version of its plan. What follows is asked anew: without an error of its own it is one of
// code conflict.
func (r *Composer) amend(ctx context.Context, p work.Plan, of *collection, done string, change func(c *collection, now time.Time) (work.Withdrawal, error)) error {
	_, err := r.Plans.Collection(ctx, time.Now(), p.Tenant, p.ID, func(stored work.Plan, now time.Time) (work.Plan, work.Withdrawal, bool, error) {
		if stored.Version != p.Version {
			return stored, work.Withdrawal{}, false, nil
		}
		c := *of
		c.Members = slices.Clone(of.Members)
		w, err := change(&c, now)
		if err != nil {
			return stored, w, false, err
		}
		next, err := c.plan()
		return next, w, true, err
	})
	if err != nil {
		return err
	}
	return posthouse.Errorf(posthouse.CodeConflict, "%s", done)
}

func idsOf(list []posthouse.Delivery) []string {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids
}

func (r *Composer) newID() string {
	if r.NewID == nil {
		return posthouse.NewID()
	}
	return r.NewID()
}

// draft is what a collection sends, as a message with an id.
func (c *collection) draft(id string, messages []posthouse.Message) (posthouse.Draft, error) {
	list, err := listOf(c.Follows.Line, messages)
	if err != nil {
		return posthouse.Draft{}, err
	}
	return c.draftOf(id, list, messages)
}

// draftOf is draft with a list that is made already.
func (c *collection) draftOf(id, list string, messages []posthouse.Message) (d posthouse.Draft, err error) {
	d = posthouse.Draft{
		ID: id, Channel: c.Channel, To: []posthouse.Recipient{c.To}, Kind: c.Kind, Collection: c.ID, Priority: posthouse.Low, Source: messages[0].Source,
	}
	for i := range messages {
		m := &messages[i]
		if rank(m.Priority) > rank(d.Priority) {
			d.Priority = m.Priority
		}
		if m.Source != d.Source {
			d.Source = ""
		}
	}
	if c.Follows.Template == "" {
		d.Content = c.contentOf(list, messages)
		return d, nil
	}
	d.Template = c.Follows.Template
	d.Payload, err = c.payloadOf(list, messages)
	return d, err
}

func rank(p posthouse.Priority) int {
	return -slices.Index(posthouse.Priorities(), p)
}
