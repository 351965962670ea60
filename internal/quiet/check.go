package quiet

import (
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// Bounds of what one channel or tenant sets.
const (
	MostHours  = 20
	MostCaps   = 6
	mostNames  = 200
	mostSpread = 12 * time.Hour
	longestCap = 31 * 24 * time.Hour // for as long the windows of limits are kept
	mostCapped = 1_000_000
)

// finder collects what is wrong with one of a list.
type finder struct {
	at   string
	list *[]posthouse.Problem
}

func (f finder) add(field, format string, args ...any) {
	*f.list = append(*f.list, posthouse.Problem{Path: f.at + field, Message: fmt.Sprintf(format, args...)})
}

// Emptied begins what is wrong with a list that is written and empty.
const Emptied = "is an empty list, which names none"

// names finds lists that are too long, names that are none, and the first that stands there twice. A list without a name would hold for all, which
// whoever wrote it did not mean; example is one with some.
func (f finder) names(field string, list []string, example string) {
	if list != nil && len(list) == 0 {
		f.add(field, "is an empty list, which names none: leave it out where all are meant, or name them, such as %s", example)
	}
	if len(list) > mostNames {
		f.add(field, "has %d names: at most %d are allowed", len(list), mostNames)
	}
	for i, name := range list {
		if name == "" || len(name) > 255 {
			f.add(fmt.Sprintf("%s[%d]", field, i), "has %d bytes: want a name of 1 to 255", len(name))
		}
	}
	if i := again(list); i >= 0 {
		f.add(fmt.Sprintf("%s[%d]", field, i), "is %.80q, which stands here twice", list[i])
	}
}

// again is the first place of a list whose name stands before it too, -1 where each stands once. One that stands twice was meant to be another.
func again(list []string) int {
	for i, name := range list[:min(len(list), mostNames)] {
		if slices.Index(list, name) < i {
			return i
		}
	}
	return -1
}

// Check finds what is wrong with quiet hours. Paths begin with path, which names the list. calendar reports whether there is a roster of a
// name; nil asks nobody.
func Check(path string, list []posthouse.QuietHours, calendar func(name string) bool) (problems []posthouse.Problem) {
	if len(list) > MostHours {
		return []posthouse.Problem{{Path: path, Message: fmt.Sprintf("have %d windows: at most %d are allowed", len(list), MostHours)}}
	}
	for i := range list {
		q := &list[i]
		f := finder{fmt.Sprintf("%s[%d].", path, i), &problems}
		from, good := minuteOf(q.From)
		if !good || from == dayMinutes {
			f.add("from", `is %.20q: want a time such as "22:00"`, q.From)
			good = false
		}
		to, fine := minuteOf(q.To)
		if !fine {
			f.add("to", `is %.20q: want a time such as "08:00", or "24:00" for the end of the day`, q.To)
		}
		switch {
		case !good || !fine:
		case from == to:
			f.add("to", `is %s, where the window begins: it has no length. Want another time, such as "08:00", or from "00:00" to "24:00" for a whole day`, q.To)
		case to-from == dayMinutes && q.Days == "" && len(q.Users) == 0:
			f.add("to", `makes it the whole of each day: nothing would ever be sent. Want an end before that, such as "08:00", or days, such as "days_off"`)
		}
		if !q.Days.Valid() {
			f.add("days", "is %.20q: want workdays or days_off, or nothing for every day", q.Days)
		}
		switch {
		case q.Calendar != "" && q.Days == "":
			f.add("calendar", "says which days are off, and the hours hold on every day: want days, such as days_off, or no calendar")
		case q.Calendar != "" && calendar != nil && !calendar(q.Calendar):
			f.add("calendar", "there is no roster %.80q: its days without anybody are the days off", q.Calendar)
		}
		if q.TimeZone != "" {
			if _, err := time.LoadLocation(q.TimeZone); err != nil || q.TimeZone == "Local" {
				f.add("time_zone", "is %.60q, which is not an IANA time zone such as Asia/Shanghai", q.TimeZone)
			}
		}
		if s := q.Spread.Std(); s < 0 || s > mostSpread {
			f.add("spread", "is %s: want 0s to %s, such as 30m", q.Spread, posthouse.Duration(mostSpread))
		}
		f.names("kinds", q.Kinds, `["news"]`)
		f.names("except_kinds", q.ExceptKinds, `["otp"]`)
		if len(q.Kinds) > 0 && len(q.ExceptKinds) > 0 {
			f.add("except_kinds", "stands beside kinds, which says already for which kinds the hours hold: leave one of both out")
		}
		f.names("users", q.Users, `["li.na"]`)
		for j := range list[:i] {
			if good && fine && sameScope(q, &list[j]) && overlap(q, &list[j]) {
				f.add("from", `overlaps %s[%d], %s to %s, for the same people: make one window of both, such as from "%s" to "%s"`, path, j, list[j].From, list[j].To, list[j].From, q.To)
				break
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	if who, covered := endless(list); covered && who != "" {
		return []posthouse.Problem{{Path: path, Message: fmt.Sprintf("leave no time to %.80q between them: nothing would ever be sent to them. Want an hour that none of theirs has, or one window from \"00:00\" to \"24:00\" for them where that is meant", who)}}
	} else if covered {
		return []posthouse.Problem{{Path: path, Message: `leave no time between them: nothing would ever be sent. Want an hour that none of them has, such as one window from "22:00" to "08:00"`}}
	}
	return nil
}

// Covered reports whether the hours of a tenant and those of one of its channels, which Check finds nothing wrong with, together leave no time
// at all: nothing would ever be sent by the channel, or to one of the users that they name. who is that user, empty where it is everybody.
func Covered(tenant, channel []posthouse.QuietHours) (who string, covered bool) {
	if len(tenant) == 0 || len(channel) == 0 {
		return "", false
	}
	return endless(slices.Concat(tenant, channel))
}

// endless reports whether windows, of which each alone is right, together leave no time at all, in a week with a weekend: to everybody, or to a
// user whom they name. Those whom one window leaves alone the whole of each day are meant to be. Those with a zone of their own and those
// without may have different hours. Each set of windows that hold together is looked at once.
func endless(list []posthouse.QuietHours) (who string, covered bool) {
	kinds, users := []string{""}, []string{""}
	meant := map[string]bool{}
	for i := range list {
		q := &list[i]
		kinds, users = append(kinds, q.Kinds...), append(users, q.Users...)
		if q.From == "00:00" && q.To == "24:00" && q.Days == "" {
			for _, user := range q.Users {
				meant[user] = true
			}
		}
	}
	hours, seen := Of(list), map[uint64]bool{}
	byKind := hours.sets(kinds, func(w *window, kind string) bool { return w.about(kind) })
	for _, user := range hours.sets(users, func(w *window, user string) bool { return len(w.Users) == 0 || slices.Contains(w.Users, user) }) {
		for _, kind := range byKind {
			if set := kind.set & user.set; !seen[set] && !meant[user.name] {
				seen[set] = true
				if hours.of(set).fill() {
					return user.name, true
				}
			}
		}
	}
	return "", false
}

// held are the windows that hold a kind or a user: those with bit i for window i.
type held struct {
	name string
	set  uint64
}

// sets are the sets of windows that hold names, each with the first of the names.
func (h Hours) sets(names []string, holds func(*window, string) bool) (list []held) {
	seen := map[uint64]bool{}
	for _, name := range names {
		var set uint64
		for i := range h[:min(len(h), 64)] { // two lists of MostHours are fewer
			if holds(&h[i], name) {
				set |= 1 << i
			}
		}
		if !seen[set] {
			seen[set] = true
			list = append(list, held{name, set})
		}
	}
	return list
}

// of are the windows of a set, which hold everybody.
func (h Hours) of(set uint64) (some Hours) {
	for i, w := range h {
		if i < 64 && set&(1<<i) != 0 {
			w.Kinds, w.ExceptKinds, w.Users = nil, nil, nil
			some = append(some, w)
		}
	}
	return some
}

// fill reports whether windows follow each other without a moment between, for those with a zone of their own or for those without.
func (h Hours) fill() bool {
	for _, zone := range []*time.Location{nil, time.UTC} {
		if h.endless(aMonday, Whom{Zone: zone, Local: time.UTC}, func(_ string, day time.Time) bool { return Weekends(day) }) {
			return true
		}
	}
	return false
}

var aMonday = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// sameScope reports whether two windows hold for the same messages on the same days.
func sameScope(a, b *posthouse.QuietHours) bool {
	return a.Days == b.Days && a.Calendar == b.Calendar && a.TimeZone == b.TimeZone && same(a.Kinds, b.Kinds) && same(a.ExceptKinds, b.ExceptKinds) && same(a.Users, b.Users)
}

func same(a, b []string) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b))))
}

