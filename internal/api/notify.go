package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/posthouse/posthouse/workflow"
)

// Once is a request's Idempotency-Key with the hash of its body, empty without one.
type Once struct{ Key, Hash string }

// ident is an id or a number of the notification document: callers write them as numbers and as texts.
// It is kept as it is written, so that a number of 19 digits stays exact.
type ident string

// UnmarshalJSON keeps numbers and texts. Anything else stays as it is written too, for checkIdent to refuse.
func (i *ident) UnmarshalJSON(text []byte) error {
	var word string
	if json.Unmarshal(text, &word) == nil && !bytes.Equal(text, []byte("null")) {
		*i = ident(word)
	} else if !bytes.Equal(text, []byte("null")) {
		*i = ident("\x00" + string(text))
	}
	return nil
}

// Schema describes it in the OpenAPI document.
func (ident) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeInteger, Format: "int64"}, {Type: huma.TypeString}}}
}

var wholeNumber = regexp.MustCompile(`^-?[0-9]+$`)

// id is the text of an id. A number is one as it is written; texts are taken as they are.
func (c *call) id(path string, i ident) string {
	number, marked := strings.CutPrefix(string(i), "\x00")
	if marked && !wholeNumber.MatchString(number) {
		c.refuse(path, "is %.60s: want a whole number or a string", number)
		return ""
	}
	checkWord(c, path, number, 255)
	return number
}

// code is a number of the document, also one that is written as text.
func (c *call) code(path string, i *ident) int {
	if i == nil {
		c.refuse(path, "is required")
		return 0
	}
	text := strings.TrimPrefix(string(*i), "\x00")
	n, err := strconv.Atoi(text)
	if err != nil {
		c.refuse(path, "is %.60q: want a whole number", text)
	}
	return n
}

// ids are the texts of ids.
func (c *call) ids(path string, list []ident) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = c.id(fmt.Sprintf("%s[%d]", path, i), list[i])
	}
	return out
}

// jobBody is a job as the document's enqueue takes it.
type jobBody struct {
	BizType     *ident          `json:"bizType" doc:"0 task_created, 1 node_done, 2 orbit_remind, 3 task_finished, 4 task_abnormal, 5 node_timeout."`
	BizID       ident           `json:"bizId" doc:"The task's id; with bizType 1 and 5 the node's."`
	Channel     *ident          `json:"channel" doc:"0 oa, 1 dingtalk."`
	Payload     json.RawMessage `json:"payload,omitempty" doc:"What the template is filled with, an object. With bizType 5 a timeoutRemind in it, in minutes, makes the job come again and again."`
	UserIDs     []ident         `json:"userIds" doc:"Who is told, each once."`
	DedupKey    string          `json:"dedupKey,omitempty" doc:"A second job with it on the channel is the first one."`
	NextRunTime string          `json:"nextRunTime,omitempty" doc:"When it is sent, as 2025-08-02T13:15:00+08:00, or as 2025-08-02 13:15:00 in the server's time zone. Defaults to now."`
	Operator    ident           `json:"operator,omitempty" doc:"Who hands it in."`
}

// jobMade answers an enqueued job.
type jobMade struct {
	JobID    string `json:"jobId"`
	Existing bool   `json:"existing" doc:"The dedupKey stood for this job already: nothing was created."`
}

// jobStatusBody gives jobs a status.
type jobStatusBody struct {
	BizType  *ident  `json:"bizType" doc:"0 to 5."`
	BizIDs   []ident `json:"bizIds"`
	Status   *ident  `json:"status" doc:"3 cancelled or 4 aborted."`
	Expected []ident `json:"expectedStatuses,omitempty" doc:"Only jobs that have one of these change. Defaults to 0, waiting."`
	Operator ident   `json:"operator,omitempty"`
}

// jobDeleteBody deletes jobs.
type jobDeleteBody struct {
	BizType  *ident  `json:"bizType" doc:"0 to 5."`
	BizIDs   []ident `json:"bizIds"`
	Operator ident   `json:"operator,omitempty"`
}

// jobsChanged says how many jobs a call changed.
type jobsChanged struct {
	Changed int `json:"changed"`
}

