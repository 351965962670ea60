package notify

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// Options are what the front works on. All are required.
type Options struct {
	// Jobs are the document's functions, for one request.
	Jobs func(web.Once) workflow.Jobs
	// Zone is that of times that name none.
	Zone *time.Location
}

// front speaks the document.
type front struct{ Options }

var (
	jobBody    = web.BodyOf[wire.NewJob]().Keyed()
	statusBody = web.BodyOf[wire.JobStatus]().Loose()
	deleteBody = web.BodyOf[wire.JobDelete]().Loose()
)

// Routes are the document's addresses.
func Routes(o Options) []web.Route {
	f := front{o}
	return web.Tagged("jobs",
		web.Post("/v1/notify/jobs", posthouse.ScopeSend, "Enqueue a job of the notification document: a message, or a reminder, by its numbers.", jobBody, f.enqueue).
			Answers(http.StatusAccepted, http.StatusOK),
		web.Get("/v1/notify/jobs", posthouse.ScopeRead, "The jobs of a business type and id, newest first, without deleted ones.", f.list).Query("bizType", "bizId"),
		web.Get("/v1/notify/jobs/{id}", posthouse.ScopeRead, "One job with its recipients, in the words of its document.", f.get),
		web.Post("/v1/notify/jobs/status", posthouse.ScopeSend, "Cancel or abort the jobs of a business type and ids.", statusBody, f.update),
		web.Post("/v1/notify/jobs/delete", posthouse.ScopeSend, "Delete the jobs of a business type and ids, and free their dedup keys.", deleteBody, f.remove),
	)
}

func (f front) enqueue(c *web.Call, in wire.NewJob) (wire.JobMade, error) {
	job := workflow.Job{
		BizType: workflow.BizType(code(c, "bizType", in.BizType)), BizID: id(c, "bizId", in.BizID), Channel: code(c, "channel", in.Channel),
		Payload: in.Payload, Users: ids(c, "userIds", in.UserIDs), DedupKey: in.DedupKey, NextRunTime: f.localTime(c, "nextRunTime", in.NextRunTime),
		Operator: id(c, "operator", in.Operator),
	}
	c.Add(job.Check())
	if err := c.Wrong(); err != nil {
		return wire.JobMade{}, err
	}
	made, err := f.Jobs(c.Once).Enqueue(c.Context(), c.Tenant(), job)
	if made.Existing {
		c.Status = http.StatusOK
	}
	return wire.JobMade{JobID: made.ID, Existing: made.Existing}, err
}

func (f front) update(c *web.Call, in wire.JobStatus) (wire.JobsChanged, error) {
	var expected []workflow.Status
	for i := range in.Expected {
		expected = append(expected, workflow.Status(code(c, fmt.Sprintf("expectedStatuses[%d]", i), &in.Expected[i])))
	}
	biz, about := workflow.BizType(code(c, "bizType", in.BizType)), ids(c, "bizIds", in.BizIDs)
	status, operator := workflow.Status(code(c, "status", in.Status)), id(c, "operator", in.Operator)
	if err := c.Wrong(); err != nil {
		return wire.JobsChanged{}, err
	}
	n, err := f.Jobs(web.Once{}).UpdateStatus(c.Context(), c.Tenant(), biz, about, status, expected, operator)
	return wire.JobsChanged{Changed: n}, err
}

func (f front) remove(c *web.Call, in wire.JobDelete) (wire.JobsChanged, error) {
	biz, about, operator := workflow.BizType(code(c, "bizType", in.BizType)), ids(c, "bizIds", in.BizIDs), id(c, "operator", in.Operator)
	if err := c.Wrong(); err != nil {
		return wire.JobsChanged{}, err
	}
	n, err := f.Jobs(web.Once{}).DeleteByBiz(c.Context(), c.Tenant(), biz, about, operator)
	return wire.JobsChanged{Changed: n}, err
}

func (f front) get(c *web.Call) (workflow.JobView, error) {
	return f.Jobs(web.Once{}).Job(c.Context(), c.Tenant(), c.PathValue("id"))
}

func (f front) list(c *web.Call) (out wire.Page[workflow.JobView], err error) {
	for _, name := range []string{"bizType", "bizId"} {
		if c.Query.Get(name) == "" {
			c.RefuseNew("query."+name, "is required")
		}
	}
	biz := c.Number("bizType", 0, len(workflow.Kinds())-1)
	if err := c.Wrong(); err != nil {
		return out, err
	}
	list, err := f.Jobs(web.Once{}).JobsOf(c.Context(), c.Tenant(), workflow.BizType(biz), c.Query.Get("bizId"))
	out.Items = append([]workflow.JobView{}, list...)
	return out, err
}

var wholeNumber = regexp.MustCompile(`^-?[0-9]+$`)

// id is the text of an id. A number is one as it is written; texts are taken as they are.
func id(c *web.Call, path string, i wire.Ident) string {
	number, marked := strings.CutPrefix(string(i), "\x00")
	if marked && !wholeNumber.MatchString(number) {
		c.Refuse(path, "is %.60s: want a whole number or a string", number)
		return ""
	}
	c.CheckWord(path, number, 255)
	return number
}

// code is a number of the document, also one that is written as text.
func code(c *web.Call, path string, i *wire.Ident) int {
	if i == nil {
		c.Refuse(path, "is required")
		return 0
	}
	text := strings.TrimPrefix(string(*i), "\x00")
	n, err := strconv.Atoi(text)
	if err != nil {
		c.Refuse(path, "is %.60q: want a whole number", text)
	}
	return n
}

// ids are the texts of ids.
func ids(c *web.Call, path string, list []wire.Ident) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = id(c, fmt.Sprintf("%s[%d]", path, i), list[i])
	}
	return out
}

// localTime reads a time with its zone, or one of the server's zone without.
func (f front) localTime(c *web.Call, path, text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t
	}
	for _, layout := range []string{time.DateTime, "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, f.Zone); err == nil {
			return t
		}
	}
	c.RefuseNew(path, "is %.60q: want a time such as 2025-08-02T13:15:00+08:00, or 2025-08-02 13:15:00 in the time zone %s", text, f.Zone)
	return time.Time{}
}
