package api

import (
	"context"
	"io"
	"mime"
	"strings"
	"time"
	"unicode"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/ical"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/rule"
)

const calendarKind = "text/calendar"

// calendarParams are the query parameters that say how a calendar is read.
func calendarParams() []string { return []string{"by", "as", "unknown", "hand_over", "time_zone"} }

// calendarsOnly refuses them beside a body that is no calendar.
func calendarsOnly(c *web.Call) {
	if kind, _, _ := mime.ParseMediaType(c.Header.Get("Content-Type")); kind == calendarKind {
		return
	}
	for _, name := range calendarParams() {
		if c.Query.Has(name) {
			c.Refuse("query."+name, "says how a calendar is read: leave it out, or send %s", calendarKind)
		}
	}
}

// writeCalendar writes a roster as a calendar: whoever subscribes to it reads it again.
func (r rosters) writeCalendar(w io.Writer, of posthouse.Roster) error {
	zone, err := rule.Zone(of, r.zone.String())
	if err != nil {
		return err
	}
	return ical.Write(w, of, zone, time.Now())
}

// fromCalendar reads a roster from a calendar, over the hand-over and zone that it had.
func (r rosters) fromCalendar(c *web.Call, text []byte) (posthouse.Roster, error) {
	o := ical.Options{
		Zone: r.zone.String(), Now: time.Now(), People: called{r.users, c.Tenant()}, As: calledAs(c),
		By: ical.By(c.Query.Get("by")), Keep: c.Query.Get("unknown") == "keep", HandOver: c.Query.Get("hand_over"), TimeZone: c.Query.Get("time_zone"),
	}
	if o.By != "" && o.By != ical.ByAttendee && o.By != ical.BySummary {
		c.Refuse("query.by", "is %.40q: want %s or %s", o.By, ical.ByAttendee, ical.BySummary)
	}
	if unknown := c.Query.Get("unknown"); unknown != "" && !o.Keep {
		c.Refuse("query.unknown", "is %.40q: want keep", unknown)
	}
	old, _, err := r.store.Roster(c.Context(), c.Tenant(), c.PathValue("name"))
	if err != nil || c.Wrong() != nil {
		return old, err
	}
	o.Roster = posthouse.Roster{HandOver: old.HandOver, TimeZone: old.TimeZone}
	given, problems, err := ical.Read(c.Context(), text, o)
	c.Add(problems)
	return given, err
}

// calledAs are the users by what a calendar calls them, which the query names as NAME=USER with commas between.
func calledAs(c *web.Call) map[string]string {
	out := map[string]string{}
	for pair := range strings.SplitSeq(c.Query.Get("as"), ",") {
		name, user, found := strings.Cut(pair, "=")
		if name, user = strings.TrimSpace(name), strings.TrimSpace(user); name != "" && user != "" {
			out[name] = user
		} else if found || pair != "" {
			c.Refuse("query.as", "has %.80q: want NAME=USER, with commas between", pair)
		}
	}
	return out
}

// called finds users of a tenant's directory by what a calendar calls them.
type called struct {
	users  Users
	tenant string
}

// maxCalled bounds ids and names, in bytes.
const maxCalled = 255

// Called are those whose id a text is, else those whose name or address it is.
func (d called) Called(ctx context.Context, text string) ([]string, error) {
	if len(text) > maxCalled || strings.ContainsFunc(text, unicode.IsControl) {
		return nil, nil
	}
	switch _, err := d.users.User(ctx, d.tenant, text); {
	case err == nil:
		return []string{text}, nil
	case posthouse.CodeOf(err) != posthouse.CodeNotFound:
		return nil, err
	}
	found, err := d.users.FindUsers(ctx, d.tenant, text, mostFound)
	var ids []string
	for _, u := range found {
		is := strings.EqualFold(u.Name, text)
		for _, address := range u.Addresses {
			is = is || strings.EqualFold(address, text)
		}
		if is {
			ids = append(ids, u.ID)
		}
	}
	return ids, err
}