// overlap reports whether two windows have a minute of the day in common.
func overlap(a, b *posthouse.QuietHours) bool {
	one, two := Of([]posthouse.QuietHours{*a})[0], Of([]posthouse.QuietHours{*b})[0]
	for _, by := range []int{-dayMinutes, 0, dayMinutes} {
		if one.from < two.to+by && two.from+by < one.to {
			return true
		}
	}
	return false
}

// CheckCaps finds what is wrong with caps. Paths begin with path, which names the list.
func CheckCaps(path string, list []posthouse.Cap) (problems []posthouse.Problem) {
	if len(list) > MostCaps {
		return []posthouse.Problem{{Path: path, Message: fmt.Sprintf("have %d entries: at most %d are allowed", len(list), MostCaps)}}
	}
	for i := range list {
		c := &list[i]
		f := finder{fmt.Sprintf("%s[%d].", path, i), &problems}
		if c.Max < 1 || c.Max > mostCapped {
			f.add("max", "is %d: want 1 to %d, such as 3", c.Max, mostCapped)
		}
		if per := c.Per.Std(); per < time.Second || per > longestCap {
			f.add("per", "is %s: want 1s to %s, such as 24h", c.Per, posthouse.Duration(longestCap))
		}
		if !c.Then.Valid() {
			f.add("then", "is %.20q: want defer or suppress", c.Then)
		}
		f.names("kinds", c.Kinds, `["news"]`)
		for j := range list[:i] {
			if o := &list[j]; o.Per == c.Per && same(o.Kinds, c.Kinds) {
				f.add("per", "is that of %s, for the same kinds: one of both says nothing", fmt.Sprintf("%s[%d]", path, j))
				break
			}
		}
	}
	return problems
}
