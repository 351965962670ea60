package api

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/rule"
	"github.com/posthouse/posthouse/wire"
)

// Rosters keeps duty rosters.
type Rosters interface {
	PutRoster(ctx context.Context, now time.Time, r posthouse.Roster) (posthouse.Roster, error)
	Roster(ctx context.Context, tenant, name string) (r posthouse.Roster, found bool, err error)
	Rosters(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Roster, next string, err error)
	DeleteRoster(ctx context.Context, tenant, name string) error
}

// rosters is the resource of who is on duty when.
type rosters struct {
	store Rosters
	users Users
	// channels and tenants have hours that go by rosters.
	channels stored
	tenants  Tenants
	zone     *time.Location
}

func (r rosters) routes() []web.Route {
	body := web.BodyOf[posthouse.Roster]().OrCSV(r.fromCSV).OrCalendar(r.fromCalendar)
	return web.Tagged("rosters",
		web.Get("/v1/rosters", reads, "List duty rosters.", r.list).Paged(),
		web.Get("/v1/rosters/{name}", reads, "A roster; with .csv behind the name as CSV, with .ics as a calendar to subscribe to.", r.get).Of(posthouse.Roster{}),
		web.Put("/v1/rosters/{name}", admin, "Create a roster or replace it, from JSON, CSV or an iCalendar (RFC 5545).", body, r.put).
			Query(append([]string{"dry_run"}, calendarParams()...)...).Guarded(),
		web.Delete("/v1/rosters/{name}", admin, "Delete a roster.", r.remove),
		web.Get("/v1/rosters/{name}/check", reads, "Days without anybody, and people on several days.", r.check),
		web.Get("/v1/rosters/{name}/today", reads, "Who is on duty now.", r.today),
	)
}

func (r rosters) list(c *web.Call) (wire.Page[posthouse.Roster], error) {
	return paged(c, func(cursor string, limit int) ([]posthouse.Roster, string, error) {
		return r.store.Rosters(c.Context(), c.Tenant(), cursor, limit)
	})
}

// named is the roster of a name.
func (r rosters) named(c *web.Call, name string) (posthouse.Roster, error) {
	found, ok, err := r.store.Roster(c.Context(), c.Tenant(), name)
	if err == nil && !ok {
		err = posthouse.Errorf(posthouse.CodeNotFound, "there is no roster %.80q", name)
	}
	return found, err
}

func (r rosters) get(c *web.Call) (any, error) {
	given := c.PathValue("name")
	name := strings.TrimSuffix(strings.TrimSuffix(given, ".csv"), web.CalendarSuffix)
	found, err := r.named(c, name)
	c.Tag(found.Tag())
	if err != nil || name == given {
		return found, err
	}
	var b bytes.Buffer
	if strings.HasSuffix(given, web.CalendarSuffix) {
		err = r.writeCalendar(&b, found)
		return web.Raw{Kind: "text/calendar; charset=utf-8", Text: b.Bytes()}, err
	}
	err = rule.WriteCSV(&b, found)
	return web.Raw{Kind: "text/csv; charset=utf-8", Text: b.Bytes()}, err
}

// put replaces a roster, or says what would be stored. A CSV holds days only: hand-over and zone stay as they are.
func (r rosters) put(c *web.Call, in posthouse.Roster) (posthouse.Roster, error) {
	c.NameIn(&in.Name, in.Tenant)
	c.CheckName("name", in.Name)
	for _, suffix := range []string{".csv", web.CalendarSuffix} {
		if strings.HasSuffix(in.Name, suffix) {
			c.Refuse("name", "ends in %s, which asks for a roster in that form when it is read: leave it out", suffix)
		}
	}
	in.Tenant = c.Tenant()
	calendarsOnly(c)
	rehearse := c.Truth("dry_run")
	c.Add(rule.Validate(in))
	if err := c.Wrong(); err != nil {
		return in, err
	}
	before, found, unread := r.store.Roster(c.Context(), c.Tenant(), in.Name)
	if rehearse {
		return r.rehearse(c, in, before, found, unread)
	}
	stored, err := r.store.PutRoster(c.Context(), time.Now(), in)
	puts(c, unread == nil && found, before, stored)
	c.Tag(stored.Tag())
	return stored, err
}

