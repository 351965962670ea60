package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/retold"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/internal/ids"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store/foreign"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/workflow"
)

// owner is who made the attempts of which nobody knows who made them.
const owner = "import"

// maxRetries bounds the retries that are told: each is two events, and nobody reads more.
const maxRetries = 100

// lease is how long an attempt could have taken.
const lease = time.Minute

// takeJobs carries jobs over, batch by batch.
func (r *run) takeJobs(ctx context.Context, t *Table) error {
	of, err := r.From.Count(ctx, foreign.NotifyJobs)
	if err != nil {
		return err
	}
	for after := int64(-1); ; {
		rows, err := r.From.Jobs(ctx, after, r.Batch)
		if err != nil || len(rows) == 0 {
			return err
		}
		after = rows[len(rows)-1].Row
		t.Rows += len(rows)
		if err := r.takeBatch(ctx, t, rows); err != nil {
			return err
		}
		if r.Progress != nil {
			r.Progress(t.Name, t.Rows, max(of, t.Rows))
		}
	}
}

func (r *run) takeBatch(ctx context.Context, t *Table, rows []work.NotifyJob) error {
	var list []work.Imported
	numbers := map[string]int64{} // of the rows, by the message that each becomes
	for i := range rows {
		row := &rows[i]
		job, why := r.read(row)
		if why != "" {
			r.leave(t, row.Row, "%s", why)
			continue
		}
		if waits(row) && job.Again() > 0 {
			if err := r.remind(ctx, t, row, job); err != nil {
				return err
			}
			continue
		}
		made, why, err := r.message(ctx, row, job)
		if err != nil {
			return err
		}
		if why != "" {
			r.leave(t, row.Row, "%s", why)
			continue
		}
		numbers[made.Message.ID] = row.Row
		list = append(list, made)
	}
	stored, taken, err := r.To.Imports.ImportKeyed(ctx, r.now, r.Tenant, list, r.DryRun)
	if err != nil {
		return err
	}
	for message, of := range taken {
		r.leave(t, numbers[message], "its dedup_key stands for the message %s already", of)
	}
	t.New += stored
	t.There += len(list) - stored - len(taken)
	if r.DryRun {
		return nil
	}
	return r.mark(ctx, rows, numbers, taken)
}

// waits reports whether something of a job is still to be sent.
func waits(row *work.NotifyJob) bool {
	return !row.Deleted && flow.Status(row.Status) == flow.Waiting
}

// read makes a job of a row, or says why there is none.
func (r *run) read(row *work.NotifyJob) (job *flow.Job, why string) {
	job = &flow.Job{
		BizType: workflow.BizType(row.BizType), BizID: row.BizID, Channel: row.Channel, Payload: json.RawMessage(row.Payload),
		DedupKey: row.Key, NextRunTime: meant(row.NextRun), Operator: row.CreateBy,
	}
	seen := map[string]bool{}
	for _, to := range row.Recipients {
		if !seen[to.User] {
			seen[to.User] = true
			job.Users = append(job.Users, to.User)
		}
	}
	if waits(row) && r.History {
		return job, "it still waits, and --history leaves that out"
	}
	if !flow.Status(row.Status).Valid() {
		return job, "its status " + strconv.Itoa(row.Status) + " is none of the document"
	}
	problems := draft.Problems{List: job.Check()}
	problems.Payload(job.Payload, 256<<10)
	problems.Word("dedup_key", job.DedupKey, 255)
	problems.Word("create_by", job.Operator, 255)
	for _, user := range job.Users {
		problems.Word("user_id", user, 255)
	}
	return job, said(problems.List)
}

// said are problems on one line.
func said(problems []posthouse.Problem) string {
	var list []string
	for _, p := range problems {
		list = append(list, p.Path+" "+p.Message)
	}
	return strings.Join(list, "; ")
}

// meant is a time, or the zero one in place of one that nobody means.
func meant(t time.Time) time.Time {
	if !posthouse.ValidTime(t) {
		return time.Time{}
	}
	return t
}

