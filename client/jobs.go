package client

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// Jobs are the jobs of the notification document.
type Jobs struct{ api *caller }

// JobDraft is a job as the notification document hands it in.
type JobDraft struct {
	// BizType is what it is about, such as workflow.BizTaskFinished.
	BizType workflow.BizType `json:"bizType"`
	// BizID is the task's id; with workflow.BizNodeDone and workflow.BizNodeTimeout the node's.
	BizID string `json:"bizId"`
	// Channel is workflow.JobToOA or workflow.JobToDingTalk.
	Channel int `json:"channel"`
	// Payload fills the template. With workflow.BizNodeTimeout a timeoutRemind in it, in minutes, makes the job come
	// again and again.
	Payload  json.RawMessage `json:"payload,omitempty"`
	UserIDs  []string        `json:"userIds"`
	DedupKey string          `json:"dedupKey,omitempty"`
	// NextRunTime is when it is sent. Defaults to now.
	NextRunTime time.Time `json:"nextRunTime,omitzero"`
	Operator    string    `json:"operator,omitempty"`
	// Number is a whole number by which the job is found too; a pointer to 0 has one made. Defaults to none.
	Number *int64 `json:"number,omitempty"`
}

// JobStatus gives the jobs of a business type and ids the status workflow.JobCancelled or JobAborted, where they have one
// of those expected. Expected defaults to workflow.JobWaiting.
type JobStatus struct {
	BizType  workflow.BizType `json:"bizType"`
	BizIDs   []string         `json:"bizIds"`
	Status   int              `json:"status"`
	Expected []int            `json:"expectedStatuses,omitempty"`
	Operator string           `json:"operator,omitempty"`
}

// Enqueue hands in a job, with an Idempotency-Key of its own.
func (c Jobs) Enqueue(ctx context.Context, j JobDraft) (wire.JobMade, error) {
	r, err := withBody(http.MethodPost, path("notify", "jobs"), j)
	if err != nil {
		return wire.JobMade{}, err
	}
	r.key = posthouse.NewID()
	return call[wire.JobMade](ctx, c.api, r)
}

// Update cancels or aborts jobs, and returns how many changed.
func (c Jobs) Update(ctx context.Context, s JobStatus) (int, error) {
	out, err := send[wire.JobsChanged](ctx, c.api, http.MethodPost, path("notify", "jobs", "status"), s)
	return out.Changed, err
}

// Delete deletes the jobs of a business type and ids, frees their dedup keys, and returns how many there
// were.
func (c Jobs) Delete(ctx context.Context, bizType workflow.BizType, bizIDs []string, operator string) (int, error) {
	out, err := send[wire.JobsChanged](ctx, c.api, http.MethodPost, path("notify", "jobs", "delete"),
		map[string]any{"bizType": bizType, "bizIds": bizIDs, "operator": operator})
	return out.Changed, err
}

// Get reads one job, also a deleted one.
func (c Jobs) Get(ctx context.Context, id string) (wire.Job, error) {
	return get[wire.Job](ctx, c.api, path("notify", "jobs", id), nil)
}

// JobFilter selects jobs. The zero value selects all that are not deleted.
type JobFilter struct {
	// BizTypes are the business types. Defaults to all.
	BizTypes []workflow.BizType
	// BizID is the task's or the node's id. Defaults to any.
	BizID string
	// Statuses are those a job may have, workflow.JobWaiting to JobAborted. Defaults to any.
	Statuses []int
	// Since and Until bound when a job was handed in: from Since, before Until.
	Since, Until time.Time
	// Cursor is Next of the page before, Limit the length of a page, 1 to 1000. Defaults to 50. A page may be shorter than that,
	// and empty, before the last one.
	Cursor string
	Limit  int
}

// List lists jobs, without deleted ones: those of one type and id newest first, of others first those that come again.
func (c Jobs) List(ctx context.Context, f JobFilter) (wire.Page[wire.Job], error) {
	q := Filter{Since: f.Since, Until: f.Until, Cursor: f.Cursor, Limit: f.Limit}.query()
	for name, value := range map[string]string{"bizType": commas(f.BizTypes), "bizId": f.BizID, "status": commas(f.Statuses)} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return get[wire.Page[wire.Job]](ctx, c.api, path("notify", "jobs"), q)
}

func commas[T ~int](numbers []T) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(int(n))
	}
	return strings.Join(words, ",")
}

// Install stores the default templates of workflow notices where there are none.
func (c Templates) Install(ctx context.Context) (wire.InstalledTemplates, error) {
	return send[wire.InstalledTemplates](ctx, c.api, http.MethodPost, path("workflow", "templates", "defaults"), nil)
}
