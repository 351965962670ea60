package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/store/registry"
	"github.com/posthouse/posthouse/internal/taskbody"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// openFlow makes what turns events of tasks into messages.
func (s *Server) openFlow(context.Context) error {
	resolver, err := resolverOf(s.o, s.network, s.store.Users)
	if err != nil {
		return err
	}
	s.flow, err = flow.New(flow.Options{
		Book: s.store.Plans, Post: post{jobPost{s, work.Program(), web.Once{}}}, Resolver: resolver, Channels: names{s.store.Channels, s.store.Users}.channels, Name: names{s.store.Channels, s.store.Users}.user, Aborter: s.jobsOf(work.Program(), web.Once{}),
		Zone: s.zone, Clock: time.Now, Log: s.o.Log, Metrics: s.o.Registry,
	})
	return err
}

// resolver says who has which role: the one given, the caller's system, or the directory.
func resolverOf(o Options, network channel.Network, users registry.Users) (flow.Resolver, error) {
	switch {
	case o.WorkflowResolver != nil:
		return o.WorkflowResolver, nil
	case o.WorkflowResolverURL != "":
		return flow.NewCallback(flow.CallbackOptions{URL: o.WorkflowResolverURL, Secret: o.WorkflowResolverSecret, Network: network})
	}
	return flow.Directory{Users: users}, nil
}

// Resolver finds out who the handlers of a task's nodes are. An error puts the event off: its sender repeats it.
type Resolver interface {
	Resolve(ctx context.Context, q workflow.Question) (workflow.Audience, error)
}

// Flow takes the events of tasks, for a program that embeds the server.
type Flow interface {
	// Apply takes events in. Those without a time happened in their order. All of them are checked before anything is
	// done; an error of code invalid names every problem, below "events[i]." where there are several. Other errors leave
	// some done and some not: repeat the call, what is done already is not done again.
	Apply(ctx context.Context, tenant string, events ...workflow.Event) ([]wire.TaskOutcome, error)
	// Task says what is known of a task. An error of code not_found says that no event has named it.
	Task(ctx context.Context, tenant, id string) (wire.TaskStatus, error)
	// Tasks lists the tasks of a tenant by id, a page at a time.
	Tasks(ctx context.Context, tenant, cursor string, limit int) (list []wire.TaskSummary, next string, err error)
}

// Flow takes the events of tasks. The HTTP API takes the same at /v1/workflow/events.
func (s *Server) Flow() Flow { return s.flow }

// takeEvent takes an event that came through the outbox. One that does not say when it happened happened when its row was
// written: a repeat has the same time.
func (s *Server) takeEvent(ctx context.Context, row work.Enqueued, in *taskbody.NewEvent) error {
	r := flow.Reader{Zone: s.zone}
	e := r.Event("", in)
	if err := posthouse.Invalid("the event cannot be applied", r.Problems()); err != nil {
		return err
	}
	e.At = cmp.Or(e.At, row.CreatedAt)
	_, err := s.flow.Apply(ctx, row.Tenant, e)
	return err
}

// takeJob takes a job that came through the outbox. Its row's id makes one that comes twice the same job.
func (s *Server) takeJob(ctx context.Context, row work.Enqueued, text json.RawMessage) error {
	job, problems := flow.ReadJob(text, s.zone)
	if err := posthouse.Invalid("the job cannot be accepted", problems); err != nil {
		return err
	}
	if job.NextRunTime.IsZero() {
		job.NextRunTime = row.CreatedAt
	}
	hash := sha256.Sum256(text)
	_, err := s.jobsOf(work.Program(), web.Once{Key: "outbox " + row.ID, Hash: hex.EncodeToString(hash[:])}).Enqueue(ctx, row.Tenant, job)
	return err
}

// names are those that the database knows.
type names struct {
	stored registry.Channels
	people registry.Users
}

// channels are the channels that a tenant has configured.
func (n names) channels(ctx context.Context, tenant string) ([]string, error) {
	rows, err := n.stored.Channels(ctx, tenant)
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = row.Channel.Name
	}
	return names, err
}

