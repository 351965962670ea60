package intake

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Composer says what follows when a plan's moment has come: the messages to send now, and the plan as it
// is from then on, with its next moment. Two processes may ask at once, and a crash may make the same one
// ask again, so what it returns is stored together or not at all, over the version that the plan it returns
// has. One that has to know what became of its messages stores them itself, by the same rule, and returns
// the plan with the version that this made.
type Composer interface {
	Compose(ctx context.Context, p work.Plan, now time.Time) (drafts []posthouse.Draft, next work.Plan, err error)
}

// Plans are where the planner finds what is due.
type Plans interface {
	DuePlans(ctx context.Context, now time.Time, max int) ([]work.Plan, error)
	PutOffPlan(ctx context.Context, now time.Time, p work.Plan, why string, wait time.Duration) (held bool, err error)
}

// Planner makes the messages of plans whose moment has come.
type Planner struct {
	Intake  *Intake
	Store   Plans
	Life    *life.Life
	Log     *slog.Logger
	Metrics *metrics.Metrics
	Poll    time.Duration
	// Composers say what follows when a plan's moment has come, by its type. Without any, plans are kept, and nothing
	// comes of them.
	Composers map[work.PlanType]Composer
}

// One look takes so many due plans, and this many of them are composed at once, so that they share commits.
const (
	planBatch    = 200
	planParallel = 16
)

// maxPlanError bounds the text that is written into a plan, in bytes.
const maxPlanError = 4 << 10

// Run makes the messages of plans whose moment has come. A plan and its messages are written together and
// over the version that was read, so of many processes, crashes and people's cancels at any line, exactly
// one has its way.
func (pl *Planner) Run(ctx context.Context) {
	if len(pl.Composers) == 0 {
		return
	}
	for pl.awaitPlans(pl.Life.Shared(pl.Poll)) {
		for pl.Look(ctx) && ctx.Err() == nil && !pl.Life.Stopped() {
		}
	}
}

// awaitPlans waits for a plan that is due, but not for longer than d; it reports whether to go on.
func (pl *Planner) awaitPlans(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-pl.Intake.planning:
	case <-timer.C:
	case <-pl.Life.Stopping():
		return false
	}
	return true
}

// Look composes a batch of due plans, and reports whether any moved on: then more may wait.
func (pl *Planner) Look(ctx context.Context) bool {
	if pl.Life.Stale() {
		return false
	}
	due, err := pl.Store.DuePlans(ctx, time.Now(), planBatch)
	if err != nil {
		if ctx.Err() == nil {
			pl.Log.Warn("due reminders cannot be looked for now", "error", err)
		}
		return false
	}
	moved := make([]bool, len(due))
	slots := make(chan struct{}, planParallel)
	var wg sync.WaitGroup
	for i := range due {
		slots <- struct{}{}
		wg.Go(func() {
			moved[i] = pl.advance(ctx, due[i])
			<-slots
		})
	}
	wg.Wait()
	return slices.Contains(moved, true)
}

// advance does what a plan's moment asks for, or puts it off, and reports whether it is no longer due as it
// was read.
func (pl *Planner) advance(ctx context.Context, p work.Plan) bool {
	if pl.Life.Stopped() {
		return false
	}
	err := pl.compose(ctx, p)
	switch {
	case err == nil:
		pl.Metrics.Plans.WithLabelValues(string(p.Type), "composed").Inc()
		return true
	case ctx.Err() != nil || pl.Life.Stopped():
		return false
	case posthouse.CodeOf(err) == posthouse.CodeConflict:
		pl.Metrics.Plans.WithLabelValues(string(p.Type), "stale").Inc() // another process was faster: it is done, or ended
		return true
	}
	return pl.putOffPlan(ctx, p, err)
}

// compose asks the plan's composer and stores what it says. A panic is the plan's problem: the next process
// would meet the same one.
func (pl *Planner) compose(ctx context.Context, p work.Plan) (err error) {
	composer, ok := pl.Composers[p.Type]
	if !ok {
		return fmt.Errorf("this server knows no plans of type %q", p.Type)
	}
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("it makes the server panic: %v", fault)
			pl.Log.Error("a plan made the server panic", "type", p.Type, "plan", p.ID, "tenant", p.Tenant, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
		}
	}()
	drafts, next, err := composer.Compose(ctx, p, later(pl.Life.Now(), p.NextAt)) // it is due by the database's clock
	if err != nil {
		return err
	}
	next.Tenant, next.Type, next.ID = p.Tenant, p.Type, p.ID
	next.Failures, next.Error = 0, ""
	_, err = pl.Intake.Accept(ctx, Request{Tenant: p.Tenant, Caller: callerOf(p), Endpoint: "plans", Drafts: drafts, Plans: []work.Plan{next}, MaxRecipients: draft.MostRecipients})
	return err
}

// callerOf is on whose behalf comes what comes of a plan: it may call everybody only where its maker might, and the plan says so.
func callerOf(p work.Plan) work.Caller {
	by := work.Caller{Sight: work.SeeAll(), Critical: true} // its maker might say so, or it would not be kept
	var doc struct {
		MentionAll bool `json:"mention_all"`
	}
	if p.Type == work.PlanReminder || p.Type == work.PlanNotification {
		by.MentionAll = json.Unmarshal(p.Doc, &doc) == nil && doc.MentionAll
	}
	return by
}

// putOffPlan writes into a plan why nothing came of it, and when it is tried again: as with a row of the
// outbox, the channel it names may be configured later.
func (pl *Planner) putOffPlan(ctx context.Context, p work.Plan, why error) bool {
	wait := relayWait(p.Failures)
	held, err := pl.Store.PutOffPlan(ctx, time.Now(), p, state.Plain(why.Error(), maxPlanError), wait)
	if err != nil {
		pl.Log.Warn("it cannot be written down why a plan failed", "type", p.Type, "plan", p.ID, "tenant", p.Tenant, "problem", why, "error", err)
		return false
	}
	if held {
		pl.Metrics.Plans.WithLabelValues(string(p.Type), "failed").Inc()
		pl.Log.Warn("nothing can be sent for a plan now: it is tried again", "type", p.Type, "plan", p.ID, "tenant", p.Tenant,
			"problem", why, "failures", p.Failures+1, "next_try_in", wait)
	}
	return true
}
