package remind

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// calendar says when a reminder's slots are.
type calendar struct {
	countdown *posthouse.Countdown
	repeat    *posthouse.Repeat
	daily     []time.Duration // since midnight
	cron      *cron
	zone      *time.Location
}

// calendarOf reads a reminder that was checked.
func calendarOf(r *posthouse.Reminder) (calendar, error) {
	c := calendar{countdown: r.Countdown, repeat: r.Repeat, zone: time.UTC}
	if r.Repeat == nil || !local(r.Repeat) {
		return c, nil
	}
	var err error
	if c.zone, err = time.LoadLocation(r.Repeat.TimeZone); err != nil {
		return c, err
	}
	if r.Repeat.Cron != "" {
		c.cron, err = newCron(r.Repeat.Cron, c.zone)
		return c, err
	}
	for _, text := range r.Repeat.Daily {
		clock, err := parseDaily(text)
		if err != nil {
			return c, err
		}
		c.daily = append(c.daily, clock)
	}
	return c, nil
}

// local reports whether a repeat names what clocks of a zone show.
func local(r *posthouse.Repeat) bool { return len(r.Daily) > 0 || r.Cron != "" }

// next is the first slot after a time, without regard to Max and Until; false says that there is none.
func (c *calendar) next(after time.Time) (time.Time, bool) {
	if c.countdown != nil {
		return countdown(c.countdown, after)
	}
	if c.repeat != nil && local(c.repeat) && after.Before(c.repeat.From) {
		after = c.repeat.From.Add(-1)
	}
	if c.cron != nil {
		return c.cron.next(after)
	}
	if len(c.daily) > 0 {
		return c.nextDaily(after)
	}
	return periodic(c.repeat.From, c.repeat.Every.Std(), after)
}

// allowed reports whether a slot is within the bounds of a repeat, after so many have come.
func (c *calendar) allowed(come int, slot time.Time) bool {
	return c.repeat == nil ||
		(c.repeat.Max == 0 || come < c.repeat.Max) && (c.repeat.Until.IsZero() || !slot.After(c.repeat.Until))
}

// countdown has its last slot at its end, whether or not its steps lead there.
func countdown(c *posthouse.Countdown, after time.Time) (time.Time, bool) {
	t, ok := periodic(c.To.Add(-c.Before.Std()), c.Every.Std(), after)
	if !ok || t.After(c.To) {
		t = c.To
	}
	return t, t.After(after)
}

// periodic is the first moment after a time of those that are at from and each every later. Without every
// there is just the one.
func periodic(from time.Time, every time.Duration, after time.Time) (time.Time, bool) {
	if after.Before(from) {
		return from, true
	}
	if every <= 0 {
		return time.Time{}, false
	}
	passed := int64(after.Sub(from) / every)
	return from.Add(time.Duration(passed+1) * every), true
}

// nextDaily is the first moment after a time at one of the local times.
func (c *calendar) nextDaily(after time.Time) (time.Time, bool) {
	year, month, day := after.In(c.zone).Date()
	for ahead := -1; ahead <= 3; ahead++ { // a zone may set its clocks over midnight, and leave out a day
		var found []time.Time
		for _, clock := range c.daily {
			if t := localTime(time.Date(year, month, day+ahead, 0, 0, 0, 0, time.UTC).Add(clock), c.zone); t.After(after) {
				found = append(found, t)
			}
		}
		if len(found) > 0 {
			return slices.MinFunc(found, time.Time.Compare), true
		}
	}
	return time.Time{}, false
}

// parseDaily reads a local time of day such as "09:00" as the time since midnight.
func parseDaily(text string) (time.Duration, error) {
	t, err := time.Parse("15:04", text)
	return t.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)), err
}

// localTime is the moment at which the clocks of a zone show wall, which is written as if in UTC. Where they
// are set back and show it twice, it is the first of both; where they are set forward over it, it is the
// moment they are set.
func localTime(wall time.Time, zone *time.Location) time.Time {
	t := wall.Add(-36 * time.Hour) // before it, wherever the zone is
	for {
		_, end := t.In(zone).ZoneBounds()
		at := wall.Add(-offset(t, zone))
		switch {
		case end.IsZero() || at.Before(end):
			return at.UTC()
		case wall.Add(-offset(end, zone)).Before(end):
			return end.UTC()
		}
		t = end
	}
}

// offset is how far clocks of a zone are ahead of UTC at a time.
func offset(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}
