package outbox

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/workflow"
)

// Job is a notification under the names of the document that many workflow systems follow: its section 4.1, as
// POST /v1/notify/jobs takes it. docs/guide/notify.md says what each number means.
type Job struct {
	BizType workflow.BizType `json:"bizType"` // such as workflow.BizTaskFinished
	BizID   string           `json:"bizId"`   // the task's id; with workflow.BizNodeDone and BizNodeTimeout the node's
	Channel int              `json:"channel"` // workflow.JobToOA or workflow.JobToDingTalk
	// Payload fills the template. Defaults to none.
	Payload json.RawMessage `json:"payload,omitempty"`
	// Users are told, each once: 10,000 at most. Required.
	Users []string `json:"userIds"`
	// DedupKey makes a second job with it on the channel the first one, for good. Defaults to none.
	DedupKey string `json:"dedupKey,omitempty"`
	// NextRunTime is when it is sent. Defaults to when the row was written.
	NextRunTime time.Time `json:"nextRunTime,omitzero"`
	Operator    string    `json:"operator,omitempty"`
	// Number is a whole number by which the job is found too. Defaults to 0: none.
	Number int64 `json:"number,omitempty"`
}

// EnqueueJob writes jobs into the outbox with tx, as POST /v1/notify/jobs would take them. They are made if and when tx
// commits; one whose dedup key stands for another makes none. A job is found by its business type and id.
//
// Errors are as with Enqueue; what is wrong with a job beyond its type, id, channel and users is found out after the
// commit, and then it waits in the table.
func (b *Box) EnqueueJob(ctx context.Context, tx Execer, jobs ...Job) error {
	texts, err := encode("jobs", "jobs", len(jobs), func(i int, p *draft.Problems) any {
		jobs[i].check(p)
		return jobRow{jobs[i]}
	})
	if err != nil {
		return err
	}
	rows := make([]row, len(jobs))
	for i, text := range texts {
		rows[i] = row{posthouse.NewID(), text}
	}
	return b.insert(ctx, tx, rows)
}

// jobRow is a draft.Row with a job and nothing else.
type jobRow struct {
	Job Job `json:"job"`
}

func (j *Job) check(p *draft.Problems) {
	if !j.BizType.Valid() {
		p.Add("bizType", "is %d: want 0 to 5", j.BizType)
	}
	if j.Channel != workflow.JobToOA && j.Channel != workflow.JobToDingTalk {
		p.Add("channel", "is %d: want 0 oa, 1 dingtalk", j.Channel)
	}
	if j.BizID == "" {
		p.Add("bizId", "is required")
	}
	if len(j.Users) == 0 {
		p.Add("userIds", "is required: who is told")
	}
	if n := len(j.Users); n > draft.MostRecipients {
		p.Add("userIds", "has %d users: at most %d are told by one job", n, draft.MostRecipients)
	}
	for i, user := range j.Users {
		if user == "" {
			p.Add("userIds["+strconv.Itoa(i)+"]", "is empty")
		}
	}
	if j.Number < 0 {
		p.Add("number", "is %d: want 1 or more, or leave it out", j.Number)
	}
	p.Payload(j.Payload, MaxBytes)
}
