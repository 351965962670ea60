package rule

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// Turn is a user's duty on a date, such as 2026-10-01.
type Turn struct{ User, Date string }

// Override is a roster with users of their own for some dates, and without those that other dates had. What is wrong with it
// Validate says.
func Override(roster posthouse.Roster, dates map[string][]string, clear []string) posthouse.Roster {
	overrides := maps.Clone(roster.Overrides)
	if overrides == nil {
		overrides = map[string][]string{}
	}
	for _, date := range clear {
		delete(overrides, date)
	}
	maps.Copy(overrides, dates)
	roster.Overrides = overrides
	return roster
}

// Swap is a roster in which two users take each other's turn. Its problems name user, date, with and with_date: whose duty it
// is not, or what is no date.
func Swap(roster posthouse.Roster, one, other Turn) (posthouse.Roster, []posthouse.Problem) {
	var c check
	if one.Date == other.Date {
		c.add("with_date", "is %q, as date is: two users of one date have nothing to swap", other.Date)
		return roster, c.problems
	}
	dates := map[string][]string{}
	for _, give := range []struct {
		user, date string // their paths
		of         Turn
		takes      string
	}{{"user", "date", one, other.User}, {"with", "with_date", other, one.User}} {
		day, err := time.Parse(time.DateOnly, give.of.Date)
		if err != nil || !posthouse.ValidTime(day) {
			c.add(give.date, "is %.40q: want a date such as 2026-10-01", give.of.Date)
			continue
		}
		users := slices.Clone(shiftOn(roster, day).Users)
		i := slices.Index(users, give.of.User)
		if i < 0 {
			c.add(give.user, "is %.80q, who is not on duty on %s", give.of.User, give.of.Date)
			continue
		}
		users[i] = give.takes
		dates[give.of.Date] = users
	}
	if len(c.problems) > 0 {
		return roster, c.problems
	}
	return Override(roster, dates, nil), nil
}

// UsersOn are the users of a date, such as 2026-10-01.
func UsersOn(roster posthouse.Roster, date string) ([]string, error) {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return nil, fmt.Errorf("%.40q is not a date such as 2026-10-01", date)
	}
	return shiftOn(roster, day).Users, nil
}