var (
	jobReader       = bodyOf[jobBody]()
	jobStatusReader = bodyOf[jobStatusBody]()
	jobDeleteReader = bodyOf[jobDeleteBody]()
)

func (a *api) enqueueJob(c *call) (answer, error) {
	key, hash, in, err := readKeyed(c, jobReader)
	if err != nil {
		return answer{}, err
	}
	job := workflow.Job{
		BizType: workflow.BizType(c.code("bizType", in.BizType)), BizID: c.id("bizId", in.BizID), Channel: c.code("channel", in.Channel),
		Payload: in.Payload, Users: c.ids("userIds", in.UserIDs), DedupKey: in.DedupKey, NextRunTime: c.localTime("nextRunTime", in.NextRunTime, a.zone),
		Operator: c.id("operator", in.Operator),
	}
	c.add(job.Check())
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	made, err := a.Jobs(Once{Key: key, Hash: hash}).Enqueue(c.Context(), c.key.Tenant, job)
	if err != nil {
		return answer{}, err
	}
	reply := answer{status: http.StatusAccepted, body: jobMade{made.ID, made.Existing}}
	if made.Existing {
		reply.status = http.StatusOK
	}
	return reply, nil
}

// localTime reads a time with its zone, or one of the server's zone without.
func (c *call) localTime(path, text string, zone *time.Location) time.Time {
	if text == "" {
		return time.Time{}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t
	}
	for _, layout := range []string{time.DateTime, "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t
		}
	}
	if !c.concerns(path) {
		c.refuse(path, "is %.60q: want a time such as 2025-08-02T13:15:00+08:00, or 2025-08-02 13:15:00 in the time zone %s", text, zone)
	}
	return time.Time{}
}

func (a *api) updateJobs(c *call) (answer, error) {
	in, err := loose(c, jobStatusReader)
	if err != nil {
		return answer{}, err
	}
	var expected []workflow.Status
	for i := range in.Expected {
		expected = append(expected, workflow.Status(c.code(fmt.Sprintf("expectedStatuses[%d]", i), &in.Expected[i])))
	}
	biz, ids := workflow.BizType(c.code("bizType", in.BizType)), c.ids("bizIds", in.BizIDs)
	status, operator := workflow.Status(c.code("status", in.Status)), c.id("operator", in.Operator)
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	n, err := a.Jobs(Once{}).UpdateStatus(c.Context(), c.key.Tenant, biz, ids, status, expected, operator)
	if err != nil {
		return answer{}, err
	}
	return ok(jobsChanged{n})
}

func (a *api) deleteJobs(c *call) (answer, error) {
	in, err := loose(c, jobDeleteReader)
	if err != nil {
		return answer{}, err
	}
	biz, ids, operator := workflow.BizType(c.code("bizType", in.BizType)), c.ids("bizIds", in.BizIDs), c.id("operator", in.Operator)
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	n, err := a.Jobs(Once{}).DeleteByBiz(c.Context(), c.key.Tenant, biz, ids, operator)
	if err != nil {
		return answer{}, err
	}
	return ok(jobsChanged{n})
}

func (a *api) job(c *call) (answer, error) {
	view, err := a.Jobs(Once{}).Job(c.Context(), c.key.Tenant, c.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	return ok(view)
}

func (a *api) jobs(c *call) (answer, error) {
	for _, name := range []string{"bizType", "bizId"} {
		if c.query.Get(name) == "" && !c.concerns("query."+name) {
			c.refuse("query."+name, "is required")
		}
	}
	biz := c.number("bizType", 0, len(workflow.Kinds())-1)
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	list, err := a.Jobs(Once{}).JobsOf(c.Context(), c.key.Tenant, workflow.BizType(biz), c.query.Get("bizId"))
	if err != nil {
		return answer{}, err
	}
	return pageOf(list, "")
}

func (a *api) installTemplates(c *call) (answer, error) {
	out, err := workflow.InstallTemplates(c.Context(), a.Store, c.key.Tenant)
	if err != nil {
		return answer{}, err
	}
	return ok(out)
}
