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

// marks says which days of the page are public holidays, and which days of a weekend are workdays: by the rosters that channels and the
// tenant's quiet hours name as their calendar, on the page of such a one by itself.
func (d duty) marks(c *calendar, r posthouse.Roster, others []posthouse.Roster, first time.Time, days int) (map[string]string, error) {
	by, err := d.calendars()
	if err != nil || len(by) == 0 {
		return nil, err
	}
	list := others
	guided := by[r.Name]
	if c.Guides, c.GuidesAll = guided.channels, guided.tenant; guided.any() {
		list = []posthouse.Roster{r}
	}
	out := map[string]string{}
	for _, one := range list {
		if !by[one.Name].any() {
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

// guided are who goes by a roster as their calendar: channels, in their hours and quiet hours, and the tenant in its quiet hours.
type guided struct {
	channels []string
	tenant   bool
}

func (g guided) any() bool { return g.tenant || len(g.channels) > 0 }

// Guiding reports whether somebody goes by this roster: a day with nobody on duty is a day off then.
func (c calendar) Guiding() bool { return c.GuidesAll || len(c.Guides) > 0 }

// calendars are the rosters that somebody goes by. A page goes without the marks of what its reader may not see.
func (d duty) calendars() (map[string]guided, error) {
	by := map[string]guided{}
	t, err := d.v.API.Tenants.Get(d.v.Ctx(), d.v.R.PathValue("tenant"))
	if err != nil && posthouse.CodeOf(err) != posthouse.CodeForbidden {
		return nil, err
	}
	for _, q := range t.QuietHours {
		if q.Calendar != "" {
			by[q.Calendar] = guided{tenant: true}
		}
	}
	list, err := d.v.API.Channels.List(d.v.Ctx())
	if err != nil && posthouse.CodeOf(err) != posthouse.CodeForbidden {
		return nil, err
	}
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
				g := by[name]
				g.channels = append(g.channels, ch.Name)
				by[name] = g
			}
		}
	}
	return by, nil
}
