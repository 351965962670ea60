package posthouse

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
)

// The drivers of trials: the one that calls the trial's handler, and our own for HTTP providers.
const (
	handlerDriver = "handler"
	httpDriver    = "httpapi"
)

// drivers are those that ship, the one for HTTP with a counter around it, and the one that calls the handler.
func (q *Queue) drivers() []channel.Type {
	types := builtin.Types()
	for i, t := range types {
		if t.Name == httpDriver {
			types[i].Open = func(c channel.Config, env channel.Env) (channel.Driver, error) {
				d, err := t.Open(c, env)
				return counted{d, &q.sent}, err
			}
		}
	}
	return append(types, channel.Type{
		Name: handlerDriver, Title: "Handler", Doc: "Calls a function.", MaxBatch: 1, Window: channel.Forever,
		Open: func(channel.Config, channel.Env) (channel.Driver, error) {
			return counted{handler{q}, &q.sent}, nil
		},
	})
}

// counted counts the sends of a driver.
type counted struct {
	channel.Driver
	sent *atomic.Int64
}

// Send sends, and counts.
func (c counted) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	defer c.sent.Add(1)
	return c.Driver.Send(ctx, out)
}

// Close closes the driver, where it holds something.
func (c counted) Close() error {
	if d, ok := c.Driver.(io.Closer); ok {
		return d.Close()
	}
	return nil
}

type handler struct{ *Queue }

// Send calls the handler.
func (h handler) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	if err := h.handling.Handle(ctx, out.Content.Text); err != nil {
		return channel.Result{Class: posthouse.ClassTransient, Error: err.Error()}
	}
	return channel.Result{Class: posthouse.ClassOK}
}
