package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
)

// Agents are the phones and programs that fetch messages and send them themselves.
type Agents struct{ api *caller }

// Agent is an agent with how many deliveries it holds now.
type Agent struct {
	posthouse.Agent
	Holds int `json:"holds"`
}

// NewAgent is an agent with the secret of its key, which is shown this once.
type NewAgent struct {
	posthouse.Agent
	Secret string `json:"secret"`
}

// Reassigned says what became of what was taken from an agent.
type Reassigned struct {
	// Released had not started: other agents get them at once.
	Released int `json:"released"`
	// Unknown had started and may have left: the channel's on_unknown decides.
	Unknown int `json:"unknown"`
}

// Tally counts the deliveries of a pulled channel.
type Tally struct {
	New        int `json:"new"`        // pending, never failed
	Retry      int `json:"retry"`      // pending, failed before
	Processing int `json:"processing"` // handed out
	Unknown    int `json:"unknown"`
	Success    int `json:"success"` // sent or delivered, also those deleted since
	Failed     int `json:"failed"`  // ended otherwise, also those deleted since
}

// List lists the agents by id. Of the filter, Cursor and Limit are used.
func (c Agents) List(ctx context.Context, f Filter) (Page[posthouse.Agent], error) {
	return get[Page[posthouse.Agent]](ctx, c.api, path("agents"), Filter{Cursor: f.Cursor, Limit: f.Limit}.query())
}

// Get reads one agent. An agent may read itself with its own key.
func (c Agents) Get(ctx context.Context, id string) (Agent, error) {
	return get[Agent](ctx, c.api, path("agents", id), nil)
}

// Add registers an agent: its ID, Name, Channels, Capabilities and Limits are used.
func (c Agents) Add(ctx context.Context, a posthouse.Agent) (NewAgent, error) {
	return send[NewAgent](ctx, c.api, http.MethodPost, path("agents"), agentBody(a))
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
func (c Agents) Pause(ctx context.Context, id, reason string) (Agent, error) {
	return send[Agent](ctx, c.api, http.MethodPost, path("agents", id, "pause"), map[string]string{"reason": reason})
}

// Drain hands an agent nothing more: it finishes what it holds and can then be deleted.
func (c Agents) Drain(ctx context.Context, id, reason string) (Agent, error) {
	return send[Agent](ctx, c.api, http.MethodPost, path("agents", id, "drain"), map[string]string{"reason": reason})
}

// Resume hands an agent deliveries again.
func (c Agents) Resume(ctx context.Context, id string) (Agent, error) {
	return send[Agent](ctx, c.api, http.MethodPost, path("agents", id, "resume"), nil)
}

// Reassign takes everything from an agent that does not come back.
func (c Agents) Reassign(ctx context.Context, id, reason string) (Reassigned, error) {
	return send[Reassigned](ctx, c.api, http.MethodPost, path("agents", id, "reassign"), map[string]string{"reason": reason})
}

// NewKey makes another key for an agent, and ends its others where that is asked for.
func (c Agents) NewKey(ctx context.Context, id string, revokeOld bool) (NewKey, error) {
	return send[NewKey](ctx, c.api, http.MethodPost, path("agents", id, "key"), map[string]bool{"revoke_old": revokeOld})
}

// Tally counts the deliveries of a pulled channel.
func (c Channels) Tally(ctx context.Context, channel string) (Tally, error) {
	return get[Tally](ctx, c.api, path("channels", channel, "tally"), nil)
}
