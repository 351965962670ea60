package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// Ident is an id or a number of the notification document: callers write them as numbers and as texts. It is
// kept as it is written, so that a number of 19 digits stays exact. What is neither begins with U+0000.
type Ident string

// UnmarshalJSON keeps numbers and texts. Anything else stays as it is written too, for the server to refuse.
func (i *Ident) UnmarshalJSON(text []byte) error {
	var word string
	if json.Unmarshal(text, &word) == nil && !bytes.Equal(text, []byte("null")) {
		*i = Ident(word)
	} else if !bytes.Equal(text, []byte("null")) {
		*i = Ident("\x00" + string(text))
	}
	return nil
}

// Text is what was written, of a number its digits.
func (i Ident) Text() string { return strings.TrimPrefix(string(i), "\x00") }

// NewJob is a job as the document's enqueue takes it.
type NewJob struct {
	BizType     *Ident          `json:"bizType" doc:"0 task_created, 1 node_done, 2 orbit_remind, 3 task_finished, 4 task_abnormal, 5 node_timeout."`
	BizID       Ident           `json:"bizId" doc:"The task's id; with bizType 1 and 5 the node's."`
	Channel     *Ident          `json:"channel" doc:"0 oa, 1 dingtalk."`
	Payload     json.RawMessage `json:"payload,omitempty" doc:"What the template is filled with, an object. With bizType 5 a timeoutRemind in it, in minutes, makes the job come again and again."`
	UserIDs     []Ident         `json:"userIds" doc:"Who is told, each once."`
	DedupKey    string          `json:"dedupKey,omitempty" doc:"A second job with it on the channel is the first one."`
	NextRunTime string          `json:"nextRunTime,omitempty" doc:"When it is sent, as 2025-08-02T13:15:00+08:00, or as 2025-08-02 13:15:00 in the server's time zone. Defaults to now."`
	Operator    Ident           `json:"operator,omitempty" doc:"Who hands it in."`
	Number      *Ident          `json:"number,omitempty" doc:"A whole number by which the job is found too, for callers whose ids are such: a second job with it is the first one. 0 has one made. Defaults to none."`
}

// JobMade answers an enqueued job.
type JobMade struct {
	JobID    string `json:"jobId"`
	Existing bool   `json:"existing" doc:"The dedupKey, or the number, stood for this job already: nothing was created."`
	Number   int64  `json:"number,omitempty" doc:"The job's number, where one was given or asked for."`
}

// JobStatus gives jobs a status.
type JobStatus struct {
	BizType  *Ident  `json:"bizType" doc:"0 to 5."`
	BizIDs   []Ident `json:"bizIds"`
	Status   *Ident  `json:"status" doc:"3 cancelled or 4 aborted."`
	Expected []Ident `json:"expectedStatuses,omitempty" doc:"Only jobs that have one of these change. Defaults to 0, waiting."`
	Operator Ident   `json:"operator,omitempty"`
}

// JobDelete deletes jobs.
type JobDelete struct {
	BizType  *Ident  `json:"bizType" doc:"0 to 5."`
	BizIDs   []Ident `json:"bizIds"`
	Operator Ident   `json:"operator,omitempty"`
}

// JobsChanged says how many jobs a call changed.
type JobsChanged struct {
	Changed int `json:"changed"`
}

// Job is a job under the names of the document's table tc_notify_job (section 2.1). Ids are texts.
type Job struct {
	ID       string          `json:"id"`
	Number   int64           `json:"number,omitempty" doc:"The whole number by which the job is found too, where it has one."`
	BizType  int             `json:"biz_type"`
	BizID    string          `json:"biz_id"`
	DedupKey string          `json:"dedup_key,omitempty"`
	Payload  json.RawMessage `json:"payload"`
	Channel  int             `json:"channel"`
	Status   int             `json:"status"`
	// State is the status in a word, or held where only a person moves the job on; Remark says how.
	State       string    `json:"state"`
	RetryCount  int       `json:"retry_count"`
	NextRunTime time.Time `json:"next_run_time"`
	Remark      string    `json:"remark,omitempty"`
	DelFlag     int       `json:"del_flag"`
	CreateBy    string    `json:"create_by,omitempty"`
	CreateTime  time.Time `json:"create_time"`
	UpdateBy    string    `json:"update_by,omitempty"`
	UpdateTime  time.Time `json:"update_time"`
	// Recipients are its deliveries; of a job that comes again those of its last message.
	Recipients []JobRecipient `json:"recipients"`
}

// JobRecipient is a recipient of a job under the names of tc_notify_recipient (section 2.2): a delivery.
type JobRecipient struct {
	ID            string          `json:"id"`
	UserID        string          `json:"user_id"`
	Status        int             `json:"status"`
	LastError     string          `json:"last_error,omitempty"`
	ExternalMsgID string          `json:"external_msgid,omitempty"`
	UpdateTime    time.Time       `json:"update_time"`
	State         posthouse.State `json:"state"`
}
