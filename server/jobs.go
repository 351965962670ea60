package server

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Jobs are the notification document's three functions, for a program that embeds the server.
type Jobs struct {
	jobs flow.Jobs
	zone *time.Location // of times that name none
}

// Jobs are the notification document's functions. The HTTP API has the same at /v1/notify/jobs.
func (s *Server) Jobs() Jobs { return Jobs{s.jobsOf(work.Program(), web.Once{}), s.zone} }

// Enqueue makes a job. One whose dedup key stands for another makes none, and answers that one's id: also
// when it was sent, cancelled or aborted since, until it is deleted. An error of code invalid names the
// fields that are wrong by the document's names.
func (j Jobs) Enqueue(ctx context.Context, tenant string, in wire.NewJob) (wire.JobMade, error) {
	r := flow.Reader{Zone: j.zone}
	job := r.Job(in)
	if err := posthouse.Invalid("the job cannot be accepted", r.Problems()); err != nil {
		return wire.JobMade{}, err
	}
	made, err := j.jobs.Enqueue(ctx, tenant, job)
	return wire.JobMade{JobID: made.ID, Existing: made.Existing, Number: made.Number}, err
}

// UpdateStatus cancels or aborts the jobs of a business type and ids. Nothing more of them is sent; what was sent
// stays so. After an error some may be done: repeat the call.
func (j Jobs) UpdateStatus(ctx context.Context, tenant string, in wire.JobStatus) (wire.JobsChanged, error) {
	r := flow.Reader{Zone: j.zone}
	change := r.Change(in)
	if err := posthouse.Invalid("the jobs cannot be changed", r.Problems()); err != nil {
		return wire.JobsChanged{}, err
	}
	n, err := j.jobs.UpdateStatus(ctx, tenant, change)
	return wire.JobsChanged{Changed: n}, err
}

// DeleteByBiz deletes the jobs of a business type and ids: they are kept, and marked. Nothing more of them is sent,
// and their dedup keys are free for others. After an error some may be done: repeat the call.
func (j Jobs) DeleteByBiz(ctx context.Context, tenant string, in wire.JobDelete) (wire.JobsChanged, error) {
	r := flow.Reader{Zone: j.zone}
	change := r.Deletion(in)
	if err := posthouse.Invalid("the jobs cannot be deleted", r.Problems()); err != nil {
		return wire.JobsChanged{}, err
	}
	n, err := j.jobs.DeleteByBiz(ctx, tenant, change)
	return wire.JobsChanged{Changed: n}, err
}

// Job reads one job, also a deleted one.
func (j Jobs) Job(ctx context.Context, tenant, id string) (wire.Job, error) {
	return j.jobs.Job(ctx, tenant, id)
}

// jobsOf are the jobs that one request makes.
func (s *Server) jobsOf(by work.Caller, once web.Once) flow.Jobs {
	return flow.Jobs{Post: jobPost{s, by, once}, Store: planned{s.store.Plans, s.store.Messages}, Marks: s.store.Marks, Gates: s.store.Gates, Numbers: s.store.Marks}
}

// InstallTemplates stores the default templates of workflow notices where there are none, as
// POST /v1/workflow/templates/defaults does.
func (s *Server) InstallTemplates(ctx context.Context, tenant string) (wire.InstalledTemplates, error) {
	return flow.InstallTemplates(ctx, s.store.Templates, tenant)
}

// jobPost hands jobs to the engine.
type jobPost struct {
	s    *Server
	by   work.Caller
	once web.Once
}

func (p jobPost) request(tenant string) intake.Request {
	return intake.Request{Tenant: tenant, Caller: p.by, Endpoint: "notify/jobs", Key: p.once.Key, Hash: p.once.Hash, MaxRecipients: flow.MaxUsers}
}

// Send stores a job's message.
func (p jobPost) Send(ctx context.Context, tenant string, d posthouse.Draft, handedIn time.Time) (posthouse.Accepted, error) {
	req := p.request(tenant)
	req.HandedIn = handedIn
	req.Drafts = []posthouse.Draft{d}
	out, err := p.s.engine.Intake.Accept(ctx, req)
	if err != nil {
		return posthouse.Accepted{}, err
	}
	return out.Accepted[0], nil
}

// Remind opens a job's reminder.
func (p jobPost) Remind(ctx context.Context, tenant string, r posthouse.Reminder) (bool, error) {
	_, duplicate, _, err := p.s.engine.Reminders.Remind(ctx, p.request(tenant), r)
	return duplicate, err
}

// EndReminder ends a job's reminder.
func (p jobPost) EndReminder(ctx context.Context, tenant, id, reason string) error {
	_, err := p.s.engine.Reminders.EndReminder(ctx, work.Viewer{Tenant: tenant, Sight: p.by.Sight}, id, reason)
	return err
}

// Cancel cancels what has not started, some at a time.
func (p jobPost) Cancel(ctx context.Context, tenant string, messages []string) error {
	const step = 1000
	open, err := p.s.store.Messages.OpenOf(ctx, tenant, messages)
	for err == nil && len(open) > 0 {
		n := min(step, len(open))
		_, err = p.s.engine.Operator.Cancel(ctx, tenant, open[:n])
		open = open[n:]
	}
	return err
}
