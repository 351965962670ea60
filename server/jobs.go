package server

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// Jobs are the notification document's three functions, for a program that embeds the server. The HTTP API
// has the same at /v1/notify/jobs.
func (s *Server) Jobs() workflow.Jobs { return s.jobsOf(web.Once{}) }

// jobsOf are the jobs that one request makes.
func (s *Server) jobsOf(once web.Once) workflow.Jobs {
	return workflow.Jobs{Post: jobPost{s, once}, Store: planned{s.store.Plans, s.store.Messages}, Marks: s.store.Marks, Gates: s.store.Gates, Numbers: s.store.Marks}
}

// InstallTemplates stores the default templates of workflow notices where there are none, as
// POST /v1/workflow/templates/defaults does.
func (s *Server) InstallTemplates(ctx context.Context, tenant string) (wire.InstalledTemplates, error) {
	return workflow.InstallTemplates(ctx, s.store.Templates, tenant)
}

// jobPost hands jobs to the engine.
type jobPost struct {
	s    *Server
	once web.Once
}

func (p jobPost) request(tenant string) intake.Request {
	return intake.Request{Tenant: tenant, Endpoint: "notify/jobs", Key: p.once.Key, Hash: p.once.Hash, MaxRecipients: workflow.MaxUsers}
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
	_, err := p.s.engine.Reminders.EndReminder(ctx, tenant, id, reason)
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
