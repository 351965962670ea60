package engine

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/inquire"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/work"
)

// settled is told how deliveries stand that were changed: whoever settles one wakes the usher of its process.
type settled func(list []posthouse.Delivery)

// watched is the queue of the roles, which tells of what they settle.
type watched struct {
	Queue
	settled settled
}

func (w watched) Revise(ctx context.Context, now time.Time, sel work.Selection,
	decide func(now time.Time, found []posthouse.Delivery) []work.Change,
) ([]posthouse.Delivery, error) {
	after, err := w.Queue.Revise(ctx, now, sel, decide)
	w.settled(after)
	return after, err
}

// watchedHeld is what agents hold.
type watchedHeld struct {
	pull.Held
	settled settled
}

func (w watchedHeld) Revise(ctx context.Context, now time.Time, sel work.Selection,
	decide func(now time.Time, found []posthouse.Delivery) []work.Change,
) ([]posthouse.Delivery, error) {
	after, err := w.Held.Revise(ctx, now, sel, decide)
	w.settled(after)
	return after, err
}

// watchedWords is what agents say.
type watchedWords struct {
	pull.Words
	settled settled
}

func (w watchedWords) Report(ctx context.Context, now time.Time, list []work.Report,
	decide func(now time.Time, r *work.Report, known work.Known) *work.Change,
) ([]work.Report, error) {
	after, err := w.Words.Report(ctx, now, list, decide)
	ends := make([]posthouse.Delivery, 0, len(after))
	for i := range after {
		if r := &after[i]; r.State != "" && !r.State.Open() {
			ends = append(ends, posthouse.Delivery{Message: posthouse.MessageID(r.Delivery), State: r.State})
		}
	}
	w.settled(ends)
	return after, err
}

// watchedReceipts are those that providers are asked for.
type watchedReceipts struct {
	inquire.Receipts
	settled settled
}

func (w watchedReceipts) Receive(ctx context.Context, now time.Time, ids []string, decide func(now time.Time, found []posthouse.Delivery) work.Learnt) error {
	var ends []posthouse.Delivery
	err := w.Receipts.Receive(ctx, now, ids, func(now time.Time, found []posthouse.Delivery) work.Learnt {
		learnt := decide(now, found)
		ends = ends[:0]
		for i := range learnt.Changes {
			if c := &learnt.Changes[i]; c.Before.State.Open() {
				ends = append(ends, c.After)
			}
		}
		return learnt
	})
	w.settled(ends)
	return err
}
