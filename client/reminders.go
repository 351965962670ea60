package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Reminders make messages at several moments.
type Reminders struct{ api *caller }

// Create opens a reminder: its Draft or Campaign, its Countdown or Repeat and its Missed are used. It carries an
// Idempotency-Key of its own, so a lost answer is asked for again and nobody is reminded twice.
func (c Reminders) Create(ctx context.Context, r posthouse.Reminder) (wire.Reminder, error) {
	return c.CreateOnce(ctx, posthouse.NewID(), r)
}

// CreateOnce is Create with the caller's own Idempotency-Key, up to 255 bytes.
func (c Reminders) CreateOnce(ctx context.Context, key string, r posthouse.Reminder) (wire.Reminder, error) {
	if err := checkKey(key); err != nil {
		return wire.Reminder{}, err
	}
	req, err := withBody(http.MethodPost, path("reminders"), remindOf(r))
	if err != nil {
		return wire.Reminder{}, err
	}
	req.key = key
	return call[wire.Reminder](ctx, c.api, req)
}

func remindOf(r posthouse.Reminder) wire.Remind {
	return wire.Remind{Draft: r.Draft, Campaign: r.Campaign, Countdown: r.Countdown, Repeat: r.Repeat, Missed: r.Missed}
}

// Try says what Create would open, with its next slots, and opens nothing.
func (c Reminders) Try(ctx context.Context, r posthouse.Reminder) (wire.Reminder, error) {
	req, err := withBody(http.MethodPost, path("reminders"), remindOf(r))
	if err != nil {
		return wire.Reminder{}, err
	}
	req.query = url.Values{"dry_run": {"true"}}
	return call[wire.Reminder](ctx, c.api, req)
}

// Put opens a reminder with an id of yours, or replaces what the open one says: what has come of that stays. Doing it again changes nothing.
func (c Reminders) Put(ctx context.Context, id string, r posthouse.Reminder) (wire.Reminder, error) {
	return send[wire.Reminder](ctx, c.api, http.MethodPut, path("reminders", id), remindOf(r))
}

// Pause has nothing more come of a reminder until it is resumed. A message that was made before stays.
func (c Reminders) Pause(ctx context.Context, id string) (wire.Reminder, error) {
	return send[wire.Reminder](ctx, c.api, http.MethodPost, path("reminders", id, "pause"), nil)
}

// Resume has a reminder go on with its first slot from now. The slot of one that a new epoch holds is passed over.
func (c Reminders) Resume(ctx context.Context, id string) (wire.Reminder, error) {
	return send[wire.Reminder](ctx, c.api, http.MethodPost, path("reminders", id, "resume"), nil)
}

// Get reads one reminder.
func (c Reminders) Get(ctx context.Context, id string) (wire.Reminder, error) {
	return get[wire.Reminder](ctx, c.api, path("reminders", id), nil)
}

// List lists reminders by id. Of the filter, Held, and Kind and Ref together, or Cursor and Limit, are used.
func (c Reminders) List(ctx context.Context, f Filter) (wire.Page[wire.Reminder], error) {
	return get[wire.Page[wire.Reminder]](ctx, c.api, path("reminders"), Filter{Kind: f.Kind, Ref: f.Ref, Held: f.Held, Cursor: f.Cursor, Limit: f.Limit}.query())
}

// End ends a reminder and cancels what has not started of its last message.
func (c Reminders) End(ctx context.Context, id string) (wire.Reminder, error) {
	return send[wire.Reminder](ctx, c.api, http.MethodPost, path("reminders", id, "end"), nil)
}

// EndRef ends all reminders of a kind and ref.
func (c Reminders) EndRef(ctx context.Context, kind, ref string) (wire.Page[wire.Reminder], error) {
	return send[wire.Page[wire.Reminder]](ctx, c.api, http.MethodPost, path("reminders", "end"), wire.Ref{Kind: kind, Ref: ref})
}
