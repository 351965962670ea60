package remind

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// The reasons why a reminder has ended, stable words.
const (
	ReasonDone      = "done"           // it has no slot left
	ReasonEnded     = "ended"          // somebody ended it
	ReasonCancelled = "cancelled"      // what has its kind and ref was cancelled
	ReasonCondition = "condition_over" // what it was about no longer is
)

// ReasonEpoch is why a reminder is paused whose slot may have come in another copy of the database.
const ReasonEpoch = work.ReasonEpochHold

// grace is how old a slot may be when its reminder is made: it was on its way. Older ones are left out.
const grace = 5 * time.Second

// New is a reminder that begins now: with its id, its first slot and its defaults. zone is that of local
// times which name none. Version stays as it is: that of the ended reminder which this one follows, or 0.
func New(r posthouse.Reminder, now time.Time, zone *time.Location) (posthouse.Reminder, []posthouse.Problem) {
	now = micros(now)
	fill(&r, now, zone)
	problems := check(&r, now)
	if len(problems) > 0 {
		return r, problems
	}
	slots, err := calendarOf(&r)
	if err != nil {
		return r, []posthouse.Problem{{Path: "repeat", Message: err.Error()}}
	}
	first, ok := slots.next(now.Add(-grace))
	if !ok || !slots.allowed(0, first) {
		return r, []posthouse.Problem{{Path: "repeat.until", Message: "comes before the first slot: nothing would ever be sent"}}
	}
	r.State, r.NextAt, r.CreatedAt, r.UpdatedAt = posthouse.ReminderOpen, first, now, now
	r.Slots, r.Fired, r.Reason, r.Message, r.Error, r.Last, r.Preparing = 0, 0, "", "", "", nil, nil
	return r, nil
}

// Replace is a reminder in place of an open one: it goes on with what has come of that. One whose slots stay
// as they were keeps the slot that is due; any other begins with the first slot after now. In place of one
// that has ended, or of none, it is new.
func Replace(old, r posthouse.Reminder, now time.Time, zone *time.Location) (posthouse.Reminder, []posthouse.Problem) {
	r.Version = old.Version
	if old.State != posthouse.ReminderOpen {
		return New(r, now, zone)
	}
	if r.Repeat != nil && old.Repeat != nil && r.Repeat.From.IsZero() {
		repeat := *r.Repeat
		repeat.From = old.Repeat.From
		r.Repeat = &repeat
	}
	next, problems := New(r, now, zone)
	if len(problems) > 0 {
		return next, problems
	}
	next.CreatedAt, next.Slots, next.Fired, next.Message, next.Last = old.CreatedAt, old.Slots, old.Fired, old.Message, old.Last
	if next.Paused = old.Paused; next.Paused {
		next.Reason = old.Reason
	}
	if reflect.DeepEqual(next.Countdown, old.Countdown) && reflect.DeepEqual(next.Repeat, old.Repeat) {
		next.NextAt = old.NextAt
		if reflect.DeepEqual(next.Campaign, old.Campaign) {
			next.Preparing = old.Preparing
		}
		return next, nil
	}
	if next.NextAt = after(next, now); next.NextAt.IsZero() && !next.Paused {
		return next, []posthouse.Problem{{Path: "repeat.max", Message: fmt.Sprintf("leaves no slot after the %d that have come: nothing would ever be sent", old.Slots)}}
	}
	return next, nil
}

// after is the first slot after a time of a reminder that goes on, or the zero time where there is none.
func after(r posthouse.Reminder, now time.Time) time.Time {
	slots, err := calendarOf(&r)
	if err != nil || r.Paused {
		return time.Time{}
	}
	next, ok := slots.next(now)
	if !ok || !slots.allowed(r.Slots, next) {
		return time.Time{}
	}
	return next
}

// Pause is an open reminder of which nothing comes.
func Pause(r posthouse.Reminder) posthouse.Reminder {
	r.Paused, r.NextAt, r.Preparing = true, time.Time{}, nil
	return r
}

