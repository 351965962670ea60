package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// The states of a task that an app reports.
const (
	taskSent   = 2
	taskFailed = 3
)

// frontDoor speaks the protocol of the SMS front door.
type frontDoor struct {
	carrier
	o Options
}

func newFrontDoor(o Options) *frontDoor {
	login := func(r *http.Request) { r.SetBasicAuth(cmp.Or(o.User, o.ID), cmp.Or(o.Password, o.Key)) }
	return &frontDoor{carrier{strings.TrimSuffix(o.URL, "/") + "/api/v1/sms", o.HTTP, login}, o}
}

// smsTask is a task as the front door hands it out.
type smsTask struct {
	ID      string `json:"task_id"`
	Number  string `json:"phone_number"`
	Content string `json:"content"`
}

// claim fetches tasks; each counts as started. The id is of no use here.
func (f *frontDoor) claim(ctx context.Context, _ string) (claimed, error) {
	query := url.Values{"limit": {strconv.Itoa(f.o.Max)}, "app_id": {f.o.ID}}
	var out struct {
		Data json.RawMessage `json:"data"`
	}
	if err := f.call(ctx, http.MethodGet, "/tasks/pending?"+query.Encode(), nil, &out); err != nil {
		return claimed{}, err
	}
	list, err := tasksOf(out.Data)
	if err != nil {
		return claimed{}, err
	}
	var got claimed
	now := time.Now()
	for _, t := range list {
		got.tasks = append(got.tasks, &task{
			delivery: t.ID, key: t.ID, text: Text{To: t.Number, Text: t.Content, Key: t.ID},
			started: true, once: true, lease: f.o.Fresh, until: now.Add(f.o.Fresh),
		})
	}
	return got, nil
}

// tasksOf reads either form of the list: a server is set to one of them.
func tasksOf(data json.RawMessage) (list []smsTask, err error) {
	if len(data) > 0 && data[0] == '{' {
		var page struct {
			Tasks []smsTask `json:"tasks"`
		}
		err = json.Unmarshal(data, &page)
		list = page.Tasks
	} else {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("the pending tasks are neither a list nor a page: %w", err)
	}
	return list, nil
}

// The front door knows no leases to renew and no start, and takes nothing back.

func (f *frontDoor) renew(context.Context, []*task) error            { return nil }
func (f *frontDoor) start(context.Context, *task) (string, error)    { return "", nil }
func (f *frontDoor) giveBack(context.Context, []*task, string) error { return nil }

func (f *frontDoor) report(ctx context.Context, list []posthouse.AgentReport) ([]posthouse.ReportResult, error) {
	results := make([]posthouse.ReportResult, len(list))
	for i, r := range list {
		err := f.call(ctx, http.MethodPost, "/report", f.wordsFor(r), nil)
		switch {
		case err == nil:
			results[i] = posthouse.ReportDone
		case codeOf(err) == posthouse.CodeConflict:
			results[i] = posthouse.ReportStale
		case codeOf(err) == posthouse.CodeNotFound:
			results[i] = posthouse.ReportMissing
		case unreadable(err):
			f.o.Log.Error("the server cannot read a report; it is dropped", "delivery", r.Delivery, "error", err)
			results[i] = resultRefused
		default:
			return nil, err
		}
	}
	return results, nil
}

// smsReport is a report as the front door reads it.
type smsReport struct {
	Task   string `json:"task_id"`
	App    string `json:"app_id"`
	Status int    `json:"status"`
	Error  string `json:"error_message"`
	Retry  bool   `json:"should_retry"`
}

// wordsFor says a report in the words that there are: what may have left is failed, and not sent again unless
// that is wanted.
func (f *frontDoor) wordsFor(r posthouse.AgentReport) smsReport {
	out := smsReport{Task: r.Delivery, App: f.o.ID, Status: taskFailed, Error: r.Error}
	switch r.Outcome {
	case posthouse.OutcomeSent, posthouse.OutcomeDelivered:
		out.Status, out.Error = taskSent, ""
	case posthouse.OutcomeUnknown:
		out.Error = "nobody knows whether it was sent: " + r.Error
		out.Retry = f.o.RetryUnknown
	default:
		out.Retry = r.Retry == nil || *r.Retry
	}
	return out
}
