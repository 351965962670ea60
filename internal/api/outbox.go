package api

import (
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/work"
)

// outboxView is how the outbox stands.
type outboxView struct {
	Waiting  int       `json:"waiting,omitempty" doc:"Rows that wait for their first try."`
	Rejected int       `json:"rejected,omitempty" doc:"Rows that could not be accepted so far."`
	Items    []heldRow `json:"items" doc:"The rejected rows, by id."`
	Next     string    `json:"next,omitempty" doc:"The cursor of the next page; missing on the last one."`
}

// heldRow is a rejected row, without what it would send and to whom.
type heldRow struct {
	ID        string    `json:"id"`
	Problem   string    `json:"problem"`
	Failures  int       `json:"failures" doc:"How often it was tried."`
	CreatedAt time.Time `json:"created_at,omitzero"`
	FailedAt  time.Time `json:"failed_at"`
	NextTryAt time.Time `json:"next_try_at,omitzero" doc:"Missing where it waits for a person."`

	Message    string `json:"message,omitempty" doc:"The id that its message will have, where its writer chose one."`
	Channel    string `json:"channel,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Ref        string `json:"ref,omitempty"`
	DedupKey   string `json:"dedup_key,omitempty"`
	Recipients int    `json:"recipients,omitempty"`
	TaskEvent  string `json:"task_event,omitempty" doc:"Of an event of a task: which."`
	Task       string `json:"task_id,omitempty"`
}

func (a *api) outbox(c *call) (answer, error) {
	cursor, limit := c.query.Get("cursor"), c.number("limit", 1, maxPage)
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	box, next, err := a.Store.Box(c.Context(), c.key.Tenant, cursor, limit)
	if err != nil {
		return answer{}, err
	}
	out := outboxView{Waiting: box.Waiting, Rejected: box.Rejected, Items: []heldRow{}, Next: next}
	for i := range box.Rows {
		out.Items = append(out.Items, heldRowOf(&box.Rows[i]))
	}
	return ok(out)
}

// heldRowOf shows a row. What can not be read of it is what its problem is about.
func heldRowOf(r *work.Held) heldRow {
	out := heldRow{ID: r.ID, Problem: r.Error, Failures: r.Failures, CreatedAt: r.CreatedAt, FailedAt: r.FailedAt}
	if r.DueAt.Year() < 9999 {
		out.NextTryAt = r.DueAt
	}
	out.Message, _ = draft.MessageOf(r.ID)
	var in draft.Row
	if json.Unmarshal([]byte(r.Draft), &in) != nil {
		return out
	}
	out.Channel, out.Kind, out.Ref, out.DedupKey, out.Recipients = in.Channel, in.Kind, in.Ref, in.DedupKey, len(in.To)
	if in.TaskEvent != nil {
		out.TaskEvent, out.Task, out.Message = string(in.TaskEvent.Type), in.TaskEvent.Task, ""
	}
	return out
}

func (a *api) retryRow(c *call) (answer, error) {
	return none(a.Store.RetryRow(c.Context(), time.Now(), c.key.Tenant, c.PathValue("id")))
}

func (a *api) dropRow(c *call) (answer, error) {
	return none(a.Store.DropRow(c.Context(), time.Now(), c.key.Tenant, c.PathValue("id")))
}