// remind opens the reminder of a time-out that comes again.
func (r *run) remind(ctx context.Context, t *Table, row *work.NotifyJob, job *flow.Job) error {
	d := job.Draft(r.now)
	d.NotBefore = time.Time{}
	if since := began(row, job); !since.IsZero() {
		d.Clock = &posthouse.Clock{Since: since}
	}
	id := cmp.Or(job.DedupKey, "tc_notify_job-"+strconv.FormatInt(row.Row, 10))
	p, found, err := r.To.Plans.Plan(ctx, r.Tenant, work.PlanReminder, id)
	switch {
	case err != nil:
		return err
	case found && (p.Kind != d.Kind || p.Ref != d.Ref):
		r.leave(t, row.Row, "another reminder has the id %q", id)
		return nil
	case found:
		t.There++
		return nil
	}
	made, problems := remind.New(posthouse.Reminder{
		ID: id, Tenant: r.Tenant, Draft: d, Repeat: &posthouse.Repeat{From: cmp.Or(job.NextRunTime, r.now), Every: posthouse.Duration(job.Again())},
	}, r.now, r.Zone)
	if len(problems) > 0 {
		r.leave(t, row.Row, "%s", said(problems))
		return nil
	}
	t.New++
	if r.DryRun {
		return nil
	}
	out, err := r.To.Submissions.Accept(ctx, r.now, []*work.Submission{{Tenant: r.Tenant, ID: posthouse.NewID(), Plans: []work.Plan{remind.Plan(made)}}})
	if err == nil {
		err = out[0].Err
	}
	return err
}

// began is when the time was up that a job reminds of: next_run_time moves on with each round, the payload knows how long the
// node might take from when the job was made.
func began(row *work.NotifyJob, job *flow.Job) time.Time {
	var fields struct {
		Most json.Number `json:"maxDuration"`
	}
	if json.Unmarshal(job.Payload, &fields) != nil || row.CreatedAt.IsZero() {
		return time.Time{}
	}
	minutes, err := fields.Most.Int64()
	if err != nil || minutes <= 0 {
		return time.Time{}
	}
	up := row.CreatedAt.Add(time.Duration(minutes) * time.Minute)
	if up.After(job.NextRunTime) {
		return time.Time{}
	}
	return up
}

// message tells a job in our words, or says why it cannot be.
func (r *run) message(ctx context.Context, row *work.NotifyJob, job *flow.Job) (made work.Imported, why string, err error) {
	created := cmp.Or(meant(row.CreatedAt), meant(row.UpdatedAt), r.now)
	d := job.Draft(r.now)
	m := posthouse.Message{
		ID: ids.At(created, "tc_notify_job\n"+r.Tenant+"\n"+strconv.FormatInt(row.Row, 10)), Tenant: r.Tenant, Channel: d.Channel, Kind: d.Kind, Ref: d.Ref,
		Source: d.Source, Priority: posthouse.Normal, Payload: d.Payload, DedupKey: d.DedupKey, CreatedAt: created,
	}
	if job.NextRunTime.After(created) {
		m.NotBefore = job.NextRunTime
	}
	if waits(row) {
		m.Deadline, m.Clock = d.Deadline, d.Clock
	}
	if why, err = r.fill(ctx, &m, d.Clock); err != nil || why != "" && waits(row) {
		return made, why, err
	}
	made.Message = m
	if m.DedupKey != "" && !row.Deleted {
		made.KeyUntil = r.now.Add(d.DedupWindow.Std())
	}
	known, err := r.To.Users.Addresses(ctx, r.Tenant, m.Channel, job.Users)
	if err != nil {
		return made, "", err
	}
	for i, user := range job.Users {
		h := &retold.History{Delivery: posthouse.Delivery{
			ID: posthouse.DeliveryID(m.ID, i+1), Message: m.ID, Tenant: r.Tenant, Channel: m.Channel, Priority: posthouse.Normal, OnUnknown: posthouse.Retry, Epoch: r.epoch,
			Recipient: posthouse.Recipient{User: user, Address: known[user]}, NotBefore: m.NotBefore, Deadline: m.Deadline, CreatedAt: created, UpdatedAt: created,
		}}
		h.Delivery.IdemKey = h.Delivery.ID
		r.tell(h, row, recipientOf(row, user), created)
		made.Deliveries, made.Events = append(made.Deliveries, h.Delivery), append(made.Events, h.Events...)
	}
	return made, "", nil
}

