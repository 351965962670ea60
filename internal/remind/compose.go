package remind

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// A message is worth sending until the next slot, so that no two of a reminder ever wait. With MissedExpire
// it is for a minute at most. With MissedCollapse the last one has as long as if there were another, but no
// less than five minutes.
const (
	expireAfter   = time.Minute
	leastCollapse = 5 * time.Minute
)

// Audience finds out who is told when a slot comes, of reminders that name a task instead of recipients.
type Audience interface {
	// Recipients may be nobody for now. False ends the reminder: what it was about is over.
	Recipients(ctx context.Context, r posthouse.Reminder) ([]posthouse.Recipient, bool, error)
}

// Composer makes the messages of reminders when the engine's planner asks for them.
type Composer struct {
	// Audience is asked about reminders with a task. Defaults to none: then these are put off.
	Audience Audience
	// Campaigns makes and starts campaigns. Defaults to none: then reminders that start some are put off.
	Campaigns Campaigns
	// Epoch is the epoch of the database. Defaults to 0.
	Epoch func() int64
}

// Compose makes a message of the slot that has come, and says when the next one does. Of several that came
// while nothing could be sent, the last stands for all; it is dropped too when it is too late for it.
func (c Composer) Compose(ctx context.Context, p work.Plan, now time.Time) ([]posthouse.Draft, work.Plan, error) {
	r, err := Read(p)
	if err != nil {
		return nil, p, err
	}
	if r.State != posthouse.ReminderOpen || r.Paused || r.NextAt.After(now) {
		return nil, Plan(r), nil
	}
	slots, err := calendarOf(&r)
	if err != nil {
		return nil, p, err
	}
	if r.Campaign != nil {
		return c.campaign(ctx, r, &slots, now)
	}
	come := r.Slots
	slot := slots.pass(&r, now)
	last := posthouse.Slot{At: slot, Missed: r.Slots - come}
	var drafts []posthouse.Draft
	if deadline := slots.deadline(&r, slot); deadline.After(now) {
		to, goesOn, err := c.recipients(ctx, r)
		if err != nil {
			return nil, p, err
		}
		last.Missed--
		if !goesOn {
			r = End(r, ReasonCondition)
		} else if len(to) > 0 || r.Task == "" { // the steps of a route may name whom they turn to, and the message nobody
			drafts = append(drafts, draftOf(&r, slot, deadline, to))
			r.Fired++
			r.Message = drafts[0].ID
			last.Message = r.Message
		}
	}
	return drafts, Plan(came(r, last)), nil
}

// came is a reminder that has noted what became of a slot.
func came(r posthouse.Reminder, last posthouse.Slot) posthouse.Reminder {
	r.Last = append([]posthouse.Slot{last}, r.Last[:min(len(r.Last), mostLast-1)]...)
	if r.NextAt.IsZero() {
		r = End(r, ReasonDone)
	}
	r.Error = ""
	return r
}

// mostLast bounds how many of the slots that have come a reminder remembers.
const mostLast = 10

// pass moves a reminder past the slots that have come, and returns the last of them.
func (c *calendar) pass(r *posthouse.Reminder, now time.Time) (slot time.Time) {
	slot, r.NextAt = r.NextAt, time.Time{}
	for r.Slots++; ; r.Slots++ {
		t, ok := c.next(slot)
		if !ok || !c.allowed(r.Slots, t) {
			return slot
		}
		if t.After(now) {
			r.NextAt = t
			return slot
		}
		slot = t
	}
}

// deadline is until when a slot's message may start. NextAt is the slot after it.
func (c *calendar) deadline(r *posthouse.Reminder, slot time.Time) time.Time {
	following, ok := c.next(slot)
	switch least := slot.Add(leastCollapse); {
	case r.Missed == posthouse.MissedExpire && (r.NextAt.IsZero() || following.After(slot.Add(expireAfter))):
		return slot.Add(expireAfter)
	case !r.NextAt.IsZero():
		return following
	case !ok && c.countdown != nil:
		return later(slot.Add(c.countdown.Every.Std()), least)
	case ok:
		return later(following, least)
	default:
		return least
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// recipients are who is told at this slot; false says that nobody is any more.
func (c Composer) recipients(ctx context.Context, r posthouse.Reminder) ([]posthouse.Recipient, bool, error) {
	if r.Task == "" {
		return r.Draft.To, true, nil
	}
	if c.Audience == nil {
		return nil, false, fmt.Errorf("this server cannot say who works on the task %q", r.Task)
	}
	return c.Audience.Recipients(ctx, r)
}

// draftOf is a slot's message.
func draftOf(r *posthouse.Reminder, slot, deadline time.Time, to []posthouse.Recipient) posthouse.Draft {
	d := r.Draft
	d.ID, d.Reminder, d.To, d.Clock = posthouse.NewID(), r.ID, to, clockOf(r)
	d.NotBefore, d.Deadline = slot, deadline
	d.DedupKey = r.ID + "#" + slot.UTC().Format(slotForm)
	return d
}

// slotForm is how a slot is written in the dedup_key of its message. A number would come again when a
// reminder that has ended is made anew.
const slotForm = "20060102T150405Z"

// clockOf is the clock of a reminder's messages: a countdown's counts down to its end, and that of a repeat
// counts up from its beginning where the draft asks for a clock and does not say of what.
func clockOf(r *posthouse.Reminder) *posthouse.Clock {
	if r.Draft.Content != nil {
		return r.Draft.Clock // a finished text cannot count
	}
	var clock posthouse.Clock
	if r.Draft.Clock != nil {
		clock = *r.Draft.Clock
	}
	switch {
	case r.Countdown != nil && clock.Until.IsZero():
		clock.Until = r.Countdown.To
	case r.Countdown == nil && r.Draft.Clock == nil:
		return nil
	case r.Countdown == nil && clock.Until.IsZero() && clock.Since.IsZero():
		clock.Since = r.Repeat.From
	}
	return &clock
}
