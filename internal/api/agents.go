package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
)

// newAgent is an agent with the secret of its key, which is shown this once.
type newAgent struct {
	posthouse.Agent
	Secret string `json:"secret" doc:"Its API key: goes behind \"Authorization: Bearer\". It is not kept."`
}

// agentStatus is an agent with how much it holds.
type agentStatus struct {
	posthouse.Agent
	Holds int `json:"holds" doc:"How many deliveries it holds now."`
}

func (a *api) agents(c *call) (answer, error) {
	cursor, limit := c.query.Get("cursor"), c.number("limit", 1, maxPage)
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	list, next, err := a.Store.Agents(c.Context(), c.key.Tenant, cursor, limit)
	if err != nil {
		return answer{}, err
	}
	return pageOf(list, next)
}

func (a *api) agent(c *call) (answer, error) {
	agent, err := a.agentOf(c)
	if err != nil {
		return answer{}, err
	}
	held, err := a.Store.HeldBy(c.Context(), agent.Tenant, agent.ID)
	if err != nil {
		return answer{}, err
	}
	return ok(agentStatus{agent, len(held)})
}

// agentOf reads the agent that the path names.
func (a *api) agentOf(c *call) (posthouse.Agent, error) {
	return a.Store.Agent(c.Context(), c.key.Tenant, c.PathValue("id"))
}

var agentReader = bodyOf[posthouse.Agent]()

// addAgent registers an agent and makes its key.
func (a *api) addAgent(c *call) (answer, error) {
	in, err := loose(c, agentReader)
	if err != nil {
		return answer{}, err
	}
	if checkAgentID(c, "id", in.ID); in.Tenant != "" && in.Tenant != c.key.Tenant {
		c.refuse("tenant", "is not the key's: leave it out")
	}
	if err := a.checkAgent(c, &in); err != nil {
		return answer{}, err
	}
	made, err := a.Store.AddAgent(c.Context(), time.Now(), posthouse.Agent{
		Tenant: c.key.Tenant, ID: in.ID, Name: in.Name, Channels: in.Channels, Capabilities: in.Capabilities, Limits: in.Limits, State: posthouse.AgentActive,
	})
	if err != nil {
		return answer{}, err
	}
	if err := a.revokeKeysOf(c.Context(), made.Tenant, made.ID); err != nil { // of one that had its id before
		return answer{}, a.unmake(c.Context(), made, err)
	}
	made, key, err := a.giveKey(c.Context(), made)
	if err != nil {
		return answer{}, a.unmake(c.Context(), made, err)
	}
	return answer{status: http.StatusCreated, body: newAgent{made, key.Secret}}, nil
}

// unmake takes away an agent that could not be given a key.
func (a *api) unmake(ctx context.Context, agent posthouse.Agent, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := a.Store.DeleteAgent(ctx, time.Now(), agent.Tenant, agent.ID); err != nil {
		a.Log.Warn("an agent was stored without a key", "tenant", agent.Tenant, "agent", agent.ID, "error", err)
	}
	return cause
}

// giveKey makes a key for an agent. Those it has stay valid.
func (a *api) giveKey(ctx context.Context, agent posthouse.Agent) (posthouse.Agent, newKey, error) {
	key, err := a.makeKey(ctx, posthouse.Key{Tenant: agent.Tenant, Name: agent.ID, Scope: posthouse.ScopeAgent, Agent: agent.ID})
	if err != nil {
		return agent, newKey{}, err
	}
	with := agent
	with.Key = key.ID
	changed, err := a.Store.PutAgent(ctx, time.Now(), with)
	if err != nil {
		return agent, newKey{}, err
	}
	return changed, key, nil
}

// revokeKeysOf ends every key of an agent but those named.
func (a *api) revokeKeysOf(ctx context.Context, tenant, agent string, but ...string) error {
	keys, err := a.Store.Keys(ctx, tenant)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.Agent != agent || !k.RevokedAt.IsZero() || slices.Contains(but, k.ID) {
			continue
		}
		if err := a.Store.RevokeKey(ctx, time.Now(), tenant, k.ID); err != nil {
			return err
		}
		a.gate.forget(k.ID)
	}
	return nil
}

