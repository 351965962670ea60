package client

import (
	"context"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// Rosters say who is on duty.
type Rosters struct{ api *caller }

// RosterCheck shows what may be a mistake in a roster.
type RosterCheck struct {
	Name string `json:"name"`
	// EmptyDays are the days of the week, "1" to "7", and the dates on which nobody is on duty.
	EmptyDays []string `json:"empty_days"`
	// Overlaps are the users who are on duty on several days of the week, with those days.
	Overlaps map[string][]string `json:"overlaps"`
	// Past are the overrides of dates that are over.
	Past []string `json:"past_overrides"`
}

// Duty says who is on duty.
type Duty struct {
	Roster string `json:"roster"`
	// Date is the duty day, Weekday its number, 1 for Monday.
	Date    string `json:"date"`
	Weekday int    `json:"weekday"`
	// Configured is false where the roster says nothing about the day.
	Configured bool      `json:"configured"`
	Users      []string  `json:"users"`
	At         time.Time `json:"at"`
}

// List lists the rosters by name.
func (c Rosters) List(ctx context.Context) ([]posthouse.Roster, error) {
	page, err := get[Page[posthouse.Roster]](ctx, c.api, path("rosters"), nil)
	return page.Items, err
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

// Export reads a roster as CSV.
func (c Rosters) Export(ctx context.Context, name string) ([]byte, error) {
	answer, err := c.api.do(ctx, request{method: http.MethodGet, path: path("rosters", name+".csv")})
	return answer.body, err
}

// Delete deletes a roster.
func (c Rosters) Delete(ctx context.Context, name string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("rosters", name)})
	return err
}

// Check shows the empty days and the overlaps of a roster.
func (c Rosters) Check(ctx context.Context, name string) (RosterCheck, error) {
	return get[RosterCheck](ctx, c.api, path("rosters", name, "check"), nil)
}

// OnDuty says who is on duty now.
func (c Rosters) OnDuty(ctx context.Context, roster string) (Duty, error) {
	return get[Duty](ctx, c.api, path("rosters", roster, "today"), nil)
}