// user is the name of a user, empty for one that is not known.
func (n names) user(ctx context.Context, tenant, id string) (string, error) {
	u, err := n.people.User(ctx, tenant, id)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return "", nil
	}
	return u.Name, err
}

// post is the engine as package flow sees it.
type post struct {
	jobPost
}

// Submit stores messages, reminders and the task's document in one transaction. Messages of a channel that
// cannot be opened are refused by themselves: the others need not wait for its repair.
func (p post) Submit(ctx context.Context, s flow.Submission) ([]posthouse.Accepted, error) {
	plans := []work.Plan{s.Task}
	var problems []posthouse.Problem
	now := time.Now()
	for i, r := range s.Reminders {
		if r.Repeat != nil && r.Repeat.From.Before(now) {
			late := *r.Repeat
			late.From = now // it is to begin at once, however long it took to come here: New would pass to its second slot
			r.Repeat = &late
		}
		r, wrong := remind.New(r, now, p.s.zone)
		for _, w := range wrong {
			problems = append(problems, posthouse.Problem{Path: at("reminders", i) + w.Path, Message: w.Message})
		}
		plans = append(plans, remind.Plan(r))
	}
	for i := range s.Drafts {
		if name := s.Drafts[i].Channel; p.s.channels.IsBroken(s.Tenant, name) {
			problems = append(problems, posthouse.Problem{Path: at("drafts", i) + "channel", Message: "it cannot be opened now; /readyz says why"})
		}
	}
	if err := posthouse.Invalid("the task's messages cannot be accepted", problems); err != nil {
		return nil, err
	}
	answer, err := p.s.engine.Intake.Accept(ctx, intake.Request{
		Tenant: s.Tenant, Caller: s.Caller, Endpoint: "workflow", Drafts: s.Drafts, Plans: plans, Path: func(i int) string { return at("drafts", i) },
	})
	if err != nil || len(s.Drafts) == 0 {
		return nil, err
	}
	return answer.Accepted, nil
}

// at stands before the fields of a list's entry.
func at(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]." }

// Withdraw cancels what has not started.
func (p post) Withdraw(ctx context.Context, tenant string, messages []string) error {
	return p.Cancel(ctx, tenant, messages)
}

// Misaddressed are whom a channel cannot reach.
func (p post) Misaddressed(ctx context.Context, tenant, channel string, to []posthouse.Recipient) (map[int]string, error) {
	return p.s.engine.Intake.Misaddressed(ctx, tenant, channel, to)
}

// EndReminder ends a reminder; one that is gone has ended too.
func (p post) EndReminder(ctx context.Context, tenant, id, reason string) error {
	err := p.jobPost.EndReminder(ctx, tenant, id, reason)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return nil
	}
	return err
}

// Reached are the recipients whom messages reached or still may, by message. One that is not kept whole is missing.
func (p post) Reached(ctx context.Context, tenant string, messages []string) (map[string][]posthouse.Recipient, error) {
	out := map[string][]posthouse.Recipient{}
	for _, message := range messages {
		reached, whole, err := p.reached(ctx, tenant, message)
		if err != nil {
			return nil, err
		}
		if whole {
			out[message] = reached
		}
	}
	return out, nil
}

// reached are those of one message, and whether all of its deliveries are still kept: they are pruned one by one.
func (p post) reached(ctx context.Context, tenant, message string) (reached []posthouse.Recipient, whole bool, err error) {
	_, missing, err := p.s.store.Messages.Message(ctx, tenant, message)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return nil, false, nil
	}
	for cursor, first := "", true; err == nil && (first || cursor != ""); first = false {
		var list []posthouse.Delivery
		list, cursor, err = p.s.store.Messages.DeliveriesOf(ctx, tenant, message, cursor, 1000)
		for i := range list {
			if list[i].ReplayOf == "" {
				missing--
			}
			if list[i].State != posthouse.Cancelled {
				reached = append(reached, list[i].Recipient)
			}
		}
	}
	return reached, missing <= 0, err
}
