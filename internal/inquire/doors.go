// Package inquire asks providers about deliveries that were handed to them: whether one arrived of which nobody knows, and what
// became of those that they accepted. It decides nothing; what follows from an answer is said by the package state.
package inquire

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Channels are those that can be asked.
type Channels interface {
	// Ask is a channel for a question to its driver, nil where it is not open. The driver stays open until done is called.
	Ask(tenant, channel string) (c *state.Channel, done func())
	// Settings are a channel's, or cautious ones where it is not open.
	Settings(k state.Key) *state.Settings
}

// Reviser locks deliveries and decides on them.
type Reviser interface {
	Revise(ctx context.Context, now time.Time, sel work.Selection,
		decide func(now time.Time, found []posthouse.Delivery) []work.Change) ([]posthouse.Delivery, error)
}

// Messages are those that deliveries belong to.
type Messages interface {
	Message(ctx context.Context, tenant, id string) (posthouse.Message, int, error)
}

// Receipts is what the tracker asks providers about.
type Receipts interface {
	Awaited(ctx context.Context, now time.Time, max int, hold time.Duration) ([]work.Awaited, error)
	Receive(ctx context.Context, now time.Time, ids []string, decide func(now time.Time, found []posthouse.Delivery) work.Learnt) error
}

// Doors are the way to drivers.
type Doors struct {
	Channels Channels
	// Bounded lets a driver do something until end, and reports whether it came back, at most grace later.
	Bounded func(end time.Time, grace time.Duration, do func(ctx context.Context)) bool
	Life    *life.Life
	Log     *slog.Logger
	Every   time.Duration // between two looks
	Grace   time.Duration // how long after its time-out a driver may come back
}
