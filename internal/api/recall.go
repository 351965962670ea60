package api

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/inquire"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// recall cancels what has not started of a message, and has taken back what was sent.
func (m messages) recall(c *web.Call) (wire.Recalled, error) {
	if _, err := m.cancelOne(c); err != nil {
		return wire.Recalled{}, err
	}
	out := wire.Recalled{Deliveries: []wire.Recall{}}
	list, beyond, err := m.recallable(c)
	if err != nil {
		return out, err
	}
	done, left, err := m.recalls.Recall(c.Context(), c.Tenant(), list)
	if err != nil {
		return out, err
	}
	out.Remaining = left + beyond
	for i := range done {
		w := &done[i]
		switch w.Outcome {
		case string(channel.RecallDone):
			out.Recalled++
		case inquire.RecallUnable:
			out.NotSupported++
		case string(channel.RecallLate):
			out.TooLate++
		case string(channel.RecallRefused):
			out.Failed++
		case inquire.RecallNotSent:
			out.NotSent++
		default:
			out.Unknown++
		}
		out.Deliveries = append(out.Deliveries, wire.Recall{
			Delivery: w.ID, User: w.User, Channel: w.Channel, Outcome: w.Outcome, Code: w.Code, Error: w.Error, State: w.State,
		})
	}
	c.Affected(out.Recalled + out.NotSent)
	return out, nil
}

// recallable are the deliveries of a message that one request looks at, and how many others there are. Those of which there is something
// to do come first.
func (m messages) recallable(c *web.Call) (list []posthouse.Delivery, beyond int, err error) {
	var ended []posthouse.Delivery
	add := func(d *posthouse.Delivery) {
		switch {
		case inquire.Settled(d):
			if len(ended) < inquire.MaxRecalls {
				ended = append(ended, *d)
			}
		case len(list) < inquire.MaxRecalls:
			list = append(list, *d)
		default:
			beyond++
		}
	}
	message := c.PathValue("id")
	if found, _, err := m.read.Messages.Message(c.Context(), c.Viewer(), message); err == nil {
		err = m.read.Each(c.Context(), c.Viewer(), found.ID, add)
		return append(list, ended[:min(len(ended), inquire.MaxRecalls-len(list))]...), beyond, err
	}
	err = each(c, m.told, func(n *posthouse.Notification) error {
		for i := range n.Deliveries {
			d, err := m.read.Deliveries.Delivery(c.Context(), c.Viewer(), n.Deliveries[i].ID)
			if posthouse.CodeOf(err) == posthouse.CodeNotFound {
				continue
			}
			if err != nil {
				return err
			}
			add(&d)
		}
		return nil
	})
	return append(list, ended[:min(len(ended), inquire.MaxRecalls-len(list))]...), beyond, err
}