// putAgent takes an agent as it is read. What the server keeps of it is not looked at.
func (a *api) putAgent(c *call) (answer, error) {
	in, err := loose(c, agentReader)
	if err != nil {
		return answer{}, err
	}
	if id := c.PathValue("id"); in.ID != "" && in.ID != id {
		c.refuse("id", "is %.80q, but the path says %.80q", in.ID, id)
	}
	if in.Tenant != "" && in.Tenant != c.key.Tenant {
		c.refuse("tenant", "is not the key's: leave it out")
	}
	agent, err := a.agentOf(c)
	if err != nil {
		return answer{}, err
	}
	if err := a.checkAgent(c, &in); err != nil {
		return answer{}, err
	}
	agent.Name, agent.Channels, agent.Capabilities, agent.Limits = in.Name, in.Channels, in.Capabilities, in.Limits
	if agent, err = a.Store.PutAgent(c.Context(), time.Now(), agent); err != nil {
		return answer{}, err
	}
	return ok(agent)
}

// Bounds of what an agent is described with.
const (
	maxAgentID       = 50
	maxAgentChannels = 100
	maxCapabilities  = 32
)

// agentIDs are the characters of an agent's id beside letters and digits.
const agentIDs = "-_."

func checkAgentID(c *call, path, id string) {
	foreign := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(agentIDs, r)
	}
	switch {
	case c.concerns(path):
	case id == "":
		c.refuse(path, "is required: 1 to %d of a-z, A-Z, 0-9, '-', '_' and '.'", maxAgentID)
	case len(id) > maxAgentID || strings.ContainsFunc(id, foreign):
		c.refuse(path, "is %.80q: want 1 to %d of a-z, A-Z, 0-9, '-', '_' and '.'", id, maxAgentID)
	case strings.Trim(id, ".") == "":
		c.refuse(path, "is %q: dots alone do not stand in an address", id)
	}
}

// checkAgent checks what people decide about an agent, and fills in the usual limits.
func (a *api) checkAgent(c *call, in *posthouse.Agent) error {
	checkWord(c, "name", in.Name, 255)
	if in.Limits == nil {
		in.Limits = posthouse.AgentLimits()
	}
	for _, p := range limit.Check(in.Limits) {
		if path := "limits" + p.Path; !c.concerns(path) {
			c.refuse(path, "%s", p.Message)
		}
	}
	checkCapabilities(c, in.Capabilities)
	if err := a.checkPulled(c, in.Channels); err != nil {
		return err
	}
	return c.wrong()
}

func checkCapabilities(c *call, capabilities map[string]string) {
	if n := len(capabilities); n > maxCapabilities {
		c.refuse("capabilities", "has %d entries: at most %d are allowed", n, maxCapabilities)
		return
	}
	for name, value := range capabilities {
		path := fmt.Sprintf("capabilities.%.64s", name)
		if name == "" {
			c.refuse("capabilities", "has an entry without a name")
		}
		checkWord(c, path, name, 64)
		checkWord(c, path, value, 255)
	}
}

// checkPulled checks the channels of an agent: there are such, and agents fetch from them.
func (a *api) checkPulled(c *call, names []string) error {
	if n := len(names); (n == 0 || n > maxAgentChannels) && !c.concerns("channels") {
		c.refuse("channels", "has %d channels: want 1 to %d, those the agent fetches from", n, maxAgentChannels)
		return nil
	}
	list, err := a.Channels.List(c.Context(), c.key.Tenant)
	if err != nil {
		return err
	}
	for i, name := range names {
		path := fmt.Sprintf("channels[%d]", i)
		at := slices.IndexFunc(list, func(ch posthouse.Channel) bool { return ch.Name == name })
		switch {
		case c.concerns(path):
		case at < 0:
			c.refuse(path, "there is no channel %.80q", name)
		case !a.pulled(list[at]):
			c.refuse(path, "nobody fetches from the channel %.80q: set its pull to true, or name one of the driver pull", name)
		case slices.Contains(names[:i], name):
			c.refuse(path, "is %.80q, which stands here twice", name)
		}
	}
	return nil
}

