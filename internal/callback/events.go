package callback

import (
	"cmp"
	"context"
	"encoding/hex"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Bounds of what an event says: its lists, in entries, and its texts, in bytes.
const (
	mostSaid  = 64
	longWord  = 128
	longText  = 1 << 10
	unnamed   = "event"                                                             // one whose name no reader could take
	nameChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-." // of an event
)

// tell hands on what a provider told that is no receipt. answer is what the provider is answered where a press counts for nothing, or what was pressed
// is over; empty for what it is answered always.
func (d *Desk) tell(ctx context.Context, whose work.CallbackAddress, events []channel.Event, now time.Time) (answer string, err error) {
	list := make([]work.Told, len(events))
	for i := range events {
		e := &events[i]
		mark := markOf(whose.Address, e.Once)
		list[i] = work.Told{ID: hex.EncodeToString(mark[:]), FeedEvent: posthouse.FeedEvent{
			Tenant: whose.Tenant, Channel: whose.Channel, Account: whose.Account, Callback: bounded(&e.CallbackEvent),
		}}
		if err := d.find(ctx, e.Delivery, &list[i].FeedEvent); err != nil {
			return "", err
		}
		if d.o.Pressed == nil {
			continue
		}
		over, err := d.o.Pressed(ctx, whose.Tenant, &list[i].FeedEvent)
		if over {
			answer = e.Over
		}
		switch posthouse.CodeOf(err) {
		case posthouse.CodeForbidden:
			answer, err = e.Refusal, nil
		case posthouse.CodeNotFound:
			answer, err = e.Void, nil
		}
		if err != nil {
			return "", err
		}
	}
	told, err := d.o.Feed.Tell(ctx, now, list)
	if err != nil {
		return "", err
	}
	d.events.WithLabelValues(whose.Channel, "told").Add(float64(told))
	d.events.WithLabelValues(whose.Channel, "dropped").Add(float64(len(list) - told))
	return answer, nil
}

// find says which message an event is about, and, among the deliveries of its call, that of who has done something. A message of
// another channel, or one that is not ours, is not it.
func (d *Desk) find(ctx context.Context, first string, e *posthouse.FeedEvent) error {
	if d.o.Messages == nil || !posthouse.ValidID(first) {
		return nil
	}
	m, _, err := d.o.Messages.Message(ctx, e.Tenant, posthouse.MessageID(first))
	if posthouse.CodeOf(err) == posthouse.CodeNotFound || err == nil && m.Channel != e.Channel {
		return nil
	}
	if err != nil {
		return err
	}
	e.Message, e.Kind, e.Ref = m.ID, m.Kind, m.Ref
	for cursor := ""; ; {
		list, next, err := d.o.Messages.DeliveriesOf(ctx, e.Tenant, m.ID, cursor, 1000)
		if err != nil {
			return err
		}
		for i := range list {
			if strings.EqualFold(cmp.Or(list[i].Address, list[i].User), e.Callback.Address) {
				e.Delivery, e.User = list[i].ID, list[i].User
				return nil
			}
		}
		if cursor = next; next == "" {
			return nil // of a department, or of all
		}
	}
}

// plainly is what was sent back, as every database can take it.
func plainly(in channel.Inbound, now time.Time) channel.Inbound {
	in.IdemKey, in.Address, in.ID = state.Plain(in.IdemKey, longWord), state.Plain(in.Address, state.MaxRef), state.Plain(in.ID, longText)
	in.Text = state.Plain(in.Text, longText)
	if in.At.IsZero() {
		in.At = now
	}
	return in
}

// bounded is an event that every database and every reader can take.
func bounded(in *posthouse.CallbackEvent) *posthouse.CallbackEvent {
	word := func(s string) string { return state.Plain(s, longWord) }
	out := &posthouse.CallbackEvent{
		Event: in.Event, Address: word(in.Address), At: in.At, Key: state.Plain(in.Key, longText), TaskID: word(in.TaskID),
		CardType: word(in.CardType), ResponseCode: state.Plain(in.ResponseCode, longText),
	}
	if out.Event == "" || len(out.Event) > longWord || strings.Trim(out.Event, nameChars) != "" {
		out.Event = unnamed
	}
	for _, s := range in.Selected[:min(len(in.Selected), mostSaid)] {
		chosen := posthouse.Selection{Question: word(s.Question), Options: []string{}}
		for _, o := range s.Options[:min(len(s.Options), mostSaid)] {
			chosen.Options = append(chosen.Options, word(o))
		}
		out.Selected = append(out.Selected, chosen)
	}
	for name, text := range in.Fields {
		if len(out.Fields) == mostSaid {
			break
		}
		if out.Fields == nil {
			out.Fields = map[string]string{}
		}
		out.Fields[word(name)] = state.Plain(text, longText)
	}
	return out
}
