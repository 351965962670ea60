package flow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// Book keeps the documents of tasks and reminders.
type Book interface {
	// Plan reads one; false says that there is none.
	Plan(ctx context.Context, tenant string, kind work.PlanType, id string) (work.Plan, bool, error)
	// Plans lists those of a type by id, a page at a time.
	Plans(ctx context.Context, tenant string, kind work.PlanType, cursor string, limit int) (list []work.Plan, next string, err error)
	// PlansByRef lists those of a type that are about one thing: a kind and its ref.
	PlansByRef(ctx context.Context, tenant string, kind work.PlanType, about, ref string) ([]work.Plan, error)
}

// Submission is what follows from an event: it is stored as a whole or not at all.
type Submission struct {
	Tenant string
	// Caller is on whose behalf it is handed in.
	Caller work.Caller
	// Drafts are sent. Each has the ID of its message.
	Drafts []posthouse.Draft
	// Reminders are opened. Version is the one that was read, 0 where there was none.
	Reminders []posthouse.Reminder
	// Task is the task's document. It was read with its version.
	Task work.Plan
}

// Post takes what is to be sent, and takes it back.
type Post interface {
	// Submit stores all of it or nothing, and answers for each draft where there are any. An error of code conflict says that
	// the task or a reminder has moved on since it was read; in one of code invalid the problems are below
	// "drafts[i]." and "reminders[i].".
	Submit(ctx context.Context, s Submission) ([]posthouse.Accepted, error)
	// Withdraw cancels what of messages has not started.
	Withdraw(ctx context.Context, tenant string, messages []string) error
	// Misaddressed are those of recipients that a channel cannot reach, by their place, and why.
	Misaddressed(ctx context.Context, tenant, channel string, to []posthouse.Recipient) (map[int]string, error)
	// EndReminder ends a reminder if it is open, and cancels what of its last message has not started.
	EndReminder(ctx context.Context, tenant, id, reason string) error
	// Reached are the recipients of messages, by message, but for those whose delivery was cancelled. One that is
	// gone, or of which something is gone, is missing: it was settled so long ago that it is no longer kept.
	Reached(ctx context.Context, tenant string, messages []string) (map[string][]posthouse.Recipient, error)
}

// Aborter says of jobs that still wait that their task ended abnormally. Jobs satisfies it.
type Aborter interface {
	Abort(ctx context.Context, tenant, kind, ref string, ids []string, by string) error
}

// Options makes a Flow. Book, Post, Resolver and Channels are required.
type Options struct {
	Book     Book
	Post     Post
	Resolver Resolver
	// Channels lists the channels that a tenant has configured.
	Channels func(ctx context.Context, tenant string) ([]string, error)
	// Aborter marks the jobs of a task that ended abnormally. Defaults to none: they are cancelled like others.
	Aborter Aborter
	// Name is what the directory calls a user, "" for one it does not know. Defaults to the user's id.
	Name func(ctx context.Context, tenant, user string) (string, error)
	// Zone is that of the times in texts. Defaults to UTC.
	Zone *time.Location
	// Clock is the time as the database sees it. Defaults to time.Now.
	Clock func() time.Time
	// Log defaults to slog.Default().
	Log *slog.Logger
	// Metrics counts events, notices and warnings. Defaults to not counting.
	Metrics prometheus.Registerer
}

// Flow turns events of tasks into messages. It keeps nothing itself: any number of them, in any number of
// processes, can work on the same tasks.
type Flow struct {
	o        Options
	events   *prometheus.CounterVec
	notices  *prometheus.CounterVec
	warnings *prometheus.CounterVec
}

