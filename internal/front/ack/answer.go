package ack

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/work"
)

// Deliveries are looked up by what an answer names.
type Deliveries interface {
	Delivery(ctx context.Context, tenant, id string) (posthouse.Delivery, error)
}

// vias are the ways of answers.
var vias = map[channel.InboundWay]posthouse.AckVia{channel.InboundMail: posthouse.AckMail, channel.InboundSMS: posthouse.AckSMS, channel.InboundVoice: posthouse.AckVoice}

// means reports whether an answer says that its sender has taken note: any mail that a person wrote.
func means(in *channel.Inbound) bool {
	return !in.Automatic && in.Way == channel.InboundMail
}

// Answered acknowledges a notification where its recipient has answered one of its deliveries. The delivery says which person that is, and
// the answer only counts where it comes from the delivery's address: whatever a stranger writes acknowledges nothing.
func (l *Links) Answered(ctx context.Context, tenant, name string, in channel.Inbound) error {
	log := l.Log.With("tenant", tenant, "channel", name, "way", in.Way, "address", in.Address, "answers", in.IdemKey)
	if !means(&in) {
		log.Info("an answer acknowledges nothing by what it says, or a program wrote it", "automatic", in.Automatic)
		return nil
	}
	d, err := l.Deliveries.Delivery(ctx, tenant, in.IdemKey)
	switch {
	case posthouse.CodeOf(err) == posthouse.CodeNotFound || err == nil && d.Channel != name:
		log.Warn("an answer names no delivery of its channel")
		return nil
	case err != nil:
		return err
	case in.Address != "" && !strings.EqualFold(in.Address, d.Address):
		log.Warn("an answer comes from another address than it was sent to: it acknowledges nothing", "delivery", d.ID, "sent_to", d.Address)
		return nil
	case d.Notification == "":
		return nil // of no route: there is nothing to acknowledge
	}
	return l.answered(ctx, &d, &in)
}

func (l *Links) answered(ctx context.Context, d *posthouse.Delivery, in *channel.Inbound) error {
	by := d.User
	if by == "" {
		by = d.Address
	}
	evidence := map[string]string{"channel": d.Channel, "delivery": d.ID, "address": in.Address, "text": in.Text, "at": in.At.UTC().Format(time.RFC3339), "id": in.ID}
	return l.acknowledge(ctx, d.Tenant, d.Notification, by, vias[in.Way], evidence)
}

// acknowledge writes down the first word about a notification that was not cancelled. One that was pruned is passed over.
func (l *Links) acknowledge(ctx context.Context, tenant, notification, by string, via posthouse.AckVia, evidence map[string]string) error {
	for name, text := range evidence {
		if text == "" {
			delete(evidence, name)
		}
	}
	kept, err := json.Marshal(evidence)
	if err != nil {
		return err
	}
	v := work.Viewer{Tenant: tenant, Sight: work.SeeAll()}
	n, err := l.Book.Get(ctx, v, notification)
	if err == nil && n.Ack == nil && n.Reason != "cancelled" {
		_, err = l.Book.Acknowledge(ctx, v, notification, by, via, kept)
	}
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return nil
	}
	if err == nil && n.Ack == nil {
		l.Log.Info("a notification was acknowledged", "tenant", tenant, "notification", notification, "by", by, "via", via)
	}
	return err
}
