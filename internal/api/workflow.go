package api

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/posthouse/posthouse/internal/taskbody"
	"net/http"
	"reflect"
	"time"

	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// Tasks takes the events of tasks in and says what is known of them. *flow.Flow satisfies it.
type Tasks interface {
	ApplyFor(ctx context.Context, by work.Caller, tenant string, events ...workflow.Event) ([]wire.TaskOutcome, error)
	Task(ctx context.Context, tenant, id string) (wire.TaskStatus, error)
	Tasks(ctx context.Context, tenant, cursor string, limit int) (list []wire.TaskSummary, next string, err error)
}

// Answers keeps what the first callers of Idempotency-Keys were told, of requests that are no single submission.
type Answers interface {
	// Answer is what was kept for a key; found is false where nothing is. A key that stands for another hash
	// is an error.
	Answer(ctx context.Context, tenant, endpoint, key, hash string) (answer []byte, found bool, err error)
	// KeepAnswer keeps an answer, unless one is kept already, and returns the one that is.
	KeepAnswer(ctx context.Context, tenant, endpoint, key, hash string, answer []byte) ([]byte, error)
}

// tasks is the resource of workflows.
type tasks struct {
	read      read.Reader
	flow      Tasks
	plans     Plans
	answers   Answers
	templates Templates
	zone      *time.Location // of times that name none
}

// maxEvents bounds the events of one request.
const maxEvents = 1000

var eventsBody = web.BodyOf[taskbody.TaskEvents](web.OneTo(maxEvents, "events", "events")).Keyed()

func (t tasks) routes() []web.Route {
	return web.Tagged("workflow",
		web.Post("/v1/workflow/events", sends, "Take in an event of a task, or a list of up to 1000: whoever is to be told of it is told. An event may come twice and in any order.", eventsBody, t.take).
			Answers(http.StatusAccepted).Of(wire.TaskOutcome{}, wire.TaskOutcomes{}),
		web.Get("/v1/workflow/tasks", reads, "List the tasks that events have named, by id.", t.list).Paged(),
		web.Get("/v1/workflow/tasks/{id}", reads, "What is known of a task, who was told what of it, and what could not be as it was meant.", t.get),
		web.Act("/v1/workflow/templates/defaults", admin, "Store the default templates of workflow notices where there are none.", t.install),
	)
}

// take takes one event in or many. They are idempotent by themselves; an Idempotency-Key gets the first answer again.
func (t tasks) take(c *web.Call, in taskbody.TaskEvents) (any, error) {
	given := []taskbody.NewEvent{in.NewEvent}
	if in.Events != nil {
		given = in.Events
		if len(given) == 0 {
			c.Refuse("events", "has 0 events: want 1 to %d", maxEvents)
		}
		if !reflect.ValueOf(in.NewEvent).IsZero() {
			c.Refuse("events", "stands beside fields of a single event: give one of both")
		}
	}
	list, err := t.eventsOf(c, given, in.Events != nil)
	if err != nil {
		return nil, err
	}
	return t.once(c, func() (any, error) {
		out, err := t.flow.ApplyFor(c.Context(), c.Caller(), c.Tenant(), list...)
		if err != nil {
			return nil, listedOne(err, len(list) == 1 && in.Events != nil)
		}
		if in.Events == nil {
			return out[0], nil
		}
		return wire.TaskOutcomes{Outcomes: out}, nil
	})
}

// eventsOf reads events. What is wrong with each is said only where something is wrong with how one is written: else their
// taker says it.
func (t tasks) eventsOf(c *web.Call, given []taskbody.NewEvent, many bool) ([]workflow.Event, error) {
	r := flow.Reader{Zone: t.zone}
	list := make([]workflow.Event, len(given))
	at := func(i int) string {
		if many {
			return fmt.Sprintf("events[%d].", i)
		}
		return ""
	}
	for i := range given {
		list[i] = r.Event(at(i), &given[i])
	}
	c.Add(r.Problems())
	if c.Wrong() != nil {
		for i := range list {
			c.Add(flow.Check(list[i], at(i)))
		}
	}
	return list, c.Wrong()
}

// listedOne names the problems of a list's only event as those of a list.
func listedOne(err error, one bool) error {
	if one {
		for i, p := range web.ProblemsOf(err) {
			web.ProblemsOf(err)[i].Path = "events[0]." + p.Path
		}
	}
	return err
}

// once does what a request asks for, or answers what its key was answered before.
func (t tasks) once(c *web.Call, do func() (any, error)) (any, error) {
	endpoint, key, hash := c.Pattern, c.Once.Key, c.Once.Hash
	if key != "" {
		if text, found, err := t.answers.Answer(c.Context(), c.Tenant(), endpoint, key, hash); found || err != nil {
			c.Replayed(found)
			return json.RawMessage(text), err
		}
	}
	body, err := do()
	if err != nil || key == "" {
		return body, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	kept, err := t.answers.KeepAnswer(c.Context(), c.Tenant(), endpoint, key, hash, text)
	c.Replayed(string(kept) != string(text))
	return json.RawMessage(kept), err
}

func (t tasks) list(c *web.Call) (wire.Page[wire.TaskSummary], error) {
	cursor, limit, err := c.Page()
	if err != nil {
		return wire.Page[wire.TaskSummary]{}, err
	}
	return partsOf(cursor, limit, func(cursor string, limit int) ([]wire.TaskSummary, string, error) {
		return t.flow.Tasks(c.Context(), c.Tenant(), cursor, limit)
	})
}

func (t tasks) get(c *web.Call) (wire.TaskReport, error) {
	s, err := t.flow.Task(c.Context(), c.Tenant(), c.PathValue("id"))
	view := wire.TaskReport{TaskStatus: s, Messages: []wire.TaskMessage{}, Reminders: []wire.Reminder{}}
	seen := map[string]bool{}
	for i := 0; i < len(s.Notices) && err == nil; i++ {
		n := s.Notices[i]
		ids := n.Messages
		if n.Reminder != "" && !seen[n.Reminder] {
			seen[n.Reminder] = true
			ids, err = t.reminder(c, n.Reminder, ids, &view)
		}
		for j := 0; j < len(ids) && err == nil; j++ {
			m := wire.TaskMessage{ID: ids[j], Kind: n.Kind, Channel: n.Channel}
			m.Counts, err = t.read.Counts(c.Context(), c.Viewer(), m.ID)
			view.Messages = append(view.Messages, m)
		}
	}
	return view, err
}

// reminder adds a reminder to a task's view. Its last message stands for those of its notice; of one that ended long
// ago nothing is shown.
func (t tasks) reminder(c *web.Call, id string, ids []string, view *wire.TaskReport) ([]string, error) {
	p, found, err := t.plans.Plan(c.Context(), c.Tenant(), work.PlanReminder, id)
	if err != nil || !found {
		return nil, err
	}
	r, err := remind.Read(p)
	if err != nil {
		return nil, err
	}
	view.Reminders = append(view.Reminders, viewReminder(r))
	if r.Message != "" {
		ids = []string{r.Message}
	}
	return ids, nil
}

func (t tasks) install(c *web.Call) (wire.InstalledTemplates, error) {
	return flow.InstallTemplates(c.Context(), t.templates, c.Tenant())
}
