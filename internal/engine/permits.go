package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// permits sees to the limits of what was claimed: those that hold for single deliveries, such as a recipient's, and the
// permits of what is not sent after all.
//
// The windows that all of a claim has in common (its tenant's, its channel's, its account's) are asked before the claim, which
// takes just what they let through. Those that differ between its deliveries can only be asked when these are known, in one
// step for all of the claim. Who is refused by them goes back to the queue until there is room, and gives all its permits
// back.
type permits struct {
	limiter Limiter
	log     *slog.Logger
	metrics *metrics.Metrics
	quiet   *quiet.Keeper // caps of tenants

	in    chan back
	lines limit.Lines
}

// back are permits that come back.
type back struct {
	grant *limit.Grant
	n     int
}

// mostBack bounds the refunds that wait to be written. What finds no room counts until its windows have passed: too little
// is sent then, never too much.
const mostBack = 4096

func newPermits(l Limiter, log *slog.Logger, m *metrics.Metrics, q *quiet.Keeper) *permits {
	return &permits{limiter: l, log: log, metrics: m, quiet: q, in: make(chan back, mostBack)}
}

// giveBack gives permits of claims back that found less than was asked for: the next one may want them.
func (p *permits) giveBack(ctx context.Context, list []limit.Back) {
	if len(list) == 0 {
		return
	}
	if err := p.limiter.RefundEach(ctx, list); err != nil && ctx.Err() == nil {
		p.log.Warn("unused permits could not be given back", "grants", len(list), "error", err)
	}
}

// refund gives permits back that were not used. It does not wait for that.
func (p *permits) refund(grant *limit.Grant, n int) {
	if n <= 0 || grant == nil || len(grant.Stamps) == 0 {
		return
	}
	select {
	case p.in <- back{grant, n}:
	default:
		p.log.Warn("too many permits come back at once: some stay taken until their windows have passed", "permits", n)
	}
}

// run writes refunds, those that have come meanwhile in one step.
func (p *permits) run(ctx context.Context) {
	for {
		select {
		case b := <-p.in:
			p.write(ctx, b)
		case <-ctx.Done():
			return
		}
	}
}

// finish writes the last refunds, until ctx ends. Nothing comes back any more.
func (p *permits) finish(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case b := <-p.in:
			p.write(ctx, b)
		default:
			return
		}
	}
}

func (p *permits) write(ctx context.Context, first back) {
	counts := map[*limit.Grant]int{first.grant: first.n}
	for more := true; more; {
		select {
		case b := <-p.in:
			counts[b.grant] += b.n
		default:
			more = false
		}
	}
	list := make([]limit.Back, 0, len(counts))
	for grant, n := range counts {
		list = append(list, limit.Back{Grant: *grant, N: n})
	}
	p.giveBack(ctx, list)
}

// ask is what one delivery of a claim asks for.
type ask struct {
	of    *group
	i     int // among the group's items
	tiers []state.Tier
}

// sift asks the windows that differ between the deliveries of a claim, and has go back what they refuse.
func (p *permits) sift(ctx context.Context, r *route, groups []*group) {
	if !p.apart(r) {
		return
	}
	asks, bounds := p.asksOf(r, groups)
	if len(asks) == 0 {
		return
	}
	grants, err := p.limiter.Each(ctx, bounds)
	if err != nil {
		p.log.Warn("the limiter cannot be asked: what was claimed goes back", "channel", r.Key.Channel, "error", err)
		for _, g := range groups {
			g.closeAll(done{verdict: verdictRelease, reason: state.ReasonLimiter, result: channel.Result{After: faultPause}})
		}
		return
	}
	refused := map[*group]map[int]done{}
	for i, g := range grants {
		a := &asks[i]
		if g.N > 0 {
			a.of.take(a.i, g)
			continue
		}
		if refused[a.of] == nil {
			refused[a.of] = map[int]done{}
		}
		d := p.later(a.tiers, g, a.of.items[a.i].Delivery.Reason)
		if d.reason == state.ReasonCapped {
			p.metrics.HeldBack.WithLabelValues(r.Key.Channel, d.reason, string(d.verdict)).Inc()
		}
		refused[a.of][a.i] = d
	}
	for g, list := range refused {
		g.putOff(list)
		p.metrics.Limited.WithLabelValues(r.Key.Channel).Inc()
	}
}

// apart reports whether there are windows that differ between the deliveries of a claim.
func (p *permits) apart(r *route) bool {
	return r.Settings.Tiers.Apart() || len(p.quiet.Caps(r.Key.Tenant)) > 0
}

// tiersOf are the windows that hold for one delivery, and not for all of its claim.
func (p *permits) tiersOf(r *route, account string, item *work.Item) []state.Tier {
	return append(r.Settings.Tiers.Of(r.Key, account, item), state.CapsOf(r.Key, r.Settings.Tiers.Caps, p.quiet.Caps(r.Key.Tenant), item)...)
}

func (p *permits) asksOf(r *route, groups []*group) (asks []ask, bounds []limit.Ask) {
	for _, g := range groups {
		for i := range g.items {
			tiers := p.tiersOf(r, g.is.account, &g.items[i])
			if len(tiers) == 0 {
				continue
			}
			list := make([]limit.Bound, len(tiers))
			for j := range tiers {
				list[j] = tiers[j].Bound
			}
			asks, bounds = append(asks, ask{g, i, tiers}), append(bounds, limit.Ask{Bounds: list, Want: 1})
		}
	}
	return asks, bounds
}

// later says when a delivery that a window has refused comes again: when the window has room, behind those that wait for it
// already.
func (p *permits) later(tiers []state.Tier, g limit.Grant, waited string) done {
	reason, why := state.HeldBy(tiers, g)
	if why != "" {
		return done{verdict: verdictSuppress, reason: reason, result: channel.Result{Error: why}}
	}
	return done{verdict: verdictRelease, reason: reason, result: channel.Result{After: p.lines.Place(time.Now(), g, waited == reason)}}
}

// take notes the permits of one delivery.
func (g *group) take(i int, grant limit.Grant) {
	if g.taken == nil {
		g.taken = map[string]limit.Grant{}
	}
	g.taken[g.items[i].Delivery.ID] = grant
}

// putOff ends the attempts of some of its deliveries before they begin.
func (g *group) putOff(refused map[int]done) {
	left := g.items[:0:0]
	for i := range g.items {
		if d, is := refused[i]; is {
			g.close(&g.items[i], d)
		} else {
			left = append(left, g.items[i])
		}
	}
	g.items = left
}
