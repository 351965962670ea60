package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
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

// One look takes so many due plans, and this many of them are composed at once, so that they share commits.
const (
	planBatch    = 200
	planParallel = 16
)

// maxPlanError bounds the text that is written into a plan, in bytes.
const maxPlanError = 4 << 10

// plan makes the messages of plans whose moment has come. A plan and its messages are written together and
// over the version that was read, so of many processes, crashes and people's cancels at any line, exactly
// one has its way.
func (e *Engine) plan(ctx context.Context) {
	if len(e.o.Composers) == 0 {
		return
	}
	for e.awaitPlans(spread(e.o.Poll)) {
		for e.planOnce(ctx) && ctx.Err() == nil && !e.isStopping() {
		}
	}
}

// awaitPlans waits for a plan that is due, but not for longer than d; it reports whether to go on.
func (e *Engine) awaitPlans(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-e.planning:
	case <-timer.C:
	case <-e.stopping:
		return false
	}
	return true
}

// wakePlanner says that plans were written, of which some may be due.
func (e *Engine) wakePlanner(plans []work.Plan) {
	for i := range plans {
		if at := plans[i].NextAt; !at.IsZero() && !at.After(e.clock.now()) {
			select {
			case e.planning <- struct{}{}:
			default:
			}
			return
		}
	}
}

// planOnce composes a batch of due plans, and reports whether any moved on: then more may wait.
func (e *Engine) planOnce(ctx context.Context) bool {
	if e.Stale() {
		return false
	}
	due, err := e.o.Store.DuePlans(ctx, time.Now(), planBatch)
	if err != nil {
		if ctx.Err() == nil {
			e.log.Warn("due reminders can not be looked for now", "error", err)
		}
		return false
	}
	moved := make([]bool, len(due))
	slots := make(chan struct{}, planParallel)
	var wg sync.WaitGroup
	for i := range due {
		slots <- struct{}{}
		wg.Go(func() {
			moved[i] = e.advance(ctx, due[i])
			<-slots
		})
	}
	wg.Wait()
	return slices.Contains(moved, true)
}

// advance does what a plan's moment asks for, or puts it off, and reports whether it is no longer due as it
// was read.
func (e *Engine) advance(ctx context.Context, p work.Plan) bool {
	if e.isStopping() {
		return false
	}
	err := e.compose(ctx, p)
	switch {
	case err == nil:
		e.metrics.plans.WithLabelValues(string(p.Type), "composed").Inc()
		return true
	case ctx.Err() != nil || e.isStopping():
		return false
	case posthouse.CodeOf(err) == posthouse.CodeConflict:
		e.metrics.plans.WithLabelValues(string(p.Type), "stale").Inc() // somebody else was faster: it is done, or ended
		return true
	}
	return e.putOffPlan(ctx, p, err)
}

// compose asks the plan's composer and stores what it says. A panic is the plan's problem: the next process
// would meet the same one.
func (e *Engine) compose(ctx context.Context, p work.Plan) (err error) {
	composer, ok := e.o.Composers[p.Type]
	if !ok {
		return fmt.Errorf("this server knows no plans of type %q", p.Type)
	}
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("it makes the server panic: %v", fault)
			e.log.Error("a plan made the server panic", "type", p.Type, "plan", p.ID, "tenant", p.Tenant, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
		}
	}()
	drafts, next, err := composer.Compose(ctx, p, later(e.clock.now(), p.NextAt)) // it is due by the database's clock
	if err != nil {
		return err
	}
	next.Tenant, next.Type, next.ID = p.Tenant, p.Type, p.ID
	next.Failures, next.Error = 0, ""
	_, err = e.Accept(ctx, Request{Tenant: p.Tenant, Endpoint: "plans", Drafts: drafts, Plans: []work.Plan{next}})
	return err
}

// putOffPlan writes into a plan why nothing came of it, and when it is tried again: as with a row of the
// outbox, the channel it names may be configured later.
func (e *Engine) putOffPlan(ctx context.Context, p work.Plan, why error) bool {
	wait := relayWait(p.Failures)
	held, err := e.o.Store.PutOffPlan(ctx, time.Now(), p, state.Plain(why.Error(), maxPlanError), wait)
	if err != nil {
		e.log.Warn("it can not be written down why a plan failed", "type", p.Type, "plan", p.ID, "tenant", p.Tenant, "problem", why, "error", err)
		return false
	}
	if held {
		e.metrics.plans.WithLabelValues(string(p.Type), "failed").Inc()
		e.log.Warn("nothing can be sent for a plan now: it is tried again", "type", p.Type, "plan", p.ID, "tenant", p.Tenant,
			"problem", why, "failures", p.Failures+1, "next_try_in", wait)
	}
	return true
}
