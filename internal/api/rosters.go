package api

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/rule"
)

func (a *api) rosters(c *call) (answer, error) {
	list, err := a.Store.Rosters(c.Context(), c.key.Tenant)
	if err != nil {
		return answer{}, err
	}
	return pageOf(list, "")
}

// named is the roster of the path.
func (a *api) named(c *call, name string) (posthouse.Roster, error) {
	r, found, err := a.Store.Roster(c.Context(), c.key.Tenant, name)
	if err == nil && !found {
		err = posthouse.Errorf(posthouse.CodeNotFound, "there is no roster %.80q", name)
	}
	return r, err
}

func (a *api) roster(c *call) (answer, error) {
	name, csv := strings.CutSuffix(c.PathValue("name"), ".csv")
	r, err := a.named(c, name)
	if err != nil || !csv {
		return answer{status: http.StatusOK, body: r}, err
	}
	var b bytes.Buffer
	if err := rule.WriteCSV(&b, r); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, raw: b.Bytes(), kind: "text/csv; charset=utf-8"}, nil
}

var rosterReader = bodyOf[posthouse.Roster]()

// putRoster replaces a roster. A CSV holds days only: hand-over and zone stay as they are.
func (a *api) putRoster(c *call) (answer, error) {
	kind, err := c.kindOf("application/json", "text/csv")
	if err != nil {
		return answer{}, err
	}
	var r posthouse.Roster
	if kind == "text/csv" {
		r, err = a.rosterFromCSV(c)
	} else {
		r, err = loose(c, rosterReader)
	}
	if err != nil {
		return answer{}, err
	}
	c.sameName(&r.Name, r.Tenant)
	checkName(c, "name", r.Name)
	if strings.HasSuffix(r.Name, ".csv") {
		c.refuse("name", "ends in .csv, which asks for a roster as CSV when it is read: leave it out")
	}
	r.Tenant = c.key.Tenant
	c.add(rule.Validate(r))
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	stored, err := a.Store.PutRoster(c.Context(), time.Now(), r)
	if err != nil {
		return answer{}, err
	}
	return ok(stored)
}

func (a *api) rosterFromCSV(c *call) (posthouse.Roster, error) {
	text, err := c.text()
	if err != nil {
		return posthouse.Roster{}, err
	}
	r, problems, err := rule.ReadCSV(bytes.NewReader(text))
	if err != nil {
		return r, unreadable("the CSV can not be read: %v", err)
	}
	c.problems = append(c.problems, problems...)
	old, _, err := a.Store.Roster(c.Context(), c.key.Tenant, c.PathValue("name"))
	r.HandOver, r.TimeZone = old.HandOver, old.TimeZone
	return r, err
}

func (a *api) deleteRoster(c *call) (answer, error) {
	return none(a.Store.DeleteRoster(c.Context(), c.key.Tenant, c.PathValue("name")))
}

// rosterCheck is what an operator should look at.
type rosterCheck struct {
	Name      string              `json:"name"`
	EmptyDays []string            `json:"empty_days" doc:"Days of the week, and dates, with nobody on duty."`
	Overlaps  map[string][]string `json:"overlaps" doc:"Users on several days, with those days."`
	Past      []string            `json:"past_overrides" doc:"Overrides of dates that are over."`
}

func (a *api) checkRoster(c *call) (answer, error) {
	r, err := a.named(c, c.PathValue("name"))
	if err != nil {
		return answer{}, err
	}
	found := rule.Report(r)
	out := rosterCheck{Name: r.Name, EmptyDays: append(append([]string{}, found.EmptyDays...), found.EmptyDates...), Overlaps: map[string][]string{}, Past: []string{}}
	for _, u := range found.Several {
		out.Overlaps[u.User] = u.Days
	}
	zone, err := rule.Zone(r, a.TimeZone)
	if err != nil {
		return answer{}, err
	}
	today := time.Now().In(zone).Format(time.DateOnly)
	for date := range r.Overrides {
		if date < today {
			out.Past = append(out.Past, date)
		}
	}
	slices.Sort(out.Past)
	return ok(out)
}

// scheduled is a line of the duty schedule, as the bank's document names it.
type scheduled struct {
	ID     string `json:"id"`
	Day    int    `json:"day_of_week" doc:"1 (Monday) to 7."`
	UserID string `json:"user_id"`
}

// dutySchedule is the roster duty in the words of its document, as the view duty_schedule shows it.
func (a *api) dutySchedule(c *call) (answer, error) {
	r, _, err := a.Store.Roster(c.Context(), c.key.Tenant, rule.DefaultRoster)
	if err != nil {
		return answer{}, err
	}
	var list []scheduled
	for day := 1; day <= 7; day++ {
		for _, user := range r.Days[itoa(day)] {
			list = append(list, scheduled{ID: rule.DefaultRoster + ":" + itoa(day) + ":" + user, Day: day, UserID: user})
		}
	}
	return pageOf(list, "")
}

// duty is who is on duty at a moment.
type duty struct {
	Roster     string    `json:"roster"`
	Date       string    `json:"date" doc:"The duty day: before the hand-over it is yesterday's."`
	Weekday    int       `json:"weekday" doc:"1 (Monday) to 7."`
	Configured bool      `json:"configured" doc:"False where the roster says nothing of that day."`
	Users      []string  `json:"users"`
	At         time.Time `json:"at"`
}

func (a *api) onDuty(c *call) (answer, error) {
	r, err := a.named(c, c.PathValue("name"))
	if err != nil {
		return answer{}, err
	}
	zone, err := rule.Zone(r, a.TimeZone)
	if err != nil {
		return answer{}, err
	}
	now := time.Now().In(zone)
	shift, err := rule.ShiftAt(r, now)
	if err != nil {
		return answer{}, err
	}
	users := append([]string{}, shift.Users...)
	return ok(duty{Roster: r.Name, Date: shift.Date, Weekday: shift.Weekday, Configured: shift.Source != "", Users: users, At: now})
}
