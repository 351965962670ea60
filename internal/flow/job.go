package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/workflow"
)

// Job is a notification as the document hands it in (section 4.1): for the recipients it names, by the
// template of its business type on its channel.
type Job struct {
	BizType workflow.BizType
	// BizID is the task's or the node's id: the messages' ref.
	BizID string
	// Channel is 0 for oa, 1 for dingtalk.
	Channel int
	// Payload fills the template. With BizNodeTimeout and a timeoutRemind in it, in minutes, the job comes
	// again and again until its status is set or it is deleted.
	Payload json.RawMessage
	// Users are told, each once: MaxUsers at most.
	Users []string
	// DedupKey makes a second job with it on the channel the first one. Defaults to none.
	DedupKey string
	// NextRunTime is when it is sent. Defaults to now.
	NextRunTime time.Time
	Operator    string
	// Number is a whole number by which the job is found too, for callers whose ids are such; 0 has one made. A second job with
	// it is the first one. Defaults to none.
	Number *int64

	id string // that the message is to have, where that is known before
}

// MaxUsers bounds the users of a job: they are stored in one commit, with one answer.
const MaxUsers = draft.MostRecipients

// Enqueued says which job stands for one that was handed in.
type Enqueued struct {
	ID string
	// Existing says that it stood already, and that nothing was created.
	Existing bool
	// Number is the job's, 0 where none was asked for.
	Number int64
}

// JobPost hands in what jobs are made of, and takes it back.
type JobPost interface {
	// Send stores a message, as if it was handed in at a time: one whose deadline has passed since expires.
	Send(ctx context.Context, tenant string, d posthouse.Draft, handedIn time.Time) (posthouse.Accepted, error)
	// Remind opens a reminder; a duplicate is one of its id that is open already.
	Remind(ctx context.Context, tenant string, r posthouse.Reminder) (duplicate bool, err error)
	// EndReminder ends a reminder, if it is open.
	EndReminder(ctx context.Context, tenant, id, reason string) error
	// Cancel cancels what of messages has not started.
	Cancel(ctx context.Context, tenant string, messages []string) error
}

// JobStore reads what jobs became: messages and reminders.
type JobStore interface {
	JobMessages
	JobPlans
}

// JobMessages reads messages.
type JobMessages interface {
	Message(ctx context.Context, tenant, id string) (m posthouse.Message, recipients int, err error)
	Messages(ctx context.Context, f work.Filter) (list []work.Summary, next string, err error)
	DeliveriesOf(ctx context.Context, tenant, message, cursor string, limit int) (list []posthouse.Delivery, next string, err error)
}

// JobPlans reads reminders.
type JobPlans interface {
	Plan(ctx context.Context, tenant string, kind work.PlanType, id string) (p work.Plan, found bool, err error)
	Plans(ctx context.Context, tenant string, kind work.PlanType, cursor string, limit int) (list []work.Plan, next string, err error)
	PlansByRef(ctx context.Context, tenant string, kind work.PlanType, about, ref string) ([]work.Plan, error)
}

// JobMarks keeps what was said of jobs beside what became of them.
type JobMarks interface {
	Marks(ctx context.Context, tenant string, jobs []string) (map[string]work.Mark, error)
	MarkStatus(ctx context.Context, now time.Time, tenant string, jobs []string, status int, by string) error
	MarkDeleted(ctx context.Context, now time.Time, tenant string, jobs []string, by string, keys []work.DedupRow) error
}

// JobGates knows the accounts that a provider has refused: nothing of them starts before a time.
type JobGates interface {
	Gates(ctx context.Context, tenant string) ([]work.Gate, error)
}

// Jobs is the document's notification service (section 4.1) over messages and reminders: a job is one of
// them, and its id is theirs. All fields are required.
type Jobs struct {
	Post  JobPost
	Store JobStore
	Marks JobMarks
	Gates JobGates
	// Numbers keeps the numbers of jobs.
	Numbers JobNumbers
}

