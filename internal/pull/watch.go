package pull

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// watchedHeld is what agents hold.
type watchedHeld struct {
	Held
	settled func(list []posthouse.Delivery)
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
	Words
	settled func(list []posthouse.Delivery)
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
