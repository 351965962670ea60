package engine

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// HandOut is as database says; so are the others that agents need.
func (p *process) HandOut(ctx context.Context, _ time.Time, h work.HandOut) (out work.HandedOut, err error) {
	err = p.do("hand out/"+h.Agent, func() (err error) {
		out, err = p.w.store.Handouts.HandOut(ctx, time.Now(), h)
		return err
	})
	if err != nil {
		return work.HandedOut{}, err
	}
	moved := map[*posthouse.Message]bool{}
	for i := range out.Items {
		moveDelivery(&out.Items[i].Delivery, -p.skew)
		if m := out.Items[i].Message; m != nil && !moved[m] {
			moved[m] = true
			moveMessage(m, -p.skew)
		}
	}
	return out, nil
}

func (p *process) Report(ctx context.Context, _ time.Time, list []work.Report,
	decide func(now time.Time, r *work.Report, known work.Known) *work.Change,
) (after []work.Report, err error) {
	err = p.do("report", func() (err error) {
		after, err = p.w.store.Reports.Report(ctx, time.Now(), list, func(now time.Time, r *work.Report, known work.Known) *work.Change {
			if known.Delivery != nil {
				moveDelivery(known.Delivery, -p.skew)
			}
			c := decide(now.Add(-p.skew), r, known)
			if c != nil {
				one := []work.Change{*c}
				moveChanges(one, p.skew)
				return &one[0]
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return after, nil
}

func (p *process) HeldBy(ctx context.Context, tenant, agent string) (list []posthouse.Delivery, err error) {
	err = p.look("held by", func() (err error) {
		list, err = p.w.store.Handouts.HeldBy(ctx, tenant, agent)
		return err
	})
	return list, err
}

// Renew and the sealed contents are no part of what is simulated; nor is when an agent was last heard of.
func (p *process) Renew(ctx context.Context, _ time.Time, tenant, owner string, holds []work.Hold, lease time.Duration) ([]work.Renewed, error) {
	return p.w.store.Handouts.Renew(ctx, time.Now(), tenant, owner, holds, lease)
}

func (p *process) SeenAgents(context.Context, time.Time, []work.Seen) error { return nil }

func (p *process) Agent(ctx context.Context, tenant, id string) (posthouse.Agent, error) {
	return p.w.store.Agents.Agent(ctx, tenant, id)
}

func (p *process) PruneLogs(context.Context, time.Time, time.Duration, int) (int, error) {
	return 0, nil
}

func (p *process) SweepCampaigns(context.Context, time.Time, int) (int, error) { return 0, nil }

func (p *process) PruneCampaigns(context.Context, time.Time, time.Duration, int) (int, error) {
	return 0, nil
}

func (p *process) Forget(context.Context, time.Time, int) (int, error) { return 0, nil }

func (p *process) Sealed(context.Context, string, []string) (map[string]string, error) {
	return nil, nil
}
