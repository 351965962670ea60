// Package rosters is the console's pages of who is on duty: the list of rosters, a roster as a calendar, and the forms that change
// it after a look. What a roster means is package rule's.
package rosters

import (
	"embed"
	"fmt"
	"maps"
	"mime"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/rule"
)

//go:embed pages
var files embed.FS

// Pages are the pages of rosters.
func Pages() host.Pages {
	return host.Pages{
		Files: files, Words: texts(),
		Routes: []host.Route{
			host.Looks("rosters", "rosters.read", showAll),
			host.Acts("rosters", "rosters.put", change),
			host.Looks("rosters/{name}", "rosters.read", show),
			host.Acts("rosters/{name}", "rosters.put", change),
			host.Acts("rosters/{name}/override", "rosters.override", override),
			host.Looks("rosters/{name}/file", "rosters.read", save),
		},
	}
}

// watch is a line of the list of rosters.
type watch struct {
	posthouse.Roster
	Zone      string
	Now, Next rule.Day
	Empty     int // days of the next weeks with nobody
}

// watches is what the list of rosters shows.
type watches struct {
	List    []watch
	Coming  []coming
	Columns []string // the rosters of the coming days
	Book    book
}

// emptyAhead is how many days the list of rosters looks ahead for days with nobody.
const emptyAhead = 28

// duty is what reads and changes rosters on a visit.
type duty struct{ v *host.Visit }

func showAll(v *host.Visit) error {
	list, err := v.API.Rosters.List(v.Ctx())
	if err != nil {
		return err
	}
	if len(list) == 1 && v.Query("all")+v.Query("said") == "" { // who has one roster comes for it
		return v.GoTo(v.At("rosters", list[0].Name))
	}
	all, users := watches{List: make([]watch, len(list))}, []string{}
	for i, r := range list {
		if all.List[i], err = (duty{v}).watchOf(r); err != nil {
			return err
		}
		users = slices.Concat(users, all.List[i].Now.Users, all.List[i].Next.Users)
	}
	soon, err := all.ahead()
	if err != nil {
		return err
	}
	if all.Book, err = (duty{v}).bookOf(slices.Concat(users, soon)); err != nil {
		return err
	}
	return v.Show("rosters", "rosters", all)
}

// watchOf is who is on duty by a roster, now and next.
func (d duty) watchOf(r posthouse.Roster) (w watch, err error) {
	zone, err := rule.Zone(r, d.v.Zone.String())
	if err != nil {
		return w, err
	}
	w = watch{Roster: r, Zone: zone.String()}
	now := time.Now().In(zone)
	if w.Now, w.Next, err = rule.NowAndNext(r, now); err != nil {
		return w, err
	}
	ahead, err := rule.Days(r, now, emptyAhead)
	for _, day := range ahead {
		if len(day.Users) == 0 {
			w.Empty++
		}
	}
	return w, err
}

// calendar is what the page of a roster shows.
type calendar struct {
	watch
	New     bool
	View    string // month or week
	Label   string
	Earlier beyond // the page before
	Later   beyond
	Date    string // that the page is about
	ahead   time.Time
	tones   map[string]int
	Weeks   [][]square
	Gaps    []string // dates on the page with nobody
	Several []rule.UserDays
	Guides  []string // channels that go by this roster as their calendar of workdays
	// GuidesAll is set where the tenant's quiet hours do.
	GuidesAll bool
	By        []string  // the calendars by which the page marks days off
	Give      rule.Turn // a duty that is to be swapped, without a user for none
	Day       string    // whose form is open, empty for none
	Book      book
	Asked     wish
	Look      *look
	Problems  []posthouse.Problem
}

// square is a day of the calendar.
type square struct {
	rule.Day
	Outside bool // of another month
	Today   bool // it is this duty day now
	Also    []elsewhere
	Mark    string // off for a public holiday, work for a weekend's day that is a workday, empty for a day as each other
}

// elsewhere says that somebody is on duty by another roster on the same day.
type elsewhere struct{ User, Roster string }

func show(v *host.Visit) error {
	r, err := v.API.Rosters.Get(v.Ctx(), v.R.PathValue("name"))
	if err != nil {
		return err
	}
	c, err := duty{v}.calendarOf(r, v.Query("view"), v.Query("date"))
	if err != nil {
		return err
	}
	c.Give, c.Day = giveOf(v.Query("give")), v.Query("day")
	if _, err := time.Parse(time.DateOnly, c.Day); err != nil {
		c.Day = ""
	}
	return v.Show("roster", "rosters", c)
}

// calendarOf is the month or week of a roster in which a date lies, today's without one.
func (d duty) calendarOf(r posthouse.Roster, view, date string) (c calendar, err error) {
	if c.watch, err = d.watchOf(r); err != nil {
		return c, err
	}
	users := usersOf(r)
	if c.Book, err = d.bookOf(users); err != nil {
		return c, err
	}
	c.tones = tonesOf(users)
	at, err := time.Parse(time.DateOnly, date)
	if err != nil || !posthouse.ValidTime(at) {
		at, _ = time.Parse(time.DateOnly, c.Now.Date) // it wrote the date
	}
	if c.View = "month"; view == "week" {
		c.View = view
	}
	c.Date, c.Several = at.Format(time.DateOnly), rule.Report(r).Several
	if date == "" { // the page that one comes to has the next two weeks, also at the end of a month
		c.ahead = at.AddDate(0, 0, 14)
	}
	first, days := c.span(at)
	shifts, err := rule.Days(r, inZone(first, c.Now.From.Location()), days)
	if err != nil {
		return c, err
	}
	others, err := d.others(r.Name, first, days)
	if err != nil {
		return c, err
	}
	marks, err := d.marks(&c, r, others.list, first, days)
	if err != nil {
		return c, err
	}
	for i, day := range shifts {
		s := square{Day: day, Today: day.Date == c.Now.Date, Mark: marks[day.Date], Outside: c.View == "month" && day.Date[:7] != c.Date[:7] && (day.Date < c.Date || day.Date > c.ahead.Format(time.DateOnly))}
		for _, user := range day.Users {
			for _, name := range others.duties[day.Date][user] {
				s.Also = append(s.Also, elsewhere{user, name})
			}
		}
		if len(day.Users) == 0 && !s.Outside {
			c.Gaps = append(c.Gaps, day.Date)
		}
		if i%7 == 0 {
			c.Weeks = append(c.Weeks, nil)
		}
		c.Weeks[len(c.Weeks)-1] = append(c.Weeks[len(c.Weeks)-1], s)
	}
	return c, nil
}