// Enqueue makes a job. One whose dedup key stands for another makes none, and answers that one's id: also
// when it was sent, cancelled or aborted since, until it is deleted. An error of code invalid names the
// fields that are wrong by the document's names.
func (j Jobs) Enqueue(ctx context.Context, tenant string, job Job) (Enqueued, error) {
	if err := posthouse.Invalid("the job cannot be accepted", job.Check()); err != nil {
		return Enqueued{}, err
	}
	if job.Number != nil {
		return j.number(ctx, tenant, job)
	}
	now := time.Now()
	d := job.Draft(now)
	if stands, err := j.standing(ctx, tenant, &d); stands != "" || err != nil {
		return Enqueued{ID: stands, Existing: true}, err
	}
	if every := job.Again(); every > 0 {
		return j.remind(ctx, tenant, d, every, later(job.NextRunTime, now))
	}
	handedIn := now
	if !d.Deadline.IsZero() && !d.Deadline.After(now) {
		handedIn = job.NextRunTime // it stands for its key, and expires
	}
	accepted, err := j.Post.Send(ctx, tenant, d, handedIn)
	return Enqueued{ID: accepted.ID, Existing: accepted.DuplicateOf != ""}, inTheDocumentsWords(err)
}

// Check says what is wrong with a job as far as it alone can tell, by the document's names.
func (job *Job) Check() []posthouse.Problem {
	var problems []posthouse.Problem
	if job.BizType.Kind() == "" {
		problems = append(problems, wrongNumber("bizType", int(job.BizType), workflow.Kinds()))
	}
	if ChannelName(job.Channel) == "" {
		problems = append(problems, wrongNumber("channel", job.Channel, Channels()))
	}
	if job.BizID == "" {
		problems = append(problems, posthouse.Problem{Path: "bizId", Message: "is required"})
	}
	if len(job.Users) == 0 {
		problems = append(problems, posthouse.Problem{Path: "userIds", Message: "is required: who is told"})
	}
	if n := len(job.Users); n > MaxUsers {
		problems = append(problems, posthouse.Problem{Path: "userIds", Message: fmt.Sprintf("has %d users: at most %d are told by one job", n, MaxUsers)})
	}
	for i, user := range job.Users {
		if user == "" {
			problems = append(problems, posthouse.Problem{Path: "userIds[" + strconv.Itoa(i) + "]", Message: "is empty"})
		}
	}
	if job.Number != nil && *job.Number < 0 {
		problems = append(problems, posthouse.Problem{Path: "number", Message: fmt.Sprintf("is %d: want a whole number, 0 to have one made", *job.Number)})
	}
	if job.BizType == workflow.BizNodeTimeout {
		problems = append(problems, job.checkAgain()...)
	}
	return problems
}

// checkAgain refuses a timeoutRemind that says nothing: without one the job would come once, and nobody
// would notice that it never comes again.
func (job *Job) checkAgain() []posthouse.Problem {
	written := strings.Trim(string(job.field("timeoutRemind")), `"`)
	if _, ok := job.number("timeoutRemind"); ok || written == "" || written == "null" {
		return nil
	}
	return []posthouse.Problem{{
		Path: "payload.timeoutRemind", Message: fmt.Sprintf("is %.60s: want whole minutes, 1 to %d, or leave it out to be reminded once", written, maxMinutes),
	}}
}

func wrongNumber(field string, n int, names []string) posthouse.Problem {
	var allowed []string
	for i, name := range names {
		allowed = append(allowed, strconv.Itoa(i)+" "+name)
	}
	return posthouse.Problem{Path: field, Message: "is " + strconv.Itoa(n) + ": want " + strings.Join(allowed, ", ")}
}

// Draft is the message of a job that is handed in at now.
func (job *Job) Draft(now time.Time) posthouse.Draft {
	d := posthouse.Draft{
		ID: job.id, Channel: ChannelName(job.Channel), Kind: job.BizType.Kind(), Ref: job.BizID, Source: job.Operator,
		Payload: job.Payload, DedupKey: job.DedupKey, DedupWindow: forGood,
	}
	for _, user := range job.Users {
		d.To = append(d.To, posthouse.Recipient{User: user})
	}
	if job.NextRunTime.After(now) {
		d.NotBefore = job.NextRunTime
	}
	switch job.BizType {
	case workflow.BizNodeTimeout:
		d.Clock = &posthouse.Clock{Since: cmp.Or(job.NextRunTime, now)}
	case workflow.BizOrbitRemind:
		job.countDown(&d)
	}
	return d
}

// countDown computes remainMin when a message about a pass is sent, and lets the message expire when the next
// slot has come, also where it was enqueued after that: it would come together with the next.
func (job *Job) countDown(d *posthouse.Draft) {
	left, ok := job.number("remainMin")
	if !ok || job.NextRunTime.IsZero() {
		return
	}
	d.Clock = &posthouse.Clock{Until: job.NextRunTime.Add(minutes(left))}
	d.Deadline = job.NextRunTime.Add(orbitEvery)
}

