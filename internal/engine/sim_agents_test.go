package engine

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// HandOut is as Store says; so are the others that agents need.
func (p *process) HandOut(ctx context.Context, _ time.Time, h work.HandOut) (work.HandedOut, error) {
	return p.w.store.HandOut(ctx, time.Now(), h)
}

func (p *process) Renew(ctx context.Context, _ time.Time, tenant, owner string, holds []work.Hold, lease time.Duration) ([]work.Renewed, error) {
	return p.w.store.Renew(ctx, time.Now(), tenant, owner, holds, lease)
}

func (p *process) Report(ctx context.Context, _ time.Time, list []work.Report,
	decide func(now time.Time, r *work.Report, known work.Known) *work.Change,
) ([]work.Report, error) {
	return p.w.store.Report(ctx, time.Now(), list, decide)
}

func (p *process) HeldBy(ctx context.Context, tenant, agent string) ([]posthouse.Delivery, error) {
	return p.w.store.HeldBy(ctx, tenant, agent)
}

func (p *process) SeenAgents(ctx context.Context, _ time.Time, list []work.Seen) error {
	return p.w.store.SeenAgents(ctx, time.Now(), list)
}

func (p *process) Agent(ctx context.Context, tenant, id string) (posthouse.Agent, error) {
	return p.w.store.Agent(ctx, tenant, id)
}

func (p *process) PruneLogs(ctx context.Context, _ time.Time, keep time.Duration, max int) (int, error) {
	return p.w.store.PruneLogs(ctx, time.Now(), keep, max)
}

func (p *process) Forget(ctx context.Context, _ time.Time, max int) (int, error) {
	return p.w.store.Forget(ctx, time.Now(), max)
}

func (p *process) Sealed(ctx context.Context, tenant string, messages []string) (map[string]string, error) {
	return p.w.store.Sealed(ctx, tenant, messages)
}