// beyond is a page before or after that of a calendar: a date on it, and what names it.
type beyond struct{ Date, Label string }

// span is the Monday that the page begins with and how many days it has; it sets what names the page and its neighbours.
func (c *calendar) span(at time.Time) (first time.Time, days int) {
	monday := func(t time.Time) time.Time { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) }
	if c.View == "week" {
		first = monday(at)
		week := func(at time.Time) beyond {
			first := monday(at)
			return beyond{at.Format(time.DateOnly), first.Format(time.DateOnly) + " – " + first.AddDate(0, 0, 6).Format(time.DateOnly)}
		}
		c.Label, c.Earlier, c.Later = week(at).Label, week(at.AddDate(0, 0, -7)), week(at.AddDate(0, 0, 7))
		return first, 7
	}
	month := at.AddDate(0, 0, 1-at.Day())
	next := month.AddDate(0, 1, 0)
	of := func(month time.Time) beyond { return beyond{month.Format(time.DateOnly), month.Format("2006-01")} }
	c.Label, c.Earlier, c.Later = of(month).Label, of(month.AddDate(0, -1, 0)), of(next)
	first = monday(month)
	last := monday(next.AddDate(0, 0, -1)).AddDate(0, 0, 7)
	if !c.ahead.IsZero() && !last.After(c.ahead) {
		last = monday(c.ahead).AddDate(0, 0, 7)
	}
	return first, int(last.Sub(first) / (24 * time.Hour))
}

// inZone is noon of a calendar day in a zone: no clock is changed then.
func inZone(day time.Time, zone *time.Location) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, zone)
}

// beside are the other rosters, and whose duties they have by date and user.
type beside struct {
	list   []posthouse.Roster
	duties map[string]map[string][]string
}

// others are the other rosters that have users on duty.
func (d duty) others(name string, first time.Time, days int) (out beside, err error) {
	list, err := d.v.API.Rosters.List(d.v.Ctx())
	if err != nil {
		return out, err
	}
	out.duties = map[string]map[string][]string{}
	for _, r := range list {
		if r.Name == name {
			continue
		}
		out.list = append(out.list, r)
		shifts, err := rule.Days(r, inZone(first, time.UTC), days) // of which the dates count alone
		if err != nil {
			return out, err
		}
		for _, day := range shifts {
			for _, user := range day.Users {
				if out.duties[day.Date] == nil {
					out.duties[day.Date] = map[string][]string{}
				}
				out.duties[day.Date][user] = append(out.duties[day.Date][user], r.Name)
			}
		}
	}
	return out, nil
}

// mostOnDuty bounds how many users of a day the calendar shows.
const mostOnDuty = 20

// Shown are the users of a day that the calendar has room for.
func (s square) Shown() []string { return s.Users[:min(len(s.Users), mostOnDuty)] }

// More is how many others there are.
func (s square) More() int { return len(s.Users) - len(s.Shown()) }

// mostGaps bounds how many dates with nobody the page names.
const mostGaps = 7

// GapsShown are the first dates with nobody.
func (c calendar) GapsShown() []string { return c.Gaps[:min(len(c.Gaps), mostGaps)] }

// GapsMore is how many others there are.
func (c calendar) GapsMore() int { return len(c.Gaps) - len(c.GapsShown()) }

// Version says which state of the roster a page shows, so that nothing is stored over another; empty for one that is not there.
func (w watch) Version() string {
	if w.UpdatedAt.IsZero() {
		return ""
	}
	return w.Tag()
}

// Weekdays are the days of the week in their order.
func (c calendar) Weekdays() []int { return []int{1, 2, 3, 4, 5, 6, 7} }

// Dates are the dates that have users of their own, in order.
func (c calendar) Dates() []string { return slices.Sorted(maps.Keys(c.Overrides)) }

// save answers a roster as a file.
func save(v *host.Visit) error {
	name, as := v.R.PathValue("name"), v.Query("as")
	read, kind := v.API.Rosters.Export, "text/csv; charset=utf-8"
	switch as {
	case "", "csv":
		as = "csv"
	case "ics":
		read, kind = v.API.Rosters.Calendar, "text/calendar; charset=utf-8"
	default:
		return posthouse.Errorf(posthouse.CodeNotFound, "there is no such form of a roster")
	}
	text, err := read(v.Ctx(), name)
	if err != nil {
		return err
	}
	v.W.Header().Set("Content-Type", kind)
	v.W.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fmt.Sprintf("%s.%s", name, as)}))
	_, _ = v.W.Write(text) // a browser that left is no error of ours
	return nil
}
