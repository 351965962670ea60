package read

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Reader reads what is shown, as far as each caller sees it.
type Reader struct {
	Messages   Messages
	Deliveries Deliveries
	History    History
	explainer  Explainer
}

// New is a reader of what is stored.
func New(messages StoredMessages, deliveries StoredDeliveries, history StoredHistory, explainer Explainer) Reader {
	m := Messages{messages}
	d := Deliveries{deliveries, m}
	return Reader{Messages: m, Deliveries: d, History: History{history, d}, explainer: explainer}
}

// Explainer says why a delivery waits.
type Explainer interface {
	Explain(ctx context.Context, d posthouse.Delivery) engine.Explanation
}

// most is how many deliveries or lines are read at once.
const most = 1000

// Message reads a message with a page of its deliveries. What was told for a duplicate leads to the message it is
// one of.
func (r Reader) Message(ctx context.Context, v work.Viewer, id, cursor string, limit int) (wire.Message, error) {
	m, recipients, err := r.Messages.Message(ctx, v, id)
	if err != nil {
		return wire.Message{}, err
	}
	out := wire.Message{Message: Hidden(m), Recipients: recipients}
	if out.Deliveries, out.Next, err = r.Deliveries.DeliveriesOf(ctx, v, m.ID, cursor, limit); err != nil {
		return out, err
	}
	out.Counts, err = r.Counts(ctx, v, m.ID)
	return out, err
}

// mostStopped bounds how many deliveries are counted for one look.
const mostStopped = 10_000

// Stopped counts what is in a state by channel and reason, of the newest.
func (r Reader) Stopped(ctx context.Context, v work.Viewer, state posthouse.State) (wire.Stopped, error) {
	list, err := r.Deliveries.Stopped(ctx, v, state, mostStopped)
	out := wire.Stopped{Groups: make([]wire.StoppedGroup, len(list))}
	for i, g := range list {
		out.Groups[i] = wire.StoppedGroup{Channel: g.Channel, Reason: g.Reason, N: g.Count}
		out.Looked += g.Count
	}
	out.More = out.Looked == mostStopped
	return out, err
}

// List lists messages, newest first.
func (r Reader) List(ctx context.Context, f work.Filter) (wire.Page[wire.Message], error) {
	gather := Gather[work.Summary]
	if f.Look > 0 {
		gather = Looked[work.Summary]
	}
	list, next, err := gather(f.Cursor, f.Limit, weight, func(cursor string, limit int) ([]work.Summary, string, error) {
		f.Cursor, f.Limit = cursor, limit
		return r.Messages.Messages(ctx, f)
	})
	out := wire.Page[wire.Message]{Items: make([]wire.Message, len(list)), Next: next}
	for i, s := range list {
		out.Items[i] = wire.Message{Message: Hidden(s.Message), Recipients: s.Recipients, Counts: wire.Counts(s.Counts)}
	}
	return out, err
}

// weight is about what a message takes in an answer.
func weight(s *work.Summary) int { return weightOf(&s.Message) }

func weightOf(m *posthouse.Message) int {
	const frame = 512 // its names and numbers
	return frame + len(m.Content.Title) + len(m.Content.Text) + len(m.Payload)
}

// Told lists deliveries with their messages.
func (r Reader) Told(ctx context.Context, f work.Filter) (list []Told, next string, err error) {
	return Gather(f.Cursor, f.Limit, func(t *Told) int { return weightOf(&t.Message) }, func(cursor string, limit int) ([]Told, string, error) {
		f.Cursor, f.Limit = cursor, limit
		found, next, err := r.Deliveries.Deliveries(ctx, f)
		if err != nil {
			return nil, "", err
		}
		messages, err := r.Messages.MessagesOf(ctx, work.Viewer{Tenant: f.Tenant, Sight: f.Sight}, found)
		told := make([]Told, len(found))
		for i := range found {
			told[i] = Told{found[i], messages[found[i].Message]}
		}
		return told, next, err
	})
}

// Told is a delivery with its message.
type Told struct {
	Delivery posthouse.Delivery
	Message  posthouse.Message
}

// Counts says how the deliveries of a message stand.
func (r Reader) Counts(ctx context.Context, v work.Viewer, message string) (wire.Counts, error) {
	counts := wire.Counts{}
	err := r.Each(ctx, v, message, func(d *posthouse.Delivery) { counts[d.State]++ })
	return counts, err
}

// Each visits all deliveries of a message.
func (r Reader) Each(ctx context.Context, v work.Viewer, message string, visit func(d *posthouse.Delivery)) error {
	for cursor := ""; ; {
		list, next, err := r.Deliveries.DeliveriesOf(ctx, v, message, cursor, most)
		if err != nil {
			return err
		}
		for i := range list {
			visit(&list[i])
		}
		if next == "" {
			return nil
		}
		cursor = next
	}
}

// Explain says why a delivery waits and until when, or why it ended as it did.
func (r Reader) Explain(ctx context.Context, v work.Viewer, id string) (wire.Explanation, error) {
	d, err := r.Deliveries.Delivery(ctx, v, id)
	if err != nil {
		return wire.Explanation{}, err
	}
	x := r.explainer.Explain(ctx, d)
	out := wire.Explanation{Delivery: x.Delivery, State: x.State, Summary: x.Summary, Waits: make([]wire.Wait, len(x.Waits)), Notes: x.Notes}
	for i, w := range x.Waits {
		out.Waits[i] = wire.Wait(w)
	}
	return out, nil
}
