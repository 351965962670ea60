package console

import (
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// pauses are how long something can be paused by a form that asks for a length; it takes any moment besides.
func pauses() []time.Duration {
	return []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour, 8 * time.Hour, 24 * time.Hour}
}

// Pauses are what the form offers.
func (frame) Pauses() []time.Duration { return pauses() }

// Morning is the next 08:00 after now, in the visitor's zone: when somebody is there again.
func (f frame) Morning() time.Time { return morningAfter(f.Now, zoneFor(f.v)) }

// MorningWord is what people call it.
func (f frame) MorningWord() string {
	if f.Morning().Day() == f.Now.In(zoneFor(f.v)).Day() {
		return "pause_this_morning"
	}
	return "pause_tomorrow"
}

func morningAfter(now time.Time, zone *time.Location) time.Time {
	local := now.In(zone)
	at := time.Date(local.Year(), local.Month(), local.Day(), 8, 0, 0, 0, zone)
	if !at.After(now) {
		at = time.Date(local.Year(), local.Month(), local.Day()+1, 8, 0, 0, 0, zone)
	}
	return at
}

// Field is a time as a field of a form has it, to the minute.
func (f frame) Field(t time.Time) string { return t.In(zoneFor(f.v)).Format("2006-01-02T15:04") }

// pauseFrom is a pause as the form says it: it has a reason, and ends at a moment, after a length or when a person ends it.
func pauseFrom(v *visit, now time.Time) (wire.Pause, error) {
	p := wire.Pause{Reason: v.form("reason")}
	var problems []posthouse.Problem
	if p.Reason == "" {
		problems = problemAt("reason", say("reason_missing", v.zh))
	}
	lasts, until := v.form("for"), v.form("until")
	length, err := time.ParseDuration(lasts)
	switch {
	case until != "":
		if p.Until, err = momentOf(until, zoneFor(v)); err != nil || !p.Until.After(now) {
			problems = append(problems, problemAt("until", say("want_future", v.zh))...)
		}
	case lasts == "":
	case err == nil && slices.Contains(pauses(), length):
		p.Until = now.Add(length)
	default:
		if p.Until, err = time.Parse(time.RFC3339, lasts); err != nil || !p.Until.After(now) {
			problems = append(problems, problemAt("for", say("want_pause", v.zh))...)
		}
	}
	return p, posthouse.Invalid(say("not_paused", v.zh), problems)
}

// Number is a number as it was set, without an exponent.
func (frame) Number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
