package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/workflow"
)

// Tasks takes the events of tasks in and says what is known of them. *workflow.Flow satisfies it.
type Tasks interface {
	Apply(ctx context.Context, tenant string, events ...posthouse.TaskEvent) ([]workflow.Outcome, error)
	Task(ctx context.Context, tenant, id string) (workflow.TaskStatus, error)
	Tasks(ctx context.Context, tenant, cursor string, limit int) (list []workflow.Summary, next string, err error)
}

// Answers keeps what the first callers of Idempotency-Keys were told, of requests that are no single submission.
type Answers interface {
	// Answer is what was kept for a key; found is false where nothing is. A key that stands for another hash
	// is an error.
	Answer(ctx context.Context, tenant, endpoint, key, hash string) (answer []byte, found bool, err error)
	// KeepAnswer keeps an answer, unless one is kept already, and returns the one that is.
	KeepAnswer(ctx context.Context, tenant, endpoint, key, hash string, answer []byte) ([]byte, error)
}

// maxEvents bounds the events of one request.
const maxEvents = 1000

// eventBody is one event, or a list of them.
type eventBody struct {
	posthouse.TaskEvent
	Events []posthouse.TaskEvent `json:"events,omitempty"`
}

// eventsTaken answers a list.
type eventsTaken struct {
	Outcomes []workflow.Outcome `json:"outcomes"`
}

var eventReader = bodyOf[eventBody](oneTo(maxEvents, "events", "events"))

// takeEvents takes one event in or many. They are idempotent by themselves; an Idempotency-Key gets the
// first answer again.
func (a *api) takeEvents(c *call) (answer, error) {
	key, hash, in, err := readKeyed(c, eventReader)
	if err != nil {
		return answer{}, err
	}
	events := []posthouse.TaskEvent{in.TaskEvent}
	if in.Events != nil {
		events = in.Events
		if len(events) == 0 {
			c.refuse("events", "has 0 events: want 1 to %d", maxEvents)
		}
		if !reflect.ValueOf(in.TaskEvent).IsZero() {
			c.refuse("events", "stands beside fields of a single event: give one of both")
		}
	}
	if len(c.problems) > 0 {
		return answer{}, c.wrongEvents(events, in.Events != nil)
	}
	kept, replayed, err := a.once(c, key, hash, func() (any, error) {
		list, err := a.Tasks.Apply(c.Context(), c.key.Tenant, events...)
		if err != nil {
			return nil, listedOne(err, len(events) == 1 && in.Events != nil)
		}
		if in.Events == nil {
			return list[0], nil
		}
		return eventsTaken{list}, nil
	})
	return answer{status: http.StatusAccepted, header: replayHeader(replayed), body: kept}, err
}

// wrongEvents adds to the problems of the text those of its events.
func (c *call) wrongEvents(events []posthouse.TaskEvent, many bool) error {
	for i := range events {
		at := ""
		if many {
			at = fmt.Sprintf("events[%d].", i)
		}
		c.add(workflow.Check(events[i], at))
	}
	return c.wrong()
}

// listedOne names the problems of a list's only event as those of a list.
func listedOne(err error, one bool) error {
	if one {
		for i, p := range problemsOf(err) {
			problemsOf(err)[i].Path = "events[0]." + p.Path
		}
	}
	return err
}

// once does what a request asks for, or answers what its key was answered before.
func (a *api) once(c *call, key, hash string, do func() (any, error)) (body any, replayed bool, err error) {
	endpoint := c.Pattern
	if key != "" {
		if text, found, err := a.Store.Answer(c.Context(), c.key.Tenant, endpoint, key, hash); found || err != nil {
			return json.RawMessage(text), found, err
		}
	}
	body, err = do()
	if err != nil || key == "" {
		return body, false, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, false, fmt.Errorf("write the answer: %w", err)
	}
	kept, err := a.Store.KeepAnswer(c.Context(), c.key.Tenant, endpoint, key, hash, text)
	return json.RawMessage(kept), string(kept) != string(text), err
}

func (a *api) tasks(c *call) (answer, error) {
	cursor, limit := c.query.Get("cursor"), c.number("limit", 1, maxPage)
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	list, next, err := a.Tasks.Tasks(c.Context(), c.key.Tenant, cursor, limit)
	if err != nil {
		return answer{}, err
	}
	return pageOf(list, next)
}

// taskReport is a task with how its messages and reminders stand.
type taskReport struct {
	workflow.TaskStatus
	Messages  []taskMessage  `json:"messages" doc:"The messages of its notices, and the last one of each reminder."`
	Reminders []reminderView `json:"reminders" doc:"The reminders of its time-outs."`
}

// taskMessage is how a message of a task stands.
type taskMessage struct {
	ID      string      `json:"id"`
	Kind    string      `json:"kind"`
	Channel string      `json:"channel"`
	Counts  work.Counts `json:"counts" doc:"How many deliveries there are in each state."`
}

func (a *api) task(c *call) (answer, error) {
	s, err := a.Tasks.Task(c.Context(), c.key.Tenant, c.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	view := taskReport{TaskStatus: s, Messages: []taskMessage{}, Reminders: []reminderView{}}
	seen := map[string]bool{}
	for _, n := range s.Notices {
		ids := n.Messages
		if n.Reminder != "" && !seen[n.Reminder] {
			seen[n.Reminder] = true
			p, found, err := a.Store.Plan(c.Context(), c.key.Tenant, work.PlanReminder, n.Reminder)
			if err != nil {
				return answer{}, err
			}
			if !found {
				continue // it ended long ago
			}
			r, err := remind.Read(p)
			if err != nil {
				return answer{}, err
			}
			view.Reminders = append(view.Reminders, viewReminder(r))
			if r.Message != "" {
				ids = []string{r.Message}
			}
		}
		for _, id := range ids {
			m := taskMessage{ID: id, Kind: n.Kind, Channel: n.Channel, Counts: work.Counts{}}
			if err := a.each(c.Context(), c.key.Tenant, id, func(d *posthouse.Delivery) { m.Counts[d.State]++ }); err != nil {
				return answer{}, err
			}
			view.Messages = append(view.Messages, m)
		}
	}
	return ok(view)
}
