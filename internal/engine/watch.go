package engine

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// watched is the queue of the roles, which tells of what they settle: whoever settles one wakes the usher of its process.
type watched struct {
	Queue
	settled func(list []posthouse.Delivery)
}

func (w watched) Revise(ctx context.Context, now time.Time, sel work.Selection,
	decide func(now time.Time, found []posthouse.Delivery) []work.Change,
) ([]posthouse.Delivery, error) {
	after, err := w.Queue.Revise(ctx, now, sel, decide)
	w.settled(after)
	return after, err
}