// New makes a Flow.
func New(o Options) (*Flow, error) {
	if o.Book == nil || o.Post == nil || o.Resolver == nil || o.Channels == nil {
		return nil, errors.New("workflow: Book, Post, Resolver and Channels are required")
	}
	if o.Name == nil {
		o.Name = func(context.Context, string, string) (string, error) { return "", nil }
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Metrics == nil {
		o.Metrics = prometheus.NewRegistry()
	}
	f := &Flow{
		o:        o,
		events:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "posthouse_task_events_total", Help: "Events of tasks that were taken in."}, []string{"event"}),
		notices:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "posthouse_task_notices_total", Help: "Notices that followed from events of tasks."}, []string{"kind"}),
		warnings: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "posthouse_task_warnings_total", Help: "What of a task could not be as it was meant."}, []string{"code"}),
	}
	for _, code := range WarningCodes() {
		f.warnings.WithLabelValues(string(code))
	}
	for _, c := range []prometheus.Collector{f.events, f.notices, f.warnings} {
		if err := o.Metrics.Register(c); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Apply takes events in on behalf of the program itself, as ApplyFor does.
func (f *Flow) Apply(ctx context.Context, tenant string, events ...workflow.Event) ([]wire.TaskOutcome, error) {
	return f.ApplyFor(ctx, work.Program(), tenant, events...)
}

// ApplyFor takes events in on behalf of a caller. Those without a time happened in their order. All of them are checked before
// anything is done; an error of code invalid names every problem, below "events[i]." where there are several.
// Other errors leave some done and some not: repeat the call, what is done already is not done again.
func (f *Flow) ApplyFor(ctx context.Context, by work.Caller, tenant string, events ...workflow.Event) ([]wire.TaskOutcome, error) {
	if err := f.check(ctx, tenant, events); err != nil {
		return nil, err
	}
	received := f.o.Clock()
	out := make([]wire.TaskOutcome, len(events))
	tasks := groups(events)
	errs := make([]error, len(tasks))
	turns := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for n, places := range tasks {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			for _, i := range places {
				// Events of one call that say no time came in its order.
				at := received.Add(time.Duration(i) * time.Microsecond)
				if out[i], errs[n] = f.safely(ctx, by, tenant, plain(events[i], at)); errs[n] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// atOnce is how many tasks one call works on side by side: they share the database's commits.
const atOnce = 16

// groups are the places of each task's events: those of one task are taken in one after the other.
func groups(events []workflow.Event) [][]int {
	var out [][]int
	place := map[string]int{}
	for i, e := range events {
		n, known := place[e.Task]
		if !known {
			n = len(out)
			place[e.Task], out = n, append(out, nil)
		}
		out[n] = append(out[n], i)
	}
	return out
}

// safely makes an error of a panic, which would end the process from here: a resolver may be the caller's own code.
func (f *Flow) safely(ctx context.Context, by work.Caller, tenant string, e workflow.Event) (out wire.TaskOutcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			f.o.Log.Error("an event of a task made the server panic", "tenant", tenant, "task", e.Task, "event", e.Type,
				"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("the event %s of task %q made the server panic: %v", e.Type, e.Task, p)
		}
	}()
	return f.apply(ctx, by, tenant, e)
}

// maxAhead is how far the clock of who sends an event may be ahead.
const maxAhead = 24 * time.Hour

// check names every problem of every event.
func (f *Flow) check(ctx context.Context, tenant string, events []workflow.Event) error {
	var problems []posthouse.Problem
	for i := range events {
		at := ""
		if len(events) > 1 {
			at = fmt.Sprintf("events[%d].", i)
		}
		problems = append(problems, Check(events[i], at)...)
		if e := events[i]; e.At.After(f.o.Clock().Add(maxAhead)) {
			problems = append(problems, posthouse.Problem{Path: at + "at", Message: fmt.Sprintf("is %s, more than %s ahead of the server's clock: its word would count against all that comes until then", e.At.Format(time.RFC3339), posthouse.Duration(maxAhead))})
		}
		if task := events[i].Created; task != nil && len(task.Channels) > 0 {
			configured, err := f.o.Channels(ctx, tenant)
			if err != nil {
				return err
			}
			problems = append(problems, checkChannels(task.Channels, configured, at)...)
		}
	}
	return posthouse.Invalid("the event cannot be taken in", problems)
}