// pulled reports whether agents fetch a channel's deliveries.
func (a *api) pulled(ch posthouse.Channel) bool {
	for _, t := range a.drivers {
		if t.Name == ch.Driver {
			return t.Pulled(ch.ChannelSettings)
		}
	}
	return ch.Pull
}

// deleteAgent takes an agent away, and its keys with it. Of one that is gone already the keys go too.
func (a *api) deleteAgent(c *call) (answer, error) {
	tenant, id := c.key.Tenant, c.PathValue("id")
	err := a.Store.DeleteAgent(c.Context(), time.Now(), tenant, id)
	if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
		return answer{}, err
	}
	if err := a.revokeKeysOf(c.Context(), tenant, id); err != nil {
		return answer{}, err
	}
	return none(err)
}

func (a *api) pauseAgent(c *call) (answer, error) { return a.setAgent(c, posthouse.AgentPaused) }

func (a *api) drainAgent(c *call) (answer, error) { return a.setAgent(c, posthouse.AgentDraining) }

func (a *api) resumeAgent(c *call) (answer, error) {
	if err := a.Store.SetAgentState(c.Context(), time.Now(), c.key.Tenant, c.PathValue("id"), posthouse.AgentActive, ""); err != nil {
		return answer{}, err
	}
	return a.agent(c)
}

// setAgent puts an agent in a state with a reason.
func (a *api) setAgent(c *call, state posthouse.AgentState) (answer, error) {
	in, err := a.reason(c)
	if err != nil {
		return answer{}, err
	}
	if err := a.Store.SetAgentState(c.Context(), time.Now(), c.key.Tenant, c.PathValue("id"), state, in.Reason); err != nil {
		return answer{}, err
	}
	return a.agent(c)
}

// reason reads a body that says why, or none.
func (a *api) reason(c *call) (pauseBody, error) {
	in, err := optional(c, pauseReader)
	if err != nil {
		return in, err
	}
	checkWord(c, "reason", in.Reason, 255)
	return in, c.wrong()
}

// reassigned says what became of what an agent held.
type reassigned struct {
	Released int `json:"released" doc:"They had not started: other agents get them at once."`
	Unknown  int `json:"unknown" doc:"They had started and may have left: the channel's on_unknown decides."`
}

func (a *api) reassignAgent(c *call) (answer, error) {
	in, err := a.reason(c)
	if err != nil {
		return answer{}, err
	}
	agent, err := a.agentOf(c)
	if err != nil {
		return answer{}, err
	}
	out, err := a.Engine.Reassign(c.Context(), agent.Tenant, agent.ID, in.Reason)
	if err != nil {
		return answer{}, err
	}
	return ok(reassigned{out.Released, out.Unknown})
}

// agentKeyBody is how an agent's key is made anew.
type agentKeyBody struct {
	RevokeOld bool `json:"revoke_old,omitempty" doc:"End its other keys at once. Defaults to false: they stay valid until they are revoked."`
}

var agentKeyReader = bodyOf[agentKeyBody]()

// agentKey makes another key for an agent.
func (a *api) agentKey(c *call) (answer, error) {
	in, err := optional(c, agentKeyReader)
	if err != nil {
		return answer{}, err
	}
	agent, err := a.agentOf(c)
	if err != nil {
		return answer{}, err
	}
	_, key, err := a.giveKey(c.Context(), agent)
	if err == nil && in.RevokeOld {
		err = a.revokeKeysOf(c.Context(), agent.Tenant, agent.ID, key.ID)
	}
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: key}, nil
}
