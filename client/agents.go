package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Agents are the phones and programs that fetch messages and send them themselves.
type Agents struct{ api *caller }

// List lists the agents by id. Of the filter, Cursor and Limit are used.
func (c Agents) List(ctx context.Context, f Filter) (wire.Page[posthouse.Agent], error) {
	return get[wire.Page[posthouse.Agent]](ctx, c.api, path("agents"), Filter{Cursor: f.Cursor, Limit: f.Limit}.query())
}

// Get reads one agent. An agent may read itself with its own key.
func (c Agents) Get(ctx context.Context, id string) (wire.Agent, error) {
	return get[wire.Agent](ctx, c.api, path("agents", id), nil)
}

// Add registers an agent: its ID, Name, Channels, Capabilities and Limits are used.
func (c Agents) Add(ctx context.Context, a posthouse.Agent) (wire.NewAgent, error) {
	return send[wire.NewAgent](ctx, c.api, http.MethodPost, path("agents"), agentBody(a))
}

// Put changes an agent's Name, Channels, Capabilities and Limits.
func (c Agents) Put(ctx context.Context, a posthouse.Agent) (posthouse.Agent, error) {
	return send[posthouse.Agent](ctx, c.api, http.MethodPut, path("agents", a.ID), agentBody(a))
}

// agentBody is what people decide about an agent.
func agentBody(a posthouse.Agent) any {
	return struct {
		ID           string            `json:"id"`
		Name         string            `json:"name,omitempty"`
		Channels     []string          `json:"channels"`
		Capabilities map[string]string `json:"capabilities,omitempty"`
		Limits       []posthouse.Limit `json:"limits"` // null is the usual ones, empty is none
	}{a.ID, a.Name, a.Channels, a.Capabilities, a.Limits}
}

// Delete takes an agent away that holds nothing, and revokes its keys.
func (c Agents) Delete(ctx context.Context, id string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("agents", id)})
	return err
}

// Pause hands an agent nothing until it is resumed.
func (c Agents) Pause(ctx context.Context, id, reason string) (wire.Agent, error) {
	return send[wire.Agent](ctx, c.api, http.MethodPost, path("agents", id, "pause"), wire.Reason{Reason: reason})
}

// Drain hands an agent nothing more: it finishes what it holds and can then be deleted.
func (c Agents) Drain(ctx context.Context, id, reason string) (wire.Agent, error) {
	return send[wire.Agent](ctx, c.api, http.MethodPost, path("agents", id, "drain"), wire.Reason{Reason: reason})
}

// Resume hands an agent deliveries again.
func (c Agents) Resume(ctx context.Context, id string) (wire.Agent, error) {
	return send[wire.Agent](ctx, c.api, http.MethodPost, path("agents", id, "resume"), nil)
}

// Reassign takes everything from an agent that does not come back.
func (c Agents) Reassign(ctx context.Context, id, reason string) (wire.Reassigned, error) {
	return send[wire.Reassigned](ctx, c.api, http.MethodPost, path("agents", id, "reassign"), wire.Reason{Reason: reason})
}

// NewKey makes another key for an agent, and ends its others where that is asked for.
func (c Agents) NewKey(ctx context.Context, id string, revokeOld bool) (wire.NewKey, error) {
	return send[wire.NewKey](ctx, c.api, http.MethodPost, path("agents", id, "key"), wire.AgentKey{RevokeOld: revokeOld})
}

// Tally counts the deliveries of a pulled channel.
func (c Channels) Tally(ctx context.Context, channel string) (wire.Tally, error) {
	return get[wire.Tally](ctx, c.api, path("channels", channel, "tally"), nil)
}
