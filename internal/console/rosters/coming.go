package rosters

import (
	"net/url"
	"slices"
	"time"

	"github.com/posthouse/posthouse/rule"
)

const (
	// comingDays are how many days ahead the list of rosters says who is on duty: what the page of a roster shows at least, so that a swap
	// that begins here goes on there.
	comingDays = 14
	// mostComing bounds the rosters of which it does, and mostTogether the people of a day: each is a column, or stands in one.
	mostComing   = 8
	mostTogether = 4
)

// coming is a day of the next two weeks, with who is on duty by each roster.
type coming struct {
	Date    string
	Weekday int
	On      []shift
}

// shift is who is on duty by a roster on a day, and how many others there is no room for.
type shift struct {
	Roster string
	Users  []string
	More   int
}

// Gives is what follows the address of a roster's page for a user's duty of this day to wait there for the one that is taken for it.
func (c coming) Gives(user string) string {
	return "?" + url.Values{"give": {c.Date + " " + user}}.Encode() + "#calendar"
}

// ahead fills in the next two weeks of the first rosters that have somebody then, and returns who has. A calendar of workdays has nobody.
func (w *watches) ahead() (users []string, err error) {
	first, err := time.Parse(time.DateOnly, w.first())
	if err != nil {
		return nil, nil //nolint:nilerr // there is no roster
	}
	for _, one := range w.List {
		days, err := rule.Days(one.Roster, inZone(first, time.UTC), comingDays) // of which the dates count alone
		if err != nil {
			return nil, err
		}
		if len(w.Columns) == mostComing || !slices.ContainsFunc(days, func(d rule.Day) bool { return len(d.Users) > 0 }) {
			continue
		}
		w.Columns = append(w.Columns, one.Name)
		for i, d := range days {
			if i == len(w.Coming) {
				w.Coming = append(w.Coming, coming{Date: d.Date, Weekday: d.Weekday})
			}
			some := d.Users[:min(len(d.Users), mostTogether)]
			w.Coming[i].On = append(w.Coming[i].On, shift{one.Name, some, len(d.Users) - len(some)})
			users = append(users, some...)
		}
	}
	slices.Sort(users)
	return slices.Compact(users), nil
}

// first is the earliest duty day of now, empty without a roster: before a hand-over it is still that of yesterday.
func (w *watches) first() (date string) {
	for _, one := range w.List {
		if date == "" || one.Now.Date < date {
			date = one.Now.Date
		}
	}
	return date
}
