package pull

import (
	"log/slog"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/work"
)

// refund gives permits back that were not used.
func (p *permits) refund(a *posthouse.Agent, grant limit.Grant, n int) {
	if n <= 0 {
		return
	}
	if err := p.limiter.Refund(p.life.Context(), grant, n); err != nil {
		p.log.Warn("unused permits could not be given back", "tenant", a.Tenant, "agent", a.ID, "permits", n, "error", err)
	}
}

// limitsOf are the windows of what an agent is handed: the usual ones where nothing is said.
func limitsOf(a *posthouse.Agent) []posthouse.Limit {
	if a.Limits == nil {
		return posthouse.AgentLimits()
	}
	return a.Limits
}

// agentLimitKey names an agent's limits; no channel has such a name.
func agentLimitKey(a *posthouse.Agent) string { return a.Tenant + "/" + work.Owner(a.ID) }

// permits remember by which grant a hand-out was made, until it starts: what comes back before gives its permit
// back. A hand-out that another process made, or that comes back to another, costs its permit.
type permits struct {
	limiter Limiter
	life    *life.Life
	log     *slog.Logger

	mu   sync.Mutex
	list map[work.Hold]*permit
	caps map[work.Hold]*permit // what caps have counted, until it is known whether it was sent
}

// permit is one grant of an agent's limiter.
type permit struct {
	grant limit.Grant
	until time.Time // when it counts no more
}

// keep notes the grant of hand-outs that have not started.
func (p *permits) keep(a *posthouse.Agent, grant limit.Grant, items []work.Item) {
	windows := limitsOf(a)
	if len(windows) == 0 {
		return
	}
	longest := time.Duration(0)
	for _, w := range windows {
		longest = max(longest, w.Per.Std())
	}
	one := &permit{grant, time.Now().Add(longest)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list == nil {
		p.list = map[work.Hold]*permit{}
	}
	for i := range items {
		if d := &items[i].Delivery; d.StartedAt.IsZero() {
			p.list[work.Hold{Delivery: d.ID, Token: d.Token}] = one
		}
	}
}

// spend forgets the permits of hand-outs, and returns how many of each grant there were.
func (p *permits) spend(list []work.Hold) map[*permit]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := map[*permit]int{}
	for _, h := range list {
		if one := p.list[h]; one != nil {
			counts[one]++
			delete(p.list, h)
		}
	}
	return counts
}

// sweep forgets the permits that count no more.
func (p *permits) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for h, one := range p.list {
		if now.After(one.until) {
			delete(p.list, h)
		}
	}
	for h, one := range p.caps {
		if now.After(one.until) {
			delete(p.caps, h)
		}
	}
}

// remembered is for how long it is known what caps have counted of a hand-out. What is reported later as not sent stays counted.
const remembered = 24 * time.Hour

// keepCap notes what caps have counted of a hand-out.
func (p *permits) keepCap(d *posthouse.Delivery, grant limit.Grant) {
	if len(grant.Stamps) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.caps == nil {
		p.caps = map[work.Hold]*permit{}
	}
	p.caps[work.Hold{Delivery: d.ID, Token: d.Token}] = &permit{grant, time.Now().Add(remembered)}
}

// uncount gives back what caps have counted of hand-outs that were not sent, and forgets those that may have been.
func (p *permits) uncount(list []work.Hold, unsent func(i int) bool) {
	var back []*permit
	p.mu.Lock()
	for i, h := range list {
		one := p.caps[h]
		if one == nil {
			continue
		}
		delete(p.caps, h)
		if unsent(i) {
			back = append(back, one)
		}
	}
	p.mu.Unlock()
	for _, one := range back {
		if err := p.limiter.Refund(p.life.Context(), one.grant, 1); err != nil {
			p.log.Warn("what a cap has counted could not be given back", "error", err)
		}
	}
}

// giveBack gives the permits of hand-outs back that came back before they started.
func (p *permits) giveBack(list []work.Hold) {
	p.uncount(list, func(int) bool { return true })
	for one, n := range p.spend(list) {
		if err := p.limiter.Refund(p.life.Context(), one.grant, n); err != nil {
			p.log.Warn("permits of what came back could not be given back", "permits", n, "error", err)
		}
	}
}
