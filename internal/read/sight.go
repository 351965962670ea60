package read

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// StoredMessages are messages as they are stored, for every viewer.
type StoredMessages interface {
	Message(ctx context.Context, tenant, id string) (m posthouse.Message, recipients int, err error)
	// Messages keeps to the sight of its filter.
	Messages(ctx context.Context, f work.Filter) (list []work.Summary, next string, err error)
	MessagesOf(ctx context.Context, tenant string, deliveries []posthouse.Delivery) (map[string]posthouse.Message, error)
}

// StoredDeliveries are deliveries as they are stored, for every viewer.
type StoredDeliveries interface {
	Delivery(ctx context.Context, tenant, id string) (posthouse.Delivery, error)
	DeliveriesOf(ctx context.Context, tenant, message, cursor string, limit int) (list []posthouse.Delivery, next string, err error)
	// Deliveries keeps to the sight of its filter.
	Deliveries(ctx context.Context, f work.Filter) (list []posthouse.Delivery, next string, err error)
	Stopped(ctx context.Context, tenant string, state posthouse.State, most int) ([]work.Stopped, error)
}

// StoredHistory is what became of deliveries as it is stored, for every viewer.
type StoredHistory interface {
	EventPage(ctx context.Context, tenant, delivery, cursor string, limit int) (list []posthouse.Event, next string, err error)
	AttemptPage(ctx context.Context, tenant, delivery, cursor string, limit int) (list []posthouse.Attempt, next string, err error)
	Log(ctx context.Context, f work.LogFilter) (list []work.Line, next string, err error)
}

// Messages reads messages as far as a viewer sees them, as they may be shown. What is hidden is answered as what is not there.
type Messages struct{ stored StoredMessages }

// Message is one, and how many recipients it has.
func (s Messages) Message(ctx context.Context, v work.Viewer, id string) (posthouse.Message, int, error) {
	m, recipients, err := s.stored.Message(ctx, v.Tenant, id)
	if err == nil && !v.Sight.Covers(m.Channel, m.Kind) {
		return posthouse.Message{}, 0, posthouse.Errorf(posthouse.CodeNotFound, "there is no message %q", id)
	}
	return Hidden(m), recipients, err
}

// Messages lists what a filter selects of what it sees.
func (s Messages) Messages(ctx context.Context, f work.Filter) ([]work.Summary, string, error) {
	list, next, err := s.stored.Messages(ctx, f)
	for i := range list {
		list[i].Message = Hidden(list[i].Message)
	}
	return list, next, err
}

// MessagesOf reads those of deliveries; one that is not there, or is hidden, is missing.
func (s Messages) MessagesOf(ctx context.Context, v work.Viewer, deliveries []posthouse.Delivery) (map[string]posthouse.Message, error) {
	found, err := s.stored.MessagesOf(ctx, v.Tenant, deliveries)
	for id, m := range found {
		if !v.Sight.Covers(m.Channel, m.Kind) {
			delete(found, id)
			continue
		}
		found[id] = Hidden(m)
	}
	return found, err
}

// Deliveries reads deliveries as far as a viewer sees them, as they may be shown.
type Deliveries struct {
	stored   StoredDeliveries
	messages Messages
}

// Delivery is one.
func (s Deliveries) Delivery(ctx context.Context, v work.Viewer, id string) (posthouse.Delivery, error) {
	d, err := s.stored.Delivery(ctx, v.Tenant, id)
	HideDelivery(&d)
	if err != nil || v.Sight.Whole() {
		return d, err
	}
	if _, _, err := s.messages.Message(ctx, v, d.Message); err != nil {
		return posthouse.Delivery{}, posthouse.Errorf(posthouse.CodeNotFound, "there is no delivery %q", id)
	}
	return d, nil
}

// DeliveriesOf reads those of a message.
func (s Deliveries) DeliveriesOf(ctx context.Context, v work.Viewer, message, cursor string, limit int) ([]posthouse.Delivery, string, error) {
	if !v.Sight.Whole() {
		if _, _, err := s.messages.Message(ctx, v, message); err != nil {
			return nil, "", err
		}
	}
	list, next, err := s.stored.DeliveriesOf(ctx, v.Tenant, message, cursor, limit)
	each(list, HideDelivery)
	return list, next, err
}

// Deliveries lists what a filter selects of what it sees.
func (s Deliveries) Deliveries(ctx context.Context, f work.Filter) ([]posthouse.Delivery, string, error) {
	list, next, err := s.stored.Deliveries(ctx, f)
	each(list, HideDelivery)
	return list, next, err
}

// Stopped counts over all channels and kinds, so it counts nothing for a viewer that sees a part.
func (s Deliveries) Stopped(ctx context.Context, v work.Viewer, state posthouse.State, most int) ([]work.Stopped, error) {
	if !v.Sight.Whole() {
		return nil, nil
	}
	return s.stored.Stopped(ctx, v.Tenant, state, most)
}

// History reads what became of deliveries that a viewer sees, as it may be shown.
type History struct {
	stored     StoredHistory
	deliveries Deliveries
}

// seen is an error where the viewer does not see a delivery.
func (s History) seen(ctx context.Context, v work.Viewer, delivery string) error {
	if v.Sight.Whole() {
		return nil
	}
	_, err := s.deliveries.Delivery(ctx, v, delivery)
	return err
}

// EventPage is a page of the events of a delivery.
func (s History) EventPage(ctx context.Context, v work.Viewer, delivery, cursor string, limit int) ([]posthouse.Event, string, error) {
	if err := s.seen(ctx, v, delivery); err != nil {
		return nil, "", err
	}
	list, next, err := s.stored.EventPage(ctx, v.Tenant, delivery, cursor, limit)
	each(list, HideEvent)
	return list, next, err
}

// AttemptPage is a page of the attempts of a delivery.
func (s History) AttemptPage(ctx context.Context, v work.Viewer, delivery, cursor string, limit int) ([]posthouse.Attempt, string, error) {
	if err := s.seen(ctx, v, delivery); err != nil {
		return nil, "", err
	}
	list, next, err := s.stored.AttemptPage(ctx, v.Tenant, delivery, cursor, limit)
	each(list, HideAttempt)
	return list, next, err
}

// Log is a page of a log, newest first: for a viewer that sees a part, of one delivery alone.
func (s History) Log(ctx context.Context, f work.LogFilter) ([]work.Line, string, error) {
	if err := s.seen(ctx, work.Viewer{Tenant: f.Tenant, Sight: f.Sight}, f.Delivery); err != nil {
		return nil, "", err
	}
	list, next, err := s.stored.Log(ctx, f)
	each(list, hideLine)
	return list, next, err
}
