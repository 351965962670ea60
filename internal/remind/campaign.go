package remind

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Campaigns makes and starts the campaigns of slots. Whatever is asked twice, or by two processes at once, is done once.
type Campaigns interface {
	// Make makes the campaign of a slot where there is none yet, and sends nothing. name is what it is called.
	Make(ctx context.Context, r posthouse.Reminder, slot time.Time, name string) error
	// Start reads the people of a campaign that was made, and starts it.
	Start(ctx context.Context, r posthouse.Reminder, slot posthouse.Slot) (Begun, error)
	// Drop ends a campaign that was made and is not to begin.
	Drop(ctx context.Context, tenant, name string) error
}

// Begun is what became of the start of a slot's campaign.
type Begun int

// What can have become of it.
const (
	// BegunNot says that its people are still being read.
	BegunNot Begun = iota
	// BegunNow says that it has begun, or that a person has decided what becomes of it.
	BegunNow
	// BegunNobody says that there is nobody to send to: it is gone.
	BegunNobody
	// BegunGone says that it was deleted before it began.
	BegunGone
	// BegunAnew says that other people were read than before a stop: it is gone, and is made anew.
	BegunAnew
)

// lookAgain is how long after it a campaign is looked at again whose people are still being read.
const lookAgain = 5 * time.Second

// campaignName is what the campaign of a slot is called.
func campaignName(id string, slot time.Time) string { return id + "-" + slot.UTC().Format(slotForm) }

// campaign goes one step on with the campaign of the slot that has come. It is made and noted first, so that one that is gone later was
// deleted by a person, and is not made and started a second time; then its people are read and it is started; then the reminder goes on.
func (c Composer) campaign(ctx context.Context, r posthouse.Reminder, slots *calendar, now time.Time) ([]posthouse.Draft, work.Plan, error) {
	if c.Campaigns == nil {
		return nil, Plan(r), fmt.Errorf("this server starts no campaigns")
	}
	if c.Epoch != nil && c.Epoch() != r.Epoch {
		r = Pause(r)
		r.Reason = ReasonEpoch
		return nil, Plan(r), nil
	}
	if r.Preparing == nil {
		return c.prepare(ctx, r, slots, now)
	}
	made := *r.Preparing
	next := r
	next.Preparing = nil
	slots.pass(&next, made.At)
	made.Missed = next.Slots - r.Slots
	if !untilWhen(&next, made.At).After(now) {
		return nil, Plan(came(next, made)), c.Campaigns.Drop(ctx, r.Tenant, made.Campaign)
	}
	begun, err := c.Campaigns.Start(ctx, r, made)
	if err != nil {
		return nil, Plan(r), err
	}
	switch begun {
	case BegunNot:
		p := Plan(r)
		p.NextAt = now.Add(lookAgain)
		return nil, p, nil
	case BegunAnew:
		r.Preparing = nil
		return nil, Plan(r), nil
	case BegunNow:
		next.Fired++
		made.Missed--
	case BegunNobody:
		made.Campaign = ""
		made.Missed--
	case BegunGone:
	}
	return nil, Plan(came(next, made)), nil
}

// prepare makes the campaign of the slot that has come, or passes it where it is too late.
func (c Composer) prepare(ctx context.Context, r posthouse.Reminder, slots *calendar, now time.Time) ([]posthouse.Draft, work.Plan, error) {
	next := r
	at := slots.pass(&next, now)
	if !slots.deadline(&next, at).After(now) {
		return nil, Plan(came(next, posthouse.Slot{At: at, Missed: next.Slots - r.Slots})), nil
	}
	name := campaignName(r.ID, at)
	if err := c.Campaigns.Make(ctx, r, at, name); err != nil {
		return nil, Plan(r), err
	}
	r.Preparing = &posthouse.Slot{At: at, Campaign: name}
	return nil, Plan(r), nil
}

// mostPreparing bounds how long the people of the last slot's campaign are read.
const mostPreparing = 24 * time.Hour

// untilWhen is until when the campaign of a slot may begin, of a reminder that has passed it: the next one stands for both then.
func untilWhen(r *posthouse.Reminder, slot time.Time) time.Time {
	if r.NextAt.IsZero() {
		return slot.Add(mostPreparing)
	}
	return r.NextAt
}
