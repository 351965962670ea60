package lksms

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/work"
)

// How many tasks an app is handed at most, and where it does not say.
const (
	maxTasks     = 100
	defaultTasks = 10
)

// apps hands tasks to the phones' apps, and takes their reports.
type apps struct {
	*door
	keyed   roll
	hearing *hearing
}

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

func (d *apps) pending(c *call) (answer, error) {
	query, err := url.ParseQuery(c.URL.RawQuery)
	if err != nil {
		return answer{}, malformed("the query cannot be read: a %% or ; in it is not escaped")
	}
	limit, err := limitOf(query)
	if err != nil {
		return answer{}, err
	}
	if err := checkFormat(query); err != nil {
		return answer{}, err
	}
	app, err := d.app(c, query.Get("app_id"))
	if err != nil {
		return answer{}, err
	}
	unheard, err := d.unheard(c, &app)
	if err != nil {
		return answer{}, err
	}
	got, err := d.Engine.HandOut(c.Context(), pull.Claim{Agent: app, Max: limit, Started: true, Unheard: unheard, Request: asked(limit, app.ID)})
	if err != nil {
		return answer{}, err
	}
	if unheard && len(got.Handouts) > 0 {
		d.hearing.hands(appKey{app.Tenant, app.ID})
	}
	tasks := make([]handed, len(got.Handouts))
	for i, h := range got.Handouts {
		tasks[i] = handed{d.calledBy(c, h), local(h.Recipient.Address), h.Content.Text}
	}
	out := answer{data: tasks, header: waitHeader(got.After)}
	if form, _ := d.format(c, query); form == FormatPage {
		out.data = pageOfTasks{len(tasks), app.ID, tasks}
	}
	return out, nil
}

// asked is a request for tasks as the log of hand-outs keeps it, in the document's words.
func asked(limit int, app string) string {
	request, _ := json.Marshal(struct {
		Limit int    `json:"limit"`
		App   string `json:"app_id"`
	}{limit, app}) // a number and a text: cannot fail
	return string(request)
}

// calledBy is the number of a task that was handed out: the one it had where it was brought over from, for senders and
// phones alike.
func (d *apps) calledBy(c *call, h posthouse.Handout) string {
	if h.Kind != kind || h.Ref == "" {
		return h.Delivery
	}
	if t, err := d.brought(c.Context(), c.who.viewer(), h.Ref); err != nil || t.ID != h.Delivery {
		return h.Delivery // its sender's own word, and of several tasks
	}
	return h.Ref
}

// checkFormat refuses a format that there is not: the app would read nothing of what it is handed.
func checkFormat(query url.Values) error {
	if f := Format(query.Get("format")); query.Has("format") && f != FormatList && f != FormatPage {
		return malformed("format is %.60q: want %s or %s", string(f), FormatList, FormatPage)
	}
	return nil
}

// format is the form that the asking app wants by what it shows: a format in its query; the profile of its Accept, such as
// application/json;profile=page; or the beginning of its User-Agent, where the settings name it. Else it is the setting's,
// and shown is false.
func (d *apps) format(c *call, query url.Values) (form Format, shown bool) {
	if f := Format(query.Get("format")); f == FormatList || f == FormatPage {
		return f, true
	}
	for _, accept := range c.Header.Values("Accept") {
		for part := range strings.SplitSeq(accept, ",") {
			_, params, err := mime.ParseMediaType(strings.TrimSpace(part))
			if f := Format(params["profile"]); err == nil && (f == FormatList || f == FormatPage) {
				return f, true
			}
		}
	}
	for _, agent := range d.PageAgents {
		if strings.HasPrefix(c.UserAgent(), agent) {
			return FormatPage, true
		}
	}
	return d.Format, false
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

// reportBody is what an app says became of a task.
type reportBody struct {
	task, app text
	problem   note
	status    whole
	retry     flag
}

func (d *apps) report(c *call) (answer, error) {
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
	case in.status == 0:
		return answer{}, malformed("status is required: 2 (sent) or 3 (failed)")
	case !known:
		return answer{}, malformed("status is %d: want 2 (sent) or 3 (failed)", in.status)
	}
	app, err := d.reporter(c, string(in.app))
	if err != nil {
		return answer{}, err
	}
	task, err := d.named(c, string(in.task))
	if err != nil {
		return answer{}, err
	}
	id, retry := posthouse.NewID(), bool(in.retry)
	made := posthouse.AgentReport{ReportID: id, Delivery: task, Outcome: outcome, Retry: &retry}
	request := pull.SentRequest(string(in.task), app)
	if outcome == posthouse.OutcomeNotSent {
		made.Error, request = string(in.problem), string(document(body))
	}
	return d.hand(c, work.Report{ID: id, Tenant: c.who.tenant, Agent: app, AgentReport: made, Request: request})
}

// named is the id of the delivery that a report names. Whether there is one of ours is the engine's to find,
// because there are many reports.
func (d *apps) named(c *call, task string) (string, error) {
	if posthouse.ValidID(task) {
		return task, nil
	}
	t, err := d.brought(c.Context(), c.who.viewer(), task)
	return t.ID, err
}

// hand gives a report to the engine and says what it made of it.
func (d *apps) hand(c *call, r work.Report) (answer, error) {
	done, err := d.Engine.ReportHandouts(c.Context(), []work.Report{r})
	if err != nil {
		return answer{}, err
	}
	switch done[0].Answer {
	case posthouse.ReportDone, posthouse.ReportEvidence:
		return answer{}, nil
	case posthouse.ReportMissing:
		t, _, err := d.find(c.Context(), c.who.viewer(), r.Delivery)
		switch {
		case err != nil:
			return answer{}, err
		case t.ID != r.Delivery: // it was a former number
			r.ID, r.Delivery = posthouse.NewID(), t.ID
			r.ReportID = r.ID
			return d.hand(c, r)
		}
		return answer{}, refuse(http.StatusConflict, "the task was never handed to the app %q: nothing has changed", r.Agent)
	}
	return answer{}, refuse(http.StatusConflict, "the app %q no longer holds the task, whose status is %d: nothing has changed", r.Agent, status(done[0].State))
}
