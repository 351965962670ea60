package quiet

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// Hours are quiet hours that were checked. Nil holds nobody.
type Hours []window

type window struct {
	posthouse.QuietHours
	from, to int            // minutes of the day on which it begins: to may be on the next one
	zone     *time.Location // of who has none; nil for the channel's
}

// Of makes hours of settings that Check finds nothing wrong with.
func Of(list []posthouse.QuietHours) Hours {
	var hours Hours
	for _, q := range list {
		w := window{QuietHours: q}
		w.from, _ = minuteOf(q.From)
		w.to, _ = minuteOf(q.To)
		if w.to <= w.from {
			w.to += dayMinutes
		}
		if q.TimeZone != "" {
			w.zone, _ = time.LoadLocation(q.TimeZone)
		}
		hours = append(hours, w)
	}
	return hours
}

const dayMinutes = 24 * 60

// minuteOf reads a time such as 22:00; 24:00 is the end of a day.
func minuteOf(text string) (minute int, ok bool) {
	if text == "24:00" {
		return dayMinutes, true
	}
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err == nil && t.Format("15:04") == text
}

// Whom says about whom quiet hours are asked, and what.
type Whom struct {
	Kind          string
	User, Address string
	// Zone is the person's own, or nil.
	Zone *time.Location
	// Settled says that Zone is all that the directory knows: nobody is asked.
	Settled bool
	// Moment is by what their moment within a spread goes. Defaults to the user or the address.
	Moment string
	// Local is the zone of who has none, where the hours name none either.
	Local *time.Location
	// Deadline is the message's, or zero: what has waited starts before it, where that is after the end.
	Deadline time.Time
}

// Tell reports whether hours are other ones for messages of a kind than for those of none.
func (h Hours) Tell(kind string) bool {
	return slices.ContainsFunc(h, func(w window) bool { return w.about(kind) != w.about("") })
}

// holds reports whether a window is about somebody.
func (w *window) holds(a *Whom) bool {
	return w.about(a.Kind) &&
		(len(w.Users) == 0 || a.User != "" && slices.Contains(w.Users, a.User) || a.Address != "" && slices.Contains(w.Users, a.Address))
}

// about reports whether a window is about messages of a kind.
func (w *window) about(kind string) bool {
	return (len(w.Kinds) == 0 || slices.Contains(w.Kinds, kind)) && !slices.Contains(w.ExceptKinds, kind)
}

// Off reports whether a day, of which only the date counts, is off by a calendar; an empty one is that of weekends.
type Off func(calendar string, day time.Time) bool

// mostHops bounds how many windows may follow each other. What they hold by a calendar is looked at again then: it may know more days by that time.
const mostHops = 60

// Never is until when somebody is left alone for good: by windows that are the whole of each day, whatever a calendar says. It is no time to wait for.
var Never = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// Until is until when somebody is left alone, and whether they are at all: the end of the window, and of those that it leads into, with
// the person's moment within the spread, which ends where the next window begins. It is Never for one who is left alone for good.
func (h Hours) Until(now time.Time, a Whom, off Off) (until time.Time, held bool) {
	until, spread, held := h.over(now, &a, off)
	if until.Equal(Never) {
		return Never, held
	}
	if spread > 0 {
		spread = min(spread, h.next(until, &a, off).Sub(until))
	}
	if room := a.Deadline.Sub(until) / 2; !a.Deadline.IsZero() && spread > room {
		spread = max(room, 0)
	}
	return until.Add(time.Duration(share(cmp.Or(a.Moment, a.User), a.Address) * float64(spread))), held
}

// over is when the windows that somebody is in are over, and the spread of the last one.
func (h Hours) over(now time.Time, a *Whom, off Off) (at time.Time, spread time.Duration, held bool) {
	at, spread, hops := h.follow(now, a, off)
	if hops == mostHops && h.daily().endless(now, *a, off) {
		return Never, 0, true
	}
	return at, spread, hops > 0
}

// follow goes from the end of one window to that of the next that it leads into, as often as there is one.
func (h Hours) follow(now time.Time, a *Whom, off Off) (at time.Time, spread time.Duration, hops int) {
	for at = now; hops < mostHops; hops++ {
		end, s := h.end(at, a, off)
		if end.IsZero() {
			break
		}
		at, spread = end, s
	}
	return at, spread, hops
}

