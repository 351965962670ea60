package campaign

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// QuietSegments has the segments that wait for quiet hours.
type QuietSegments interface {
	QuietSegments(ctx context.Context, now time.Time, reason, behind string, max int) ([]work.QuietSegment, error)
	WakeSegment(ctx context.Context, now time.Time, id, reason string, due time.Time) error
}

// Waker has segments come due whose quiet hours end sooner than they did when they were put off.
type Waker struct {
	Segments QuietSegments
	Quiet    *quiet.Keeper
	// Channel is an open channel, nil for none of that name: its hours are not known, and what waits for it waits on.
	Channel func(tenant, name string) *state.Channel
}

// wakePage is how many segments are judged at once.
const wakePage = 1000

// Whom stands for a whole segment when its quiet hours are judged. All its members get the same moment within the spread: one claim then sends to
// all of them.
func Whom(segment, kind string, deadline time.Time, local *time.Location) quiet.Whom {
	return quiet.Whom{Kind: kind, Moment: segment, Local: local, Deadline: deadline}
}

// Wake judges all of them once.
func (w Waker) Wake(ctx context.Context, now time.Time) error {
	for behind := ""; ; {
		list, err := w.Segments.QuietSegments(ctx, now, ReasonQuiet, behind, wakePage)
		if err != nil {
			return err
		}
		for i := range list {
			if err := w.wake(ctx, now, &list[i]); err != nil {
				return err
			}
		}
		if len(list) < wakePage {
			return nil
		}
		behind = list[len(list)-1].ID
	}
}

// wake judges one of them.
func (w Waker) wake(ctx context.Context, now time.Time, s *work.QuietSegment) error {
	ch := w.Channel(s.Tenant, s.Channel)
	if ch == nil {
		return nil
	}
	ends, err := w.Quiet.Until(ctx, s.Tenant, ch.Settings.Quiet, now, []quiet.Whom{Whom(s.ID, s.Kind, s.Deadline, ch.Settings.Location)})
	if err != nil {
		return err
	}
	end := now
	if len(ends) > 0 && !ends[0].IsZero() {
		end = ends[0]
	}
	if s.DueAt.Sub(end) < state.LeastSooner {
		return nil
	}
	return w.Segments.WakeSegment(ctx, time.Now(), s.ID, ReasonQuiet, end)
}
