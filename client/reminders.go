package client

import (
	"context"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// Reminders make messages at several moments.
type Reminders struct{ api *caller }

// Reminder is a reminder with what is to come.
type Reminder struct {
	posthouse.Reminder
	// DuplicateOf is the open reminder that has the draft's dedup_key already; nothing was created then.
	DuplicateOf string `json:"duplicate_of,omitempty"`
	// Slots are the next ones, at most 10.
	Slots []time.Time `json:"next_slots"`
}

// Create opens a reminder: its Draft, its Countdown or Repeat and its Missed are used. It carries an
// Idempotency-Key of its own, so a lost answer is asked for again and nobody is reminded twice.
func (c Reminders) Create(ctx context.Context, r posthouse.Reminder) (Reminder, error) {
	return c.CreateOnce(ctx, posthouse.NewID(), r)
}

// CreateOnce is Remind with the caller's own Idempotency-Key, up to 255 bytes.
func (c Reminders) CreateOnce(ctx context.Context, key string, r posthouse.Reminder) (Reminder, error) {
	if err := checkKey(key); err != nil {
		return Reminder{}, err
	}
	req, err := withBody(http.MethodPost, path("reminders"), struct {
		Draft     posthouse.Draft      `json:"draft"`
		Countdown *posthouse.Countdown `json:"countdown,omitempty"`
		Repeat    *posthouse.Repeat    `json:"repeat,omitempty"`
		Missed    posthouse.Missed     `json:"missed,omitempty"`
	}{r.Draft, r.Countdown, r.Repeat, r.Missed})
	if err != nil {
		return Reminder{}, err
	}
	req.key = key
	return call[Reminder](ctx, c.api, req)
}

// Get reads one reminder.
func (c Reminders) Get(ctx context.Context, id string) (Reminder, error) {
	return get[Reminder](ctx, c.api, path("reminders", id), nil)
}

// List lists reminders by id. Of the filter, Kind and Ref together, or Cursor and Limit, are used.
func (c Reminders) List(ctx context.Context, f Filter) (Page[Reminder], error) {
	return get[Page[Reminder]](ctx, c.api, path("reminders"), Filter{Kind: f.Kind, Ref: f.Ref, Cursor: f.Cursor, Limit: f.Limit}.query())
}

// End ends a reminder and cancels what has not started of its last message.
func (c Reminders) End(ctx context.Context, id string) (Reminder, error) {
	return send[Reminder](ctx, c.api, http.MethodPost, path("reminders", id, "end"), nil)
}

// EndRef ends all reminders of a kind and ref.
func (c Reminders) EndRef(ctx context.Context, kind, ref string) (Page[Reminder], error) {
	return send[Page[Reminder]](ctx, c.api, http.MethodPost, path("reminders", "end"), map[string]string{"kind": kind, "ref": ref})
}