// fill puts the content into a message: as its template makes it. Why says what is missing for that.
func (r *run) fill(ctx context.Context, m *posthouse.Message, clock *posthouse.Clock) (why string, err error) {
	for _, name := range []string{flow.TemplateName(m.Kind, m.Channel), m.Kind} {
		t, found, err := r.template(ctx, name)
		if err != nil {
			return "", err
		}
		if !found {
			continue
		}
		contents := content.Contents{PlatformURL: r.PlatformURL}
		filled, payload, problems := contents.Stored(t, m.Payload, clock, r.now)
		if len(problems) > 0 {
			return said(problems), nil
		}
		m.Template, m.Version, m.TemplateID, m.Content, m.Payload = t.Name, t.Version, t.ExternalID, filled, payload
		return "", nil
	}
	return "there is no template " + flow.TemplateName(m.Kind, m.Channel) + ": run posthouse workflow init before", nil
}

// recipientOf is the row of a user among a job's recipients, the last one of several.
func recipientOf(row *work.NotifyJob, user string) (found work.NotifyRecipient) {
	for _, to := range row.Recipients {
		if to.User == user {
			found = to
		}
	}
	return found
}

// tell writes the history that a recipient must have had.
func (r *run) tell(h *retold.History, row *work.NotifyJob, to work.NotifyRecipient, created time.Time) {
	d := &h.Delivery
	end := cmp.Or(meant(to.UpdatedAt), meant(row.UpdatedAt), created)
	if end.Before(created) {
		end = created
	}
	due := cmp.Or(meant(row.NextRun), created)
	accept := h.To(posthouse.EventAccept, posthouse.Pending, "imported", created)
	switch status := flow.Status(to.Status); {
	case status == flow.Succeeded:
		h.Start(owner, end, end.Add(lease))
		d.ProviderRef = to.Message
		h.End(posthouse.EventSent, posthouse.Sent, "", posthouse.ClassOK, "", end)
	case waits(row):
		if d.DueAt, accept.Due = due, due; status == flow.Failed {
			accept.Due = created
			n := min(max(row.Retries, 1), maxRetries)
			retries(h, n, n, to.Error, due, end)
		}
	case status == flow.Failed || flow.Status(row.Status) == flow.Failed && !row.Deleted:
		n := min(max(row.Retries, 0), maxRetries)
		retries(h, n, n+1, "", end, end)
		h.Start(owner, end, end.Add(lease))
		d.Tries++
		h.End(posthouse.EventFail, posthouse.Failed, state.ReasonTriesUsedUp, posthouse.ClassTransient, to.Error, end)
	default:
		h.To(posthouse.EventCancel, posthouse.Cancelled, "imported", end)
	}
}

// retries are the first of all attempts: they failed and were repeated, the last one at due. Of that one the text is known.
func retries(h *retold.History, n, all int, text string, due, end time.Time) {
	begin := h.Delivery.UpdatedAt
	step := end.Sub(begin) / time.Duration(all)
	for i := 1; i <= n; i++ {
		at, said, next := begin.Add(time.Duration(i)*step), "", begin.Add(time.Duration(i+1)*step)
		if i == n {
			said, next = text, due
		}
		h.Start(owner, at, at.Add(lease))
		h.Delivery.Tries++
		h.End(posthouse.EventRetry, posthouse.Pending, string(posthouse.ClassTransient), posthouse.ClassTransient, said, at).Due = next
	}
}

// mark says of the jobs that were carried over what was said of them there: their status, or that they are deleted. What has been
// said of one since stays.
func (r *run) mark(ctx context.Context, rows []work.NotifyJob, numbers map[string]int64, taken map[string]string) error {
	byRow := map[int64]*work.NotifyJob{}
	for i := range rows {
		byRow[rows[i].Row] = &rows[i]
	}
	var ids []string
	for id := range numbers {
		ids = append(ids, id)
	}
	said, err := r.To.Marks.Marks(ctx, r.Tenant, ids)
	for id, number := range numbers {
		row := byRow[number]
		status := flow.Status(row.Status)
		if _, known := said[id]; known || err != nil || taken[id] != "" {
			continue
		}
		if status == flow.Cancelled || status == flow.Aborted {
			err = r.To.Marks.MarkStatus(ctx, r.now, r.Tenant, []string{id}, row.Status, row.UpdateBy)
		}
		if err == nil && row.Deleted {
			err = r.To.Marks.MarkDeleted(ctx, r.now, r.Tenant, []string{id}, row.UpdateBy, nil)
		}
	}
	return err
}
