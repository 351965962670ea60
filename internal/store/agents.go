package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// AddAgent stores an agent that is new. It is a conflict where there is one of this id.
func (s *Store) AddAgent(ctx context.Context, now time.Time, a posthouse.Agent) (posthouse.Agent, error) {
	return a, errUnbuilt
}

// PutAgent changes what people decide about an agent: name, channels, capabilities, limits and its key.
func (s *Store) PutAgent(ctx context.Context, now time.Time, a posthouse.Agent) (posthouse.Agent, error) {
	return a, errUnbuilt
}

// SetAgentState pauses, drains or activates an agent.
func (s *Store) SetAgentState(ctx context.Context, now time.Time, tenant, id string, state posthouse.AgentState, reason string) error {
	return errUnbuilt
}

// Agent reads one agent, or says not_found.
func (s *Store) Agent(ctx context.Context, tenant, id string) (posthouse.Agent, error) {
	return posthouse.Agent{}, errUnbuilt
}

// Agents lists a tenant's agents by id.
func (s *Store) Agents(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Agent, next string, err error) {
	return nil, "", errUnbuilt
}

// DeleteAgent takes an agent away. It is a conflict while it holds anything.
func (s *Store) DeleteAgent(ctx context.Context, now time.Time, tenant, id string) error {
	return errUnbuilt
}

// SeenAgents notes when agents were last heard of. One that is not stored is passed over.
func (s *Store) SeenAgents(ctx context.Context, now time.Time, list []work.Seen) error {
	return errUnbuilt
}

// HeldBy lists what an agent holds, the oldest lease first.
func (s *Store) HeldBy(ctx context.Context, tenant, agent string) ([]posthouse.Delivery, error) {
	return nil, errUnbuilt
}
