package notify

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// Options are what the front works on. All are required.
type Options struct {
	// Jobs are the document's functions, for one request.
	Jobs func(work.Caller, web.Once) flow.Jobs
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
			Answers(http.StatusAccepted, http.StatusOK).Sighted(),
		web.Get("/v1/notify/jobs", posthouse.ScopeRead, "Jobs by business type, id, status and time, without deleted ones.", f.list).Query("bizType", "bizId", "status", "since", "until").Paged(),
		web.Get("/v1/notify/jobs/{id}", posthouse.ScopeRead, "One job with its recipients, in the words of its document.", f.get),
		web.Post("/v1/notify/jobs/status", posthouse.ScopeSend, "Cancel or abort the jobs of a business type and ids.", statusBody, f.update).Audited(),
		web.Post("/v1/notify/jobs/delete", posthouse.ScopeSend, "Delete the jobs of a business type and ids, and free their dedup keys.", deleteBody, f.remove).Audited(),
	)
}

// reader reads the words of one request.
func (f front) reader() *flow.Reader { return &flow.Reader{Zone: f.Zone} }

func (f front) enqueue(c *web.Call, in wire.NewJob) (wire.JobMade, error) {
	r := f.reader()
	job := r.Job(in)
	c.Add(r.Problems())
	c.Add(job.Check())
	if err := c.Wrong(); err != nil {
		return wire.JobMade{}, err
	}
	made, err := f.Jobs(c.Caller(), c.Once).Enqueue(c.Context(), c.Tenant(), job)
	if made.Existing {
		c.Status = http.StatusOK
	}
	return wire.JobMade{JobID: made.ID, Existing: made.Existing, Number: made.Number}, err
}

func (f front) update(c *web.Call, in wire.JobStatus) (wire.JobsChanged, error) {
	r := f.reader()
	change := r.Change(in)
	c.Add(r.Problems())
	if err := c.Wrong(); err != nil {
		return wire.JobsChanged{}, err
	}
	n, err := f.Jobs(c.Caller(), web.Once{}).UpdateStatus(c.Context(), c.Tenant(), change)
	c.Asked(in, n)
	return wire.JobsChanged{Changed: n}, err
}

func (f front) remove(c *web.Call, in wire.JobDelete) (wire.JobsChanged, error) {
	r := f.reader()
	change := r.Deletion(in)
	c.Add(r.Problems())
	if err := c.Wrong(); err != nil {
		return wire.JobsChanged{}, err
	}
	n, err := f.Jobs(c.Caller(), web.Once{}).DeleteByBiz(c.Context(), c.Tenant(), change)
	c.Asked(in, n)
	return wire.JobsChanged{Changed: n}, err
}

func (f front) get(c *web.Call) (wire.Job, error) {
	return f.Jobs(c.Caller(), web.Once{}).Job(c.Context(), c.Tenant(), c.PathValue("id"))
}

func (f front) list(c *web.Call) (out wire.Page[wire.Job], err error) {
	filter := flow.JobFilter{BizID: c.Query.Get("bizId"), Since: c.Moment("since"), Until: c.Moment("until")}
	filter.Types = numbers[workflow.BizType](c, "bizType", len(workflow.Kinds())-1)
	filter.Statuses = numbers[flow.Status](c, "status", int(flow.Aborted))
	if filter.Cursor, filter.Limit, err = c.Page(); err != nil {
		return out, err
	}
	return f.Jobs(c.Caller(), web.Once{}).JobsOf(c.Context(), c.Tenant(), filter)
}

// numbers reads numbers of the document from the query, with commas between them.
func numbers[T ~int](c *web.Call, name string, most int) (list []T) {
	text := c.Query.Get(name)
	if text == "" {
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n > most {
			c.Refuse("query."+name, "is %.60q: want whole numbers from 0 to %d, with commas between", text, most)
			return nil
		}
		list = append(list, T(n))
	}
	return list
}
