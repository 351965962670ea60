// Package decisions is the resource of what people decide about deliveries: one is sent again or resolved, and so is all that a
// filter selects, at once or step by step. What follows from a decision is package decide's.
package decisions

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Judge settles unknown outcomes, and wakes the senders. The engine's roles satisfy it.
type Judge interface {
	Resolve(ctx context.Context, tenant, id string, r decide.Resolution) (posthouse.Delivery, error)
	ResolveAll(ctx context.Context, tenant string, ids []string, r decide.Resolution, until time.Time) ([]posthouse.Delivery, error)
	Wake(tenant, name string)
}

// Decider carries decisions about many out.
type Decider interface {
	// Begin stores a decision, and begins with it. One with its id that is stored already is answered as it is.
	Begin(ctx context.Context, tenant string, c decide.Course) (wire.Decision, error)
	Stop(ctx context.Context, tenant, id string) (wire.Decision, error)
	// Undo begins to take back what a decision let go and has not begun. What cannot be undone is an error that says why.
	Undo(ctx context.Context, tenant, id, by string) (wire.Decision, error)
}

// Plans reads decisions about many.
type Plans interface {
	Plan(ctx context.Context, tenant string, kind work.PlanType, id string) (p work.Plan, found bool, err error)
	PlansByRef(ctx context.Context, tenant string, kind work.PlanType, about, ref string) ([]work.Plan, error)
}

// Channels lists those of a tenant.
type Channels interface {
	List(ctx context.Context, tenant, cursor string, limit int) ([]posthouse.Channel, string, error)
}

// Quotas make room for deliveries of a tenant, or are an error of code quota.
type Quotas interface {
	Reserve(ctx context.Context, tenant string, payer work.Payer, n int) (done func(stored int), err error)
}

// Options are what decisions work on. All of them are required.
type Options struct {
	Read     read.Reader
	Judge    Judge
	Replays  decide.Replayer
	Channels Channels
	Quotas   Quotas
	Plans    Plans
	Decider  Decider
}

// Routes are the addresses of decisions.
func Routes(o Options) []web.Route {
	return slices.Concat(o.replayRoutes(), o.resolveRoutes(), o.courseRoutes())
}
