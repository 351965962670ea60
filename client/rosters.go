package client

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Rosters say who is on duty.
type Rosters struct{ api *caller }

// List lists the rosters by name.
func (c Rosters) List(ctx context.Context) ([]posthouse.Roster, error) {
	return whole[posthouse.Roster](ctx, c.api, path("rosters"))
}

// Get reads one roster.
func (c Rosters) Get(ctx context.Context, name string) (posthouse.Roster, error) {
	return get[posthouse.Roster](ctx, c.api, path("rosters", name), nil)
}

// Put stores a roster; what it had before is gone.
func (c Rosters) Put(ctx context.Context, r posthouse.Roster) (posthouse.Roster, error) {
	return send[posthouse.Roster](ctx, c.api, http.MethodPut, path("rosters", r.Name), struct {
		Days      map[string][]string `json:"days"`
		Overrides map[string][]string `json:"overrides,omitempty"`
		HandOver  string              `json:"hand_over,omitempty"`
		TimeZone  string              `json:"time_zone,omitempty"`
	}{r.Days, r.Overrides, r.HandOver, r.TimeZone})
}

// Import stores a roster from CSV. Its hand-over time and time zone stay as they were.
func (c Rosters) Import(ctx context.Context, name string, csv []byte) (posthouse.Roster, error) {
	return call[posthouse.Roster](ctx, c.api, request{method: http.MethodPut, path: path("rosters", name), kind: "text/csv", body: csv})
}

// CalendarImport says how a calendar is read.
type CalendarImport struct {
	// By is where the users of an event stand: attendee or summary. Defaults to attendees, and the summary of an event without any.
	By string
	// As are users by what the calendar calls them, for those whom the directory does not know so.
	As map[string]string
	// KeepUnknown takes as a user's id what is nobody of the directory. Defaults to false: that is a problem.
	KeepUnknown bool
	// HandOver and TimeZone are the roster's. Default to what the calendar says, if we wrote it, else to what they were.
	HandOver, TimeZone string
	// DryRun stores nothing, and returns what would be stored.
	DryRun bool
}

// query is how the address says it.
func (i CalendarImport) query() url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	var as []string
	for _, name := range slices.Sorted(maps.Keys(i.As)) {
		as = append(as, name+"="+i.As[name])
	}
	set("by", i.By)
	set("as", strings.Join(as, ","))
	set("hand_over", i.HandOver)
	set("time_zone", i.TimeZone)
	if i.KeepUnknown {
		q.Set("unknown", "keep")
	}
	if i.DryRun {
		q.Set("dry_run", "true")
	}
	return q
}

// ImportCalendar stores a roster from an iCalendar: what repeats each week without an end are its days, everything else dates.
func (c Rosters) ImportCalendar(ctx context.Context, name string, ics []byte, how CalendarImport) (posthouse.Roster, error) {
	return call[posthouse.Roster](ctx, c.api, request{method: http.MethodPut, path: path("rosters", name), query: how.query(), kind: "text/calendar", body: ics})
}

// Export reads a roster as CSV.
func (c Rosters) Export(ctx context.Context, name string) ([]byte, error) {
	answer, err := c.api.do(ctx, request{method: http.MethodGet, path: path("rosters", name+".csv")})
	return answer.body, err
}

// Calendar reads a roster as iCalendar, which ImportCalendar takes back. Calendars subscribe to it at
// /v1/rosters/NAME.ics with an API key as the password.
func (c Rosters) Calendar(ctx context.Context, name string) ([]byte, error) {
	answer, err := c.api.do(ctx, request{method: http.MethodGet, path: path("rosters", name+".ics")})
	return answer.body, err
}

// Override changes who is on duty on single dates, or has two users swap, and says who is on duty then.
func (c Rosters) Override(ctx context.Context, name string, change wire.Override) (wire.Overridden, error) {
	return send[wire.Overridden](ctx, c.api, http.MethodPost, path("rosters", name, "override"), change)
}

// Delete deletes a roster.
func (c Rosters) Delete(ctx context.Context, name string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("rosters", name)})
	return err
}

// Check shows the empty days and the overlaps of a roster.
func (c Rosters) Check(ctx context.Context, name string) (wire.RosterCheck, error) {
	return get[wire.RosterCheck](ctx, c.api, path("rosters", name, "check"), nil)
}

// OnDuty says who is on duty now.
func (c Rosters) OnDuty(ctx context.Context, roster string) (wire.Duty, error) {
	return get[wire.Duty](ctx, c.api, path("rosters", roster, "today"), nil)
}
