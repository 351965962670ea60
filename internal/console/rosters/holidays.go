package rosters

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/rule"
)

// The marks of a day, which end the names of words.
const (
	dayOff  = "off"
	dayWork = "work"
)

// marks says which days of the page are public holidays, and which days of a weekend are workdays: by the rosters that channels name as
// their calendar, on the page of such a one by itself.
func (d duty) marks(c *calendar, r posthouse.Roster, others []posthouse.Roster, first time.Time, days int) (map[string]string, error) {
	by, err := d.calendars()
	if err != nil || len(by) == 0 {
		return nil, err
	}
	list := others
	if c.Guides = by[r.Name]; len(c.Guides) > 0 {
		list = []posthouse.Roster{r}
	}
	out := map[string]string{}
	for _, one := range list {
		if len(by[one.Name]) == 0 {
			continue
		}
		if one.Name != r.Name {
			c.By = append(c.By, one.Name)
		}
		shifts, err := rule.Days(one, inZone(first, time.UTC), days) // of which the dates count alone
		if err != nil {
			return nil, err
		}
		for _, day := range shifts {
			switch weekend := day.Weekday > 5; {
			case len(day.Users) == 0 && !weekend:
				out[day.Date] = dayOff
			case len(day.Users) > 0 && weekend && out[day.Date] == "":
				out[day.Date] = dayWork
			}
		}
	}
	return out, nil
}

// calendars are the rosters that channels go by, in their hours and quiet hours, and the channels of each.
func (d duty) calendars() (map[string][]string, error) {
	list, err := d.v.API.Channels.List(d.v.Ctx())
	if posthouse.CodeOf(err) == posthouse.CodeForbidden { // the page goes without marks
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	by := map[string][]string{}
	for _, ch := range list {
		var names []string
		if ch.Rate != nil && ch.Rate.Hours != nil {
			names = append(names, ch.Rate.Hours.Calendar)
		}
		for _, q := range ch.QuietHours {
			names = append(names, q.Calendar)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if name != "" {
				by[name] = append(by[name], ch.Name)
			}
		}
	}
	return by, nil
}
