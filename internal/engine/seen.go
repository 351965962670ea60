package engine

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/work"
)

// seenEvery is the time between two writes of when agents were last heard of.
const seenEvery = 5 * time.Second

// roll gathers when agents were last heard of: one statement every few seconds instead of one a call.
type roll struct {
	mu   sync.Mutex
	list map[agentKey]work.Seen
}

type agentKey struct{ tenant, agent string }

// Saw notes that an agent was heard of, and what its program says of itself, empty for nothing new.
func (e *Engine) Saw(tenant, agent, app string) {
	now := e.clock.now()
	s := &e.seen
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = map[agentKey]work.Seen{}
	}
	k := agentKey{tenant, agent}
	s.list[k] = work.Seen{Tenant: tenant, Agent: agent, At: now, App: cmp.Or(app, s.list[k].App)}
}

// take empties the list.
func (s *roll) take() []work.Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]work.Seen, 0, len(s.list))
	for _, seen := range s.list {
		out = append(out, seen)
	}
	s.list = nil
	return out
}

// noteSeen writes down now and then which agents were heard of. What is lost with the process is a few seconds.
func (e *Engine) noteSeen(ctx context.Context) {
	for more := true; more; {
		more = e.pause(spread(seenEvery)) // and once more at the end
		e.permits.sweep()
		list := e.seen.take()
		if len(list) == 0 {
			continue
		}
		if err := e.o.Store.SeenAgents(ctx, time.Now(), list); err != nil && ctx.Err() == nil {
			e.log.Warn("when agents were last heard of could not be written", "agents", len(list), "error", err)
		}
	}
}