// daily are the windows that no calendar takes away.
func (h Hours) daily() (some Hours) {
	for _, w := range h {
		if w.Days == "" {
			some = append(some, w)
		}
	}
	return some
}

// endless reports whether windows follow each other without a moment between.
func (h Hours) endless(now time.Time, a Whom, off Off) bool {
	_, _, hops := h.follow(now, &a, off)
	return hops == mostHops
}

// next is when the first window begins that holds somebody after a time that is in none: two days later where that is not sooner, which
// is longer than any spread.
func (h Hours) next(at time.Time, a *Whom, off Off) time.Time {
	next := at.Add(2 * dayMinutes * time.Minute)
	for i := range h {
		w := &h[i]
		if !w.holds(a) {
			continue
		}
		zone := w.zoneOf(a)
		y, m, d := at.In(zone).Date()
		for day := d; day <= d+1; day++ {
			if from, _ := w.on(time.Date(y, m, day, 0, 0, 0, 0, time.UTC), zone, off); from.After(at) && from.Before(next) {
				next = from
			}
		}
	}
	return next
}

// end is when the last of the windows that hold somebody at a time ends, and its spread; zero where none does.
func (h Hours) end(at time.Time, a *Whom, off Off) (end time.Time, spread time.Duration) {
	for i := range h {
		w := &h[i]
		if !w.holds(a) {
			continue
		}
		if e := w.endAt(at, w.zoneOf(a), off); e.After(end) {
			end, spread = e, w.Spread.Std()
		}
	}
	return end, spread
}

// zoneOf is the zone by which a window holds somebody.
func (w *window) zoneOf(a *Whom) *time.Location {
	switch {
	case a.Zone != nil:
		return a.Zone
	case w.zone != nil:
		return w.zone
	default:
		return a.Local
	}
}

// endAt is when the window ends that a time is in, zero where it is in none.
func (w *window) endAt(at time.Time, zone *time.Location, off Off) (end time.Time) {
	y, m, d := at.In(zone).Date()
	for _, day := range []int{d - 1, d} { // it may have begun the day before
		from, to := w.on(time.Date(y, m, day, 0, 0, 0, 0, time.UTC), zone, off)
		if !at.Before(from) && at.Before(to) && to.After(end) {
			end = to
		}
	}
	return end
}

// on is from when to when the window holds that begins on a day, of which only the date counts; zero where none does.
func (w *window) on(date time.Time, zone *time.Location, off Off) (from, to time.Time) {
	if w.Days != "" && off(w.Calendar, date) != (w.Days == posthouse.QuietDaysOff) {
		return from, to
	}
	from, _ = walls(date.Add(time.Duration(w.from)*time.Minute), zone)
	_, to = walls(date.Add(time.Duration(w.to)*time.Minute), zone)
	return from, to
}

// walls are the moments at which a clock of a zone first shows a time or a later one, and at which it shows earlier ones no more. They
// differ where the clock is set back over the time; where it is set forward over it, both are that moment. The time is given as of UTC.
func walls(wall time.Time, zone *time.Location) (first, last time.Time) {
	before, after := offset(wall.Add(-36*time.Hour), zone), offset(wall.Add(36*time.Hour), zone)
	one, two := wall.Add(-before), wall.Add(-after)
	if before == after {
		return one, one
	}
	_, set := wall.Add(-36 * time.Hour).In(zone).ZoneBounds() // when the clock is set
	switch {
	case set.IsZero():
		return one, one
	case one.Before(set):
		first = one
	default:
		first = later(set, two)
	}
	switch {
	case !two.Before(set):
		last = two
	case one.Before(set):
		last = one
	default:
		last = set
	}
	return first, last
}

// offset is by how much a zone's clock is ahead of UTC.
func offset(at time.Time, zone *time.Location) time.Duration {
	_, seconds := at.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// share is a number in [0, 1) that a person always has.
func share(user, address string) float64 {
	h := fnv.New64a()
	if user == "" {
		user = address
	}
	_, _ = h.Write([]byte(user)) // it never fails
	n := h.Sum64()
	n ^= n >> 33 // the high bits of FNV hardly differ between texts that differ at their ends
	n *= 0xff51afd7ed558ccd
	n ^= n >> 33
	return float64(n>>11) / (1 << 53)
}

// Weekends are the days off where there is no calendar.
func Weekends(day time.Time) bool {
	return day.Weekday() == time.Saturday || day.Weekday() == time.Sunday
}
