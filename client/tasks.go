package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// Tasks are the tasks of workflows, of which events are told.
type Tasks struct{ api *caller }

// Tell hands in events of tasks, 1 to 1000. They may come twice and in any order, so the call is
// repeated where its answer is lost.
func (c Tasks) Tell(ctx context.Context, events ...workflow.Event) ([]wire.TaskOutcome, error) {
	r, err := withBody(http.MethodPost, path("workflow", "events"), told{events})
	if err != nil {
		return nil, err
	}
	r.key = posthouse.NewID()
	body, err := call[wire.TaskOutcomes](ctx, c.api, r)
	return body.Outcomes, err
}

// told is a list of events as the domain has them.
type told struct {
	Events []workflow.Event `json:"events"`
}

// Get reads what is known of a task.
func (c Tasks) Get(ctx context.Context, id string) (wire.TaskReport, error) {
	return get[wire.TaskReport](ctx, c.api, path("workflow", "tasks", id), nil)
}

// List lists the tasks that events have named, by id. Of the filter only Cursor and Limit are looked at.
func (c Tasks) List(ctx context.Context, f Filter) (wire.Page[wire.TaskSummary], error) {
	return get[wire.Page[wire.TaskSummary]](ctx, c.api, path("workflow", "tasks"), Filter{Cursor: f.Cursor, Limit: f.Limit}.query())
}

// TellJSON hands in a body as it is: one event, or {"events": […]}. An empty key makes one.
func (c Tasks) TellJSON(ctx context.Context, key string, body []byte) ([]wire.TaskOutcome, error) {
	if key == "" {
		key = posthouse.NewID()
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	out, err := call[struct {
		wire.TaskOutcome
		wire.TaskOutcomes
	}](ctx, c.api, request{method: http.MethodPost, path: path("workflow", "events"), key: key, kind: "application/json", body: body})
	if out.Outcomes == nil && err == nil {
		out.Outcomes = []wire.TaskOutcome{out.TaskOutcome}
	}
	return out.Outcomes, err
}
