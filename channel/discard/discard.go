// Package discard is the driver that accepts everything and sends nothing: for benchmarks, where
// it shows what the engine costs, and for dry runs.
package discard

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// Type describes the driver.
func Type() channel.Type {
	return channel.Type{
		Name:  "discard",
		Title: "Discard", TitleZH: "丢弃",
		Doc:      "Accepts every message and sends nothing: for benchmarks and dry runs.",
		DocZH:    "接收所有消息但不发送，用于压测和演练。",
		MaxBatch: 1000,
		Window:   channel.Forever, // nothing can arrive twice
		Open: func(channel.Config, channel.Env) (channel.Driver, error) {
			return driver{}, nil
		},
	}
}

type driver struct{}

// Send accepts.
func (driver) Send(context.Context, channel.Outgoing) channel.Result {
	return channel.Result{Class: posthouse.ClassOK}
}

// SendBatch accepts all.
func (driver) SendBatch(_ context.Context, outs []channel.Outgoing) []channel.Result {
	return slices.Repeat([]channel.Result{{Class: posthouse.ClassOK}}, len(outs))
}