// rehearse answers a roster that would be stored over another.
func (r rosters) rehearse(c *web.Call, in, before posthouse.Roster, found bool, unread error) (posthouse.Roster, error) {
	c.Unchanged()
	tag := ""
	if found {
		tag = before.Tag()
		c.Tag(tag)
	}
	return in, cmp.Or(unread, work.OnlyOf(c.Context()).Check("roster", in.Name, tag))
}

func (r rosters) fromCSV(c *web.Call, text []byte) (posthouse.Roster, error) {
	given, problems, err := rule.ReadCSV(bytes.NewReader(audience.Text(text)))
	if err != nil {
		return given, web.Unreadable("the CSV cannot be read: %v", err)
	}
	c.Add(problems)
	old, _, err := r.store.Roster(c.Context(), c.Tenant(), c.PathValue("name"))
	given.HandOver, given.TimeZone = old.HandOver, old.TimeZone
	return given, err
}

// asCalendar refuses to delete a roster by whose days hours go: without it they would go by Saturdays and Sundays.
func (r rosters) asCalendar(c *web.Call, roster string) error {
	names := func(list []posthouse.QuietHours) bool {
		return slices.ContainsFunc(list, func(q posthouse.QuietHours) bool { return q.Calendar == roster })
	}
	used := func(by string) error {
		return posthouse.Errorf(posthouse.CodeConflict, "the roster says which days are off for the hours of %s: change these first", by)
	}
	if t, err := r.tenants.Tenant(c.Context(), c.Tenant()); err == nil && names(t.QuietHours) {
		return used("the tenant " + t.Name)
	}
	for cursor := ""; ; {
		list, next, err := r.channels.List(c.Context(), c.Tenant(), cursor, 0)
		if err != nil {
			return err
		}
		for _, ch := range list {
			if names(ch.QuietHours) || ch.Rate != nil && ch.Rate.Hours != nil && ch.Rate.Hours.Calendar == roster {
				return used("the channel " + ch.Name)
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

func (r rosters) remove(c *web.Call) error {
	before, err := r.named(c, c.PathValue("name"))
	deletes(c, before, err)
	if err == nil {
		err = r.asCalendar(c, before.Name)
	}
	if err != nil {
		return err
	}
	return r.store.DeleteRoster(c.Context(), c.Tenant(), c.PathValue("name"))
}

// check says what an operator should look at.
func (r rosters) check(c *web.Call) (out wire.RosterCheck, err error) {
	of, now, err := r.now(c)
	if err != nil {
		return out, err
	}
	found := rule.Report(of)
	out = wire.RosterCheck{Name: of.Name, EmptyDays: append(append([]string{}, found.EmptyDays...), found.EmptyDates...), Overlaps: map[string][]string{}, Past: []string{}}
	for _, u := range found.Several {
		out.Overlaps[u.User] = u.Days
	}
	for date := range of.Overrides {
		if date < now.Format(time.DateOnly) {
			out.Past = append(out.Past, date)
		}
	}
	slices.Sort(out.Past)
	return out, nil
}

// now is the roster that the path names, and the time in its zone.
func (r rosters) now(c *web.Call) (posthouse.Roster, time.Time, error) {
	of, err := r.named(c, c.PathValue("name"))
	if err != nil {
		return of, time.Time{}, err
	}
	zone, err := rule.Zone(of, r.zone.String())
	if err != nil {
		return of, time.Time{}, fmt.Errorf("read the roster %s: %w", of.Name, err)
	}
	return of, time.Now().In(zone), nil
}

func (r rosters) today(c *web.Call) (wire.Duty, error) {
	of, now, err := r.now(c)
	if err != nil {
		return wire.Duty{}, err
	}
	shift, err := rule.ShiftAt(of, now)
	users := append([]string{}, shift.Users...)
	return wire.Duty{Roster: of.Name, Date: shift.Date, Weekday: shift.Weekday, Configured: shift.Source != "", Users: users, At: now}, err
}
