package rule

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
)

// maxUser bounds a user's id in a roster, in bytes.
const maxUser = 128

// Validate finds everything that is wrong with a roster, with paths from its
// root such as "days.1[2]". It does not look at the tenant and the name.
func Validate(roster posthouse.Roster) []posthouse.Problem {
	var c check
	for _, day := range slices.Sorted(maps.Keys(roster.Days)) {
		if !validDay(day) {
			c.add("days."+day, "%q is not a day of the week from 1 (Monday) to 7", day)
		}
		c.users("days."+day, roster.Days[day])
	}
	for _, date := range slices.Sorted(maps.Keys(roster.Overrides)) {
		if day, err := time.Parse(time.DateOnly, date); err != nil {
			c.add("overrides."+date, "%q is not a date such as 2026-10-01", date)
		} else if !posthouse.ValidTime(day) {
			c.add("overrides."+date, "%q is of no year from %d to %d", date, posthouse.FirstYear, posthouse.LastYear)
		}
		c.users("overrides."+date, roster.Overrides[date])
	}
	if _, err := parseClock(roster.HandOver); err != nil {
		c.add("hand_over", "%v", err)
	}
	if roster.TimeZone != "" {
		if _, err := loadZone(roster.TimeZone); err != nil {
			c.add("time_zone", "%v", err)
		}
	}
	return c.problems
}

type check struct{ problems []posthouse.Problem }

func (c *check) add(path, format string, args ...any) {
	c.problems = append(c.problems, posthouse.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// users checks the users of one day.
func (c *check) users(path string, users []string) {
	first := map[string]int{}
	for i, user := range users {
		at := fmt.Sprintf("%s[%d]", path, i)
		if wrong := wrongUser(user); wrong != "" {
			c.add(at, "%s", wrong)
		} else if j, twice := first[user]; twice {
			c.add(at, "%q is on this day already, at [%d]", user, j)
		} else {
			first[user] = i
		}
	}
}

// wrongUser says what is wrong with a user's id, "" for nothing.
func wrongUser(user string) string {
	switch {
	case user == "":
		return "an empty user id"
	case len(user) > maxUser:
		return fmt.Sprintf("a user id of %d bytes; the most is %d", len(user), maxUser)
	case !utf8.ValidString(user):
		return "a user id that is not UTF-8"
	case strings.ContainsFunc(user, unicode.IsControl):
		return fmt.Sprintf("the user id %q holds a control character", user)
	case strings.TrimSpace(user) != user:
		return fmt.Sprintf("the user id %q begins or ends with a space", user)
	}
	return ""
}

func validDay(day string) bool { return len(day) == 1 && day[0] >= '1' && day[0] <= '7' }

// Overview is what somebody who plans a roster should look at.
type Overview struct {
	// EmptyDays are the days of the week with nobody on duty, "1" to "7": the
	// duty rule takes them for not configured.
	EmptyDays []string `json:"empty_days"`
	// EmptyDates are the dates on which an override leaves nobody on duty.
	EmptyDates []string `json:"empty_dates"`
	// Several are the users who are on duty on more than one day of the week.
	Several []UserDays `json:"several"`
}

// UserDays is a user with the days of the week on which they are on duty.
type UserDays struct {
	User string   `json:"user"`
	Days []string `json:"days"`
}

// Report finds the empty and overlapping days of a roster, in order.
func Report(roster posthouse.Roster) Overview {
	out := Overview{EmptyDays: []string{}, EmptyDates: []string{}, Several: []UserDays{}}
	days := map[string][]string{} // of a user
	for i := 1; i <= 7; i++ {
		day := strconv.Itoa(i)
		if len(roster.Days[day]) == 0 {
			out.EmptyDays = append(out.EmptyDays, day)
		}
		for _, user := range roster.Days[day] {
			days[user] = append(days[user], day)
		}
	}
	for _, date := range slices.Sorted(maps.Keys(roster.Overrides)) {
		if len(roster.Overrides[date]) == 0 {
			out.EmptyDates = append(out.EmptyDates, date)
		}
	}
	for _, user := range slices.Sorted(maps.Keys(days)) {
		if len(days[user]) > 1 {
			out.Several = append(out.Several, UserDays{user, days[user]})
		}
	}
	return out
}
