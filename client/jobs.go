package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Jobs are the jobs of the notification document.
type Jobs struct{ api *caller }

// JobDraft is a job as the notification document hands it in.
type JobDraft struct {
	// BizType is 0 task_created, 1 node_done, 2 orbit_remind, 3 task_finished, 4 task_abnormal or
	// 5 node_timeout.
	BizType int `json:"bizType"`
	// BizID is the task's id; with BizType 1 and 5 the node's.
	BizID string `json:"bizId"`
	// Channel is 0 for oa, 1 for dingtalk.
	Channel int `json:"channel"`
	// Payload fills the template. With BizType 5 a timeoutRemind in it, in minutes, makes the job come
	// again and again.
	Payload  json.RawMessage `json:"payload,omitempty"`
	UserIDs  []string        `json:"userIds"`
	DedupKey string          `json:"dedupKey,omitempty"`
	// NextRunTime is when it is sent. Defaults to now.
	NextRunTime time.Time `json:"nextRunTime,omitzero"`
	Operator    string    `json:"operator,omitempty"`
}

// JobStatus gives the jobs of a business type and ids the status 3 or 4, where they have one of those
// expected. Expected defaults to 0, waiting.
type JobStatus struct {
	BizType  int      `json:"bizType"`
	BizIDs   []string `json:"bizIds"`
	Status   int      `json:"status"`
	Expected []int    `json:"expectedStatuses,omitempty"`
	Operator string   `json:"operator,omitempty"`
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
func (c Jobs) Delete(ctx context.Context, bizType int, bizIDs []string, operator string) (int, error) {
	out, err := send[wire.JobsChanged](ctx, c.api, http.MethodPost, path("notify", "jobs", "delete"),
		map[string]any{"bizType": bizType, "bizIds": bizIDs, "operator": operator})
	return out.Changed, err
}

// Get reads one job, also a deleted one.
func (c Jobs) Get(ctx context.Context, id string) (wire.Job, error) {
	return get[wire.Job](ctx, c.api, path("notify", "jobs", id), nil)
}

// List lists the jobs of a business type and id, newest first, without deleted ones.
func (c Jobs) List(ctx context.Context, bizType int, bizID string) ([]wire.Job, error) {
	p, err := get[wire.Page[wire.Job]](ctx, c.api, path("notify", "jobs"), url.Values{"bizType": {strconv.Itoa(bizType)}, "bizId": {bizID}})
	return p.Items, err
}

// Install stores the default templates of workflow notices where there are none.
func (c Templates) Install(ctx context.Context) (wire.InstalledTemplates, error) {
	return send[wire.InstalledTemplates](ctx, c.api, http.MethodPost, path("workflow", "templates", "defaults"), nil)
}