// Resume is a paused reminder that goes on with its first slot after now, or has ended if there is none. The slots of one that is held have
// come, and this copy of the database has no message of them.
func Resume(r posthouse.Reminder, now time.Time) posthouse.Reminder {
	now = micros(now)
	doubtful := Held(r) && !r.NextAt.IsZero() && !r.NextAt.After(now)
	made := r.Preparing
	r.Paused, r.Reason, r.Preparing = false, "", nil
	if slots, err := calendarOf(&r); doubtful && err == nil {
		come := r.Slots
		last := posthouse.Slot{At: slots.pass(&r, now)}
		if last.Missed = r.Slots - come; made != nil {
			last.Campaign = made.Campaign
		}
		return came(r, last)
	}
	if r.NextAt = after(r, now); r.NextAt.IsZero() {
		r = End(r, ReasonDone)
	}
	return r
}

// Held reports whether a reminder waits for a person because its slot may have come in another copy of the database. NextAt is that slot, if
// it was due when the epoch began.
func Held(r posthouse.Reminder) bool { return r.Paused && r.Reason == ReasonEpoch }

// fill puts in the defaults, and makes times such that every database keeps them.
func fill(r *posthouse.Reminder, now time.Time, zone *time.Location) {
	if r.ID == "" {
		r.ID = r.Draft.DedupKey
	}
	if r.ID == "" {
		r.ID = posthouse.NewID()
	}
	if r.Missed == "" {
		r.Missed = posthouse.MissedCollapse
	}
	if r.Countdown != nil {
		c := *r.Countdown
		c.To = micros(c.To)
		if c.Every == 0 {
			c.Every = c.Before
		}
		r.Countdown = &c
	}
	if r.Repeat != nil {
		c := *r.Repeat
		c.From, c.Until = micros(c.From), micros(c.Until)
		if c.From.IsZero() {
			c.From = now
		}
		if local(&c) && c.TimeZone == "" {
			c.TimeZone = zone.String()
		}
		r.Repeat = &c
	}
}

func micros(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Plan is a reminder as it is stored.
func Plan(r posthouse.Reminder) work.Plan {
	r.Warnings = nil // they are only shown
	doc, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("a reminder was read from JSON and cannot be written as JSON: %v", err))
	}
	p := work.Plan{Tenant: r.Tenant, Type: work.PlanReminder, ID: r.ID, Kind: r.Draft.Kind, Ref: r.Draft.Ref, Doc: doc, Version: r.Version}
	if r.State == posthouse.ReminderOpen {
		p.NextAt = r.NextAt
		if r.Paused {
			p.State, p.NextAt = work.PlanPaused, time.Time{}
		}
		if Held(r) {
			p.Held = work.ReasonEpochHold
		}
	}
	return p
}

// Read is the reminder that a plan holds.
func Read(p work.Plan) (posthouse.Reminder, error) {
	var r posthouse.Reminder
	if err := json.Unmarshal(p.Doc, &r); err != nil {
		return r, fmt.Errorf("read the reminder %q: %w", p.ID, err)
	}
	r.ID, r.Tenant, r.Version, r.Error, r.UpdatedAt = p.ID, p.Tenant, p.Version, p.Error, p.UpdatedAt
	if p.Held != "" && r.State == posthouse.ReminderOpen { // the epoch that holds it reads no document
		r.Paused, r.Reason = true, p.Held
	}
	return r, nil
}

// End is a reminder that sends nothing more. One that has ended already keeps its reason.
func End(r posthouse.Reminder, reason string) posthouse.Reminder {
	if r.State == posthouse.ReminderOpen {
		r.State, r.Reason, r.NextAt, r.Paused, r.Preparing = posthouse.ReminderEnded, reason, time.Time{}, false, nil
	}
	return r
}

// Next are the slots that are still to come, at most n.
func Next(r posthouse.Reminder, n int) []time.Time {
	slots, err := calendarOf(&r)
	if err != nil || r.State != posthouse.ReminderOpen || r.Paused {
		return nil
	}
	var list []time.Time
	for t, ok := r.NextAt, true; ok && len(list) < n && slots.allowed(r.Slots+len(list), t); t, ok = slots.next(t) {
		list = append(list, t)
	}
	return list
}

// First is the draft of a reminder's messages, but for its times: what is wrong with it is wrong with all of
// them. A reminder with a task has no recipients yet.
func First(r posthouse.Reminder) posthouse.Draft {
	d := r.Draft
	d.Clock, d.DedupKey = clockOf(&r), ""
	return d
}
