package pull

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/work"
)

// seenEvery is the time between two writes of when agents were last heard of.
const seenEvery = 5 * time.Second

// Roll gathers when agents were last heard of: one statement every few seconds instead of one a call.
type Roll struct {
	words   Words
	permits *permits
	life    *life.Life
	log     *slog.Logger

	mu    sync.Mutex
	list  map[agentKey]work.Seen
	mutes map[agentKey]time.Time // when agents that have never reported asked last
}

type agentKey struct{ tenant, agent string }

// Saw notes that an agent was heard of, and what its program says of itself, empty for nothing new.
func (s *Roll) Saw(tenant, agent, app string) {
	now := s.life.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = map[agentKey]work.Seen{}
	}
	k := agentKey{tenant, agent}
	s.list[k] = work.Seen{Tenant: tenant, Agent: agent, At: now, App: cmp.Or(app, s.list[k].App)}
}

// asks notes that an agent that has never reported asks once more, or that it has reported.
func (s *Roll) asks(c *Claim) {
	k := agentKey{c.Agent.Tenant, c.Agent.ID}
	now := s.life.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.Unheard {
		delete(s.mutes, k)
		return
	}
	if s.mutes == nil {
		s.mutes = map[agentKey]time.Time{}
	}
	s.mutes[k] = now
}

// Unread reports whether the agent that holds a delivery has asked for others since, and never reported anything: it does
// not read what it is handed, such as an app that wants another form. This process has to have seen it.
func (s *Roll) Unread(d *posthouse.Delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked, mute := s.mutes[agentKey{d.Tenant, work.AgentOf(d.LeaseOwner)}]
	return mute && !d.StartedAt.IsZero() && asked.After(d.StartedAt)
}

// take empties the list.
func (s *Roll) take() []work.Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]work.Seen, 0, len(s.list))
	for _, seen := range s.list {
		out = append(out, seen)
	}
	s.list = nil
	return out
}

// Run writes down now and then which agents were heard of. What is lost with the process is a few seconds.
func (s *Roll) Run(ctx context.Context) {
	for more := true; more; {
		more = s.life.Pause(life.Spread(seenEvery)) // and once more at the end
		s.permits.sweep()
		list := s.take()
		if len(list) == 0 {
			continue
		}
		if err := s.words.SeenAgents(ctx, time.Now(), list); err != nil && ctx.Err() == nil {
			s.log.Warn("when agents were last heard of could not be written", "agents", len(list), "error", err)
		}
	}
}
