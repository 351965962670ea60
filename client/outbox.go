package client

import (
	"context"
	"net/http"
	"time"
)

// Outbox is what programs handed in through the database and the server could not accept so far.
type Outbox struct{ api *caller }

// OutboxPage is how the outbox stands: how many rows wait for their first try, how many could not be
// accepted so far, and which those are.
type OutboxPage struct {
	Waiting  int `json:"waiting,omitempty"`
	Rejected int `json:"rejected,omitempty"`
	Page[RejectedRow]
}

// RejectedRow is a row of the outbox that could not be accepted so far, without what it would send.
type RejectedRow struct {
	ID        string    `json:"id"`
	Problem   string    `json:"problem"`
	Failures  int       `json:"failures"` // how often it was tried
	CreatedAt time.Time `json:"created_at,omitzero"`
	FailedAt  time.Time `json:"failed_at"`
	// NextTryAt is zero where the row waits for a person.
	NextTryAt time.Time `json:"next_try_at,omitzero"`

	// Message is the id that its message will have, where its writer chose one.
	Message    string `json:"message,omitempty"`
	Channel    string `json:"channel,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Ref        string `json:"ref,omitempty"`
	DedupKey   string `json:"dedup_key,omitempty"`
	Recipients int    `json:"recipients,omitempty"`
	// TaskEvent and Task are of an event of a task.
	TaskEvent string `json:"task_event,omitempty"`
	Task      string `json:"task_id,omitempty"`
}

// List counts the outbox and lists its rejected rows. Of the filter only Cursor and Limit are looked at.
func (c Outbox) List(ctx context.Context, f Filter) (OutboxPage, error) {
	return get[OutboxPage](ctx, c.api, path("outbox"), Filter{Cursor: f.Cursor, Limit: f.Limit}.query())
}

// Retry lets a rejected row be tried at once.
func (c Outbox) Retry(ctx context.Context, id string) error {
	_, err := c.api.do(ctx, request{method: http.MethodPost, path: path("outbox", id, "retry")})
	return err
}

// Drop deletes a rejected row: nothing is sent.
func (c Outbox) Drop(ctx context.Context, id string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("outbox", id)})
	return err
}
