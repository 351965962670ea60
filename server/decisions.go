package server

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// steps begins and carries out decisions about many deliveries. The engine's parts are looked up at each call: it is one of
// what the engine is made of.
type steps struct{ s *Server }

func (d steps) courses() decide.Courses {
	return decide.Courses{Operator: d.s.engine.Operator, Selector: d.s.store.Messages, Again: d.s.store.Submissions, Amend: d.s.engine.Reminders.AmendPlan}
}

// Compose makes the next step of a decision.
func (d steps) Compose(ctx context.Context, p work.Plan, now time.Time) ([]posthouse.Draft, work.Plan, error) {
	return d.courses().Compose(ctx, p, now)
}

// Stop ends a decision where it is.
func (d steps) Stop(ctx context.Context, tenant, id string) (wire.Decision, error) {
	return d.courses().Stop(ctx, tenant, id)
}

// Undo takes back what a decision let go and has not begun.
func (d steps) Undo(ctx context.Context, tenant, id, by string) (wire.Decision, error) {
	c, err := d.courses().Undoing(ctx, tenant, id, by)
	if err != nil {
		return wire.Decision{}, err
	}
	return d.Begin(ctx, tenant, c)
}

// Begin stores a decision for the planner to carry out. One that is stored already is answered as it is.
func (d steps) Begin(ctx context.Context, tenant string, c decide.Course) (wire.Decision, error) {
	p, err := c.Plan(tenant, 0, time.Now())
	if err != nil {
		return wire.Decision{}, err
	}
	_, err = d.s.engine.Intake.Accept(ctx, intake.Request{Tenant: tenant, Caller: work.Program(), Endpoint: "plans", Plans: []work.Plan{p}})
	if err != nil && posthouse.CodeOf(err) != posthouse.CodeConflict {
		return wire.Decision{}, err
	}
	p, found, err := d.s.store.Plans.Plan(ctx, tenant, work.PlanDecision, c.ID)
	if err != nil || !found {
		return c.Decision, err
	}
	c, err = decide.ReadCourse(p)
	return c.Decision, err
}
