package lksms

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/work"
)

// How many tasks an app is handed at most, and where it does not say.
const (
	maxTasks     = 100
	defaultTasks = 10
)

// handed is a task as an app gets it.
type handed struct {
	TaskID  string `json:"task_id"`
	Phone   string `json:"phone_number"`
	Content string `json:"content"`
}

// pageOfTasks is what some apps want in place of the list.
type pageOfTasks struct {
	Total int      `json:"total_count"`
	App   string   `json:"app_id"`
	Tasks []handed `json:"tasks"`
}

func (d *door) pending(c *call) (answer, error) {
	query, err := url.ParseQuery(c.URL.RawQuery)
	if err != nil {
		return answer{}, malformed("the query can not be read: a %% or ; in it is not escaped")
	}
	limit, err := limitOf(query)
	if err != nil {
		return answer{}, err
	}
	app, err := d.app(c, query.Get("app_id"))
	if err != nil {
		return answer{}, err
	}
	got, err := d.Engine.HandOut(c.Context(), engine.Claim{Agent: app, Max: limit, Started: true, Request: clipped(c.URL.RawQuery, maxLogged)})
	if err != nil {
		return answer{}, err
	}
	tasks := make([]handed, len(got.Handouts))
	for i, h := range got.Handouts {
		tasks[i] = handed{h.Delivery, local(h.Recipient.Address), h.Content.Text}
	}
	out := answer{data: tasks, header: waitHeader(got.After)}
	if d.Format == FormatPage {
		out.data = pageOfTasks{len(tasks), app.ID, tasks}
	}
	return out, nil
}

// waitHeader tells an app when there may be more.
func waitHeader(after time.Duration) http.Header {
	if after <= 0 {
		return nil
	}
	return http.Header{"Retry-After": {strconv.Itoa(int((after + time.Second - 1) / time.Second))}}
}

func limitOf(query url.Values) (int, error) {
	if !query.Has("limit") {
		return defaultTasks, nil
	}
	n, err := strconv.Atoi(query.Get("limit"))
	if err != nil || n < 1 || n > maxTasks {
		return 0, malformed("limit is %.60q: want a whole number from 1 to %d", query.Get("limit"), maxTasks)
	}
	return n, nil
}

// appID is what an app may call itself, as an agent may.
var appID = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,50}$`)

// app is the agent that a caller acts as. One that the shared pair brings along for the first time is kept.
func (d *door) app(c *call, id string) (posthouse.Agent, error) {
	switch {
	case id == "":
		return posthouse.Agent{}, malformed("app_id is required: the name of the app")
	case !appID.MatchString(id):
		return posthouse.Agent{}, malformed("app_id is %.60q: want 1 to 50 of a-z, A-Z, 0-9, '-', '_' and '.'", id)
	case !c.who.mayBe(id):
		return posthouse.Agent{}, refuse(http.StatusForbidden, "the key belongs to the app %q: it can not act as %q", c.who.key.Agent, id)
	}
	a, err := d.Store.Agent(c.Context(), c.who.tenant, id)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound && c.who.shared {
		a, err = d.meet(c, id)
	}
	switch {
	case err != nil:
		return a, err
	case c.who.shared && a.Key != "":
		return a, refuse(http.StatusForbidden, "the app %q has a key of its own: show it as the password", id)
	case !slices.Contains(a.Channels, d.Channel):
		return a, refuse(http.StatusForbidden, "the app %q is not registered for the channel %s", id, d.Channel)
	}
	a.Channels = []string{d.Channel}
	return a, nil
}

// meet keeps an app that nobody has registered: without limits, as the document has none.
func (d *door) meet(c *call, id string) (posthouse.Agent, error) {
	a, err := d.Store.AddAgent(c.Context(), time.Now(), posthouse.Agent{
		Tenant: c.who.tenant, ID: id, Channels: []string{d.Channel}, Limits: []posthouse.Limit{}, State: posthouse.AgentActive,
		App: clipped(c.UserAgent(), 100),
	})
	if posthouse.CodeOf(err) == posthouse.CodeConflict { // another request of its was faster
		return d.Store.Agent(c.Context(), c.who.tenant, id)
	}
	return a, err
}

// reportBody is what an app says became of a task.
type reportBody struct {
	task, app, problem text
	status             whole
	retry              flag
}

func (d *door) report(c *call) (answer, error) {
	body, err := d.body(c)
	if err != nil {
		return answer{}, err
	}
	var in reportBody
	if err := decode(body, map[string]json.Unmarshaler{
		"task_id": &in.task, "app_id": &in.app, "status": &in.status, "error_message": &in.problem, "should_retry": &in.retry,
	}); err != nil {
		return answer{}, err
	}
	outcome, known := map[whole]posthouse.Outcome{2: posthouse.OutcomeSent, 3: posthouse.OutcomeNotSent}[in.status]
	switch {
	case in.task == "":
		return answer{}, malformed("task_id is required")
	case !known:
		return answer{}, malformed("status is %d: want 2 (sent) or 3 (failed)", in.status)
	}
	app, err := d.app(c, string(in.app))
	if err != nil {
		return answer{}, err
	}
	task, _, err := d.find(c.Context(), c.who.tenant, string(in.task))
	if err != nil {
		return answer{}, err
	}
	id, retry := posthouse.NewID(), bool(in.retry)
	made := posthouse.AgentReport{ReportID: id, Delivery: task.ID, Outcome: outcome, Error: string(in.problem), Retry: &retry}
	if outcome == posthouse.OutcomeSent {
		made.Error = ""
	}
	return d.hand(c, work.Report{ID: id, Tenant: c.who.tenant, Agent: app.ID, AgentReport: made, Request: clipped(string(body), maxLogged)})
}

// hand gives a report to the engine and says what it made of it.
func (d *door) hand(c *call, r work.Report) (answer, error) {
	done, err := d.Engine.ReportHandouts(c.Context(), []work.Report{r})
	if err != nil {
		return answer{}, err
	}
	switch done[0].Answer {
	case posthouse.ReportDone, posthouse.ReportEvidence:
		return answer{}, nil
	case posthouse.ReportMissing:
		return answer{}, refuse(http.StatusConflict, "the task was never handed to the app %q: nothing has changed", r.Agent)
	}
	return answer{}, refuse(http.StatusConflict, "the app %q no longer holds the task, whose status is %d: nothing has changed", r.Agent, status(done[0].State))
}
