package read

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Sighted is a reader whose parts keep to what their caller sees (work.SightOf). What is hidden is answered as what is
// not there.
func Sighted(r Reader) Reader {
	m := sightedMessages{r.Messages}
	d := sightedDeliveries{r.Deliveries, m}
	r.Messages, r.Deliveries, r.History = m, d, sightedHistory{r.History, d}
	return r
}

type sightedMessages struct{ under Messages }

func (s sightedMessages) Message(ctx context.Context, tenant, id string) (posthouse.Message, int, error) {
	m, recipients, err := s.under.Message(ctx, tenant, id)
	if err == nil && !work.SightOf(ctx).Covers(m.Channel, m.Kind) {
		return posthouse.Message{}, 0, posthouse.Errorf(posthouse.CodeNotFound, "there is no message %q", id)
	}
	return m, recipients, err
}

func (s sightedMessages) Messages(ctx context.Context, f work.Filter) ([]work.Summary, string, error) {
	f.Sight = work.SightOf(ctx)
	return s.under.Messages(ctx, f)
}

// MessagesOf reads those of deliveries that the caller has been shown.
func (s sightedMessages) MessagesOf(ctx context.Context, tenant string, list []posthouse.Delivery) (map[string]posthouse.Message, error) {
	return s.under.MessagesOf(ctx, tenant, list)
}

type sightedDeliveries struct {
	under    Deliveries
	messages sightedMessages
}

func (s sightedDeliveries) Delivery(ctx context.Context, tenant, id string) (posthouse.Delivery, error) {
	d, err := s.under.Delivery(ctx, tenant, id)
	if err != nil || work.SightOf(ctx).Whole() {
		return d, err
	}
	if _, _, err := s.messages.Message(ctx, tenant, d.Message); err != nil {
		return posthouse.Delivery{}, posthouse.Errorf(posthouse.CodeNotFound, "there is no delivery %q", id)
	}
	return d, nil
}

func (s sightedDeliveries) DeliveriesOf(ctx context.Context, tenant, message, cursor string, limit int) ([]posthouse.Delivery, string, error) {
	if !work.SightOf(ctx).Whole() {
		if _, _, err := s.messages.Message(ctx, tenant, message); err != nil {
			return nil, "", err
		}
	}
	return s.under.DeliveriesOf(ctx, tenant, message, cursor, limit)
}

func (s sightedDeliveries) Deliveries(ctx context.Context, f work.Filter) ([]posthouse.Delivery, string, error) {
	f.Sight = work.SightOf(ctx)
	return s.under.Deliveries(ctx, f)
}

// Stopped is not for those who see a part: its address is closed to them.
func (s sightedDeliveries) Stopped(ctx context.Context, tenant string, state posthouse.State, most int) ([]work.Stopped, error) {
	return s.under.Stopped(ctx, tenant, state, most)
}

type sightedHistory struct {
	History
	deliveries sightedDeliveries
}

// seen is an error where the caller does not see a delivery.
func (s sightedHistory) seen(ctx context.Context, tenant, delivery string) error {
	if work.SightOf(ctx).Whole() {
		return nil
	}
	_, err := s.deliveries.Delivery(ctx, tenant, delivery)
	return err
}

func (s sightedHistory) EventPage(ctx context.Context, tenant, delivery, cursor string, limit int) ([]posthouse.Event, string, error) {
	if err := s.seen(ctx, tenant, delivery); err != nil {
		return nil, "", err
	}
	return s.History.EventPage(ctx, tenant, delivery, cursor, limit)
}

func (s sightedHistory) AttemptPage(ctx context.Context, tenant, delivery, cursor string, limit int) ([]posthouse.Attempt, string, error) {
	if err := s.seen(ctx, tenant, delivery); err != nil {
		return nil, "", err
	}
	return s.History.AttemptPage(ctx, tenant, delivery, cursor, limit)
}