// Again is how often the job comes again, 0 for one that comes once (section 3.5).
func (job *Job) Again() time.Duration {
	n, ok := job.number("timeoutRemind")
	if !ok || job.BizType != workflow.BizNodeTimeout {
		return 0
	}
	return minutes(n)
}

// number reads a whole number of the payload, written as one or as text.
func (job *Job) number(name string) (int, bool) {
	n, err := strconv.Atoi(strings.Trim(string(job.field(name)), `"`))
	return n, err == nil && n >= 0 && n <= maxMinutes
}

// field is a member of the payload as it is written.
func (job *Job) field(name string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(job.Payload, &fields) != nil {
		return nil // Send says what is wrong with it
	}
	return fields[name]
}

// remind makes the job a reminder. Its id is its dedup key; after a deletion, and on another channel, the next
// one has ~2, ~3, … behind it.
func (j Jobs) remind(ctx context.Context, tenant string, d posthouse.Draft, every time.Duration, from time.Time) (Enqueued, error) {
	d.NotBefore, d.ID = time.Time{}, ""
	r := posthouse.Reminder{Tenant: tenant, Draft: d, Repeat: &posthouse.Repeat{From: from, Every: posthouse.Duration(every)}}
	for n := 1; ; n++ {
		if r.ID = d.DedupKey; r.ID == "" {
			r.ID = posthouse.NewID()
		} else if n > 1 {
			r.ID += "~" + strconv.Itoa(n)
		}
		stands, known, err := j.stands(ctx, tenant, r.ID, &d)
		switch {
		case err != nil:
			return Enqueued{}, err
		case stands:
			return Enqueued{ID: r.ID, Existing: true}, nil
		case known:
			continue // it was deleted, or is another channel's
		}
		duplicate, err := j.Post.Remind(ctx, tenant, r) // a duplicate was made by another call at the same moment
		return Enqueued{ID: r.ID, Existing: duplicate}, inTheDocumentsWords(err)
	}
}

// standing is the job that has a time-out's dedup key already, "" where none has. The database sees to a key
// among messages, and the id among reminders; a time-out can be either.
func (j Jobs) standing(ctx context.Context, tenant string, d *posthouse.Draft) (id string, err error) {
	if d.Kind != KindNodeTimeout || d.DedupKey == "" {
		return "", nil
	}
	list, err := j.find(ctx, tenant, d.Kind, d.Ref)
	for _, r := range list {
		made, channel := r.draft()
		if made.DedupKey == d.DedupKey && channel == d.Channel && !r.mark.Deleted {
			return r.id, err
		}
	}
	return "", err
}

// stands reports whether a reminder has an id, and whether it is this job, not deleted. It may be another
// channel's, or no job at all.
func (j Jobs) stands(ctx context.Context, tenant, id string, d *posthouse.Draft) (stands, known bool, err error) {
	p, known, err := j.Store.Plan(ctx, tenant, work.PlanReminder, id)
	if err != nil || !known {
		return false, known, err
	}
	r, err := reminderOf(p)
	if err != nil || r.reminder.Draft.Kind != d.Kind || r.reminder.Draft.Channel != d.Channel {
		return false, true, err
	}
	marks, err := j.Marks.Marks(ctx, tenant, []string{id})
	return !marks[id].Deleted, true, err
}

// documentNames are the document's names of a message's fields.
var documentNames = map[string]string{
	"ref": "bizId", "kind": "bizType", "source": "operator", "dedup_key": "dedupKey", "not_before": "nextRunTime", "to": "userIds",
	"id": "dedupKey", "repeat.from": "nextRunTime", "repeat.every": "payload.timeoutRemind",
}

// inTheDocumentsWords names the fields of a refused message as the document does.
func inTheDocumentsWords(err error) error {
	var coded *posthouse.Error
	if !errors.As(err, &coded) {
		return err
	}
	var problems []posthouse.Problem
	for _, p := range coded.Problems {
		path := strings.TrimPrefix(p.Path, "draft.")
		if number, ok := strings.CutPrefix(path, "to["); ok {
			number, _, _ = strings.Cut(number, "]")
			path = "userIds[" + number + "]"
		}
		p.Path = cmp.Or(documentNames[path], path)
		if !slices.ContainsFunc(problems, func(other posthouse.Problem) bool { return other.Path == p.Path }) {
			problems = append(problems, p)
		}
	}
	return cmp.Or(posthouse.Invalid("the job cannot be accepted", problems), err)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
