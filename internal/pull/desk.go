package pull

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Desk hands deliveries to agents.
type Desk struct {
	o       Options
	lines   *lines
	permits *permits
	roll    *Roll
	turn    atomic.Int64 // which of its channels an agent is asked about first

	mu      sync.Mutex
	credits map[state.Key]state.Credits // of the priorities, by channel
}

// Dismiss lets agents that wait go with nothing, now and from now on. Who serves them calls it before it waits for
// requests to finish: they would wait for a minute.
func (dk *Desk) Dismiss() { dk.lines.close.Do(func() { close(dk.lines.closed) }) }

// Wake has one agent of each channel look again: something may be due.
func (dk *Desk) Wake(keys ...state.Key) { dk.lines.wake(keys...) }

// WakeAll has all agents look again: what they may be handed can be another now.
func (dk *Desk) WakeAll() { dk.lines.wakeAll() }

// Now is the time on the clock that leases go by.
func (dk *Desk) Now() time.Time { return dk.o.Life.Now() }

// Waiting is how many agents wait.
func (dk *Desk) Waiting() int { return dk.lines.waiting() }

// Returned notes deliveries that came back before they were sent: others may be handed them.
func (dk *Desk) Returned(list []posthouse.Delivery) {
	unsent := make([]work.Hold, len(list))
	for i := range list {
		unsent[i] = work.Hold{Delivery: list[i].ID, Token: list[i].Token}
		dk.lines.wake(state.KeyOf(&list[i]))
	}
	dk.permits.giveBack(unsent)
}

// Attend looks, while agents wait, for what this process did not announce: what came due, and what another
// process accepted.
func (dk *Desk) Attend(ctx context.Context) {
	for dk.o.Life.Pause(dk.stride(dk.o.Poll)) {
		dk.o.Metrics.Waiting.Set(float64(dk.Waiting()))
		lanes := pulledLanes(dk.lines.awaited())
		if len(lanes) == 0 {
			continue
		}
		ready, err := dk.o.HandOuts.Ready(ctx, time.Now(), lanes)
		if err != nil {
			if ctx.Err() == nil {
				dk.o.Log.Warn("the database cannot be asked for what agents wait for", "error", err)
			}
			continue
		}
		woken := map[state.Key]bool{}
		for i, due := range ready {
			if k := (state.Key{Tenant: lanes[i].Tenant, Channel: lanes[i].Channel}); due && !woken[k] {
				woken[k] = true
				dk.lines.wake(k)
			}
		}
	}
}

// stride is a wait of d and up to a fifth more, always the same in this process and another in others, so that they
// do not look in step. Unlike spread it can be foretold: a loop that skips its look would else begin the next one by
// chance, and no seed of the simulation would take its course again.
func (dk *Desk) stride(d time.Duration) time.Duration {
	return d + time.Duration(state.Fraction(dk.o.Owner)*float64(d)/5)
}

// pulledLanes are all lanes of pulled channels.
func pulledLanes(keys []state.Key) []work.Lane {
	var lanes []work.Lane
	for _, k := range keys {
		for _, p := range posthouse.Priorities() {
			for _, again := range []bool{false, true} {
				lanes = append(lanes, work.Lane{Tenant: k.Tenant, Channel: k.Channel, Priority: p, Pulled: true, Again: again})
			}
		}
	}
	return lanes
}

// allow asks the limiter how much an agent may be handed. Nothing is asked for where nothing is due.
func (dk *Desk) allow(ctx context.Context, c *Claim, o offer) (limit.Grant, error) {
	windows := limitsOf(&c.Agent)
	if len(o.keys) == 0 {
		return limit.Grant{}, nil
	}
	if len(windows) == 0 {
		return limit.Grant{N: c.Max}, nil
	}
	ready, err := dk.o.HandOuts.Ready(ctx, time.Now(), pulledLanes(o.keys))
	if err != nil || !slices.Contains(ready, true) {
		return limit.Grant{}, err
	}
	grant, err := dk.o.Limiter.Take(dk.o.Life.Context(), []limit.Bound{{Key: agentLimitKey(&c.Agent), Windows: limit.Spaced(windows)}}, c.Max)
	if err == nil && grant.N == 0 {
		dk.o.Metrics.Limited.WithLabelValues(o.keys[0].Channel).Inc()
		grant.Wait = max(grant.Wait, time.Millisecond)
	}
	return grant, err
}
