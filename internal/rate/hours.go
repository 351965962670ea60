package rate

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
)

// defaultOutside is the factor outside of working hours where nothing is said.
const defaultOutside = 0.5

// Hour is the factor of a local time: 1 within the working hours of a day that is not off. Hours that end before they begin go
// over midnight.
func Hour(h *posthouse.WorkingHours, now time.Time, off bool) float64 {
	outside := h.Outside
	if outside == 0 {
		outside = defaultOutside
	}
	clock := now.Format("15:04")
	within := h.From <= clock && clock < h.To
	if h.To <= h.From {
		within = clock >= h.From || clock < h.To
	}
	if off || !within {
		return outside
	}
	return 1
}

// Check finds what is wrong with the settings of a channel's rates. Paths are relative to them.
func Check(s *posthouse.RateSettings) (problems []posthouse.Problem) {
	add := func(path, format string, args ...any) {
		problems = append(problems, posthouse.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	if s.Base < 0 || s.Base > 100_000 || s.Base > 0 && s.Base < 0.001 {
		add("base", "is %v: want 0.001 to 100000 calls a second, or 0, which learns it", s.Base)
	}
	if s.Hours == nil {
		return problems
	}
	for _, f := range []struct{ path, text string }{{"hours.from", s.Hours.From}, {"hours.to", s.Hours.To}} {
		if t, err := time.Parse("15:04", f.text); err != nil || t.Format("15:04") != f.text {
			add(f.path, "is %q: want a time such as 09:00", f.text)
		}
	}
	if o := s.Hours.Outside; o != 0 && (o < 0.01 || o > 1) {
		add("hours.outside", "is %v: want 0.01 to 1", o)
	}
	return problems
}

// DayOff reports whether a calendar has nobody on a day.
func DayOff(c *posthouse.Roster, day time.Time) bool {
	if users, named := c.Overrides[day.Format(time.DateOnly)]; named {
		return len(users) == 0
	}
	weekday := int(day.Weekday()+6)%7 + 1 // Monday is 1
	return len(c.Days[string(rune('0'+weekday))]) == 0
}

// Windows hold a configured base over all processes, exactly.
func Windows(s *posthouse.RateSettings) []posthouse.Limit {
	if s == nil || s.Base <= 0 {
		return nil
	}
	if s.Base < 1 {
		return []posthouse.Limit{{Max: 1, Per: posthouse.Duration(float64(time.Second) / s.Base)}}
	}
	return []posthouse.Limit{{Max: int(s.Base), Per: posthouse.Duration(time.Second)}}
}
