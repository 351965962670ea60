package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Agents keeps phones and other programs that fetch deliveries.
type Agents interface {
	registered
	Agent(ctx context.Context, tenant, id string) (posthouse.Agent, error)
	Agents(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Agent, next string, err error)
	// HeldPage lists a part of what an agent holds.
	HeldPage(ctx context.Context, tenant, agent, cursor string, limit int) (list []posthouse.Delivery, next string, err error)
}

type registered interface {
	AddAgent(ctx context.Context, now time.Time, a posthouse.Agent) (posthouse.Agent, error)
	PutAgent(ctx context.Context, now time.Time, a posthouse.Agent) (posthouse.Agent, error)
	SetAgentState(ctx context.Context, now time.Time, tenant, id string, state posthouse.AgentState, reason string) error
	DeleteAgent(ctx context.Context, now time.Time, tenant, id string) error
}

// Reassigner takes from an agent all that it holds. The engine's roles satisfy it.
type Reassigner interface {
	Reassign(ctx context.Context, tenant, agent, reason string) (pull.Reassigned, error)
}

// phones is the resource of the agents as people see them.
type phones struct {
	store    Agents
	channels Channels
	desk     Reassigner
	keys     keys
}

var (
	agentBody    = web.BodyOf[posthouse.Agent]().Loose()
	agentKeyBody = web.BodyOf[wire.AgentKey]().Optional()
)

func (p phones) routes() []web.Route {
	return web.Tagged("agents",
		web.Get("/v1/agents", reads, "List the phones and programs that fetch deliveries, by id.", p.list).Paged(),
		web.Post("/v1/agents", admin, "Register an agent; the secret of its key is shown this once.", agentBody, p.add).Answers(http.StatusCreated).Whole(),
		web.Get("/v1/agents/{id}", reads, "One agent, with how much it holds.", p.get).ByAgent(),
		web.Put("/v1/agents/{id}", admin, "Change its name, channels, capabilities and limits.", agentBody, p.put),
		web.Delete("/v1/agents/{id}", admin, "Take an agent away that holds nothing, and revoke its keys.", p.remove),
		web.Post("/v1/agents/{id}/pause", admin, "Hand it nothing for now. It may finish and report what it holds.", reasonBody, p.set(posthouse.AgentPaused)),
		web.Post("/v1/agents/{id}/drain", admin, "Hand it nothing more: it finishes what it holds and can then be deleted.", reasonBody, p.set(posthouse.AgentDraining)),
		web.Act("/v1/agents/{id}/resume", admin, "Hand it deliveries again.", p.resume),
		web.Post("/v1/agents/{id}/reassign", admin, "Take everything from an agent that does not come back: what it had not started goes to others.", reasonBody, p.reassign),
		web.Post("/v1/agents/{id}/key", admin, "Make it another key; its secret is shown this once.", agentKeyBody, p.key).Answers(http.StatusCreated).Whole(),
	)
}

func (p phones) list(c *web.Call) (wire.Page[posthouse.Agent], error) {
	cursor, limit, err := c.Page()
	if err != nil {
		return wire.Page[posthouse.Agent]{}, err
	}
	return partsOf(cursor, limit, func(cursor string, limit int) ([]posthouse.Agent, string, error) {
		return p.store.Agents(c.Context(), c.Tenant(), cursor, limit)
	})
}

// named reads the agent that the path names.
func (p phones) named(c *web.Call) (posthouse.Agent, error) {
	return p.store.Agent(c.Context(), c.Tenant(), c.PathValue("id"))
}

func (p phones) get(c *web.Call) (wire.Agent, error) {
	agent, err := p.named(c)
	if err != nil {
		return wire.Agent{}, err
	}
	out := wire.Agent{Agent: agent}
	err = everyOf(func(cursor string) ([]posthouse.Delivery, string, error) {
		return p.store.HeldPage(c.Context(), agent.Tenant, agent.ID, cursor, web.MaxPage)
	}, func(*posthouse.Delivery) error {
		out.Holds++
		return nil
	})
	return out, err
}

// add registers an agent and makes its key.
func (p phones) add(c *web.Call, in posthouse.Agent) (wire.NewAgent, error) {
	checkAgentID(c, "id", in.ID)
	if err := p.check(c, &in); err != nil {
		return wire.NewAgent{}, err
	}
	made, err := p.store.AddAgent(c.Context(), time.Now(), posthouse.Agent{
		Tenant: c.Tenant(), ID: in.ID, Name: in.Name, Channels: in.Channels, Capabilities: in.Capabilities, Limits: in.Limits, State: posthouse.AgentActive,
	})
	if err != nil {
		return wire.NewAgent{}, err
	}
	if err := p.keys.revokeOf(c.Context(), made.Tenant, made.ID); err != nil { // of one that had its id before
		return wire.NewAgent{}, p.unmake(c.Context(), made, err)
	}
	made, key, err := p.giveKey(c.Context(), made)
	if err != nil {
		return wire.NewAgent{}, p.unmake(c.Context(), made, err)
	}
	c.Named(made.ID)
	c.Changed(nil, made)
	return wire.NewAgent{Agent: made, Secret: key.Secret}, nil
}

// unmake takes away an agent that could not be given a key.
func (p phones) unmake(ctx context.Context, agent posthouse.Agent, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := p.store.DeleteAgent(ctx, time.Now(), agent.Tenant, agent.ID); err != nil {
		return fmt.Errorf("%w; the agent %s was stored without a key: %w", cause, agent.ID, err)
	}
	return cause
}

// giveKey makes a key for an agent. Those it has stay valid.
func (p phones) giveKey(ctx context.Context, agent posthouse.Agent) (posthouse.Agent, wire.NewKey, error) {
	key, err := p.keys.make(ctx, posthouse.Key{Tenant: agent.Tenant, Name: agent.ID, Scope: posthouse.ScopeAgent, Agent: agent.ID})
	if err != nil {
		return agent, wire.NewKey{}, err
	}
	with := agent
	with.Key = key.ID
	changed, err := p.store.PutAgent(ctx, time.Now(), with)
	if err != nil {
		return agent, wire.NewKey{}, err
	}
	return changed, key, nil
}

// put takes an agent as it is read. What the server keeps of it is not looked at.
func (p phones) put(c *web.Call, in posthouse.Agent) (posthouse.Agent, error) {
	if id := c.PathValue("id"); in.ID != "" && in.ID != id {
		c.Refuse("id", "is %.80q, but the path says %.80q", in.ID, id)
	}
	agent, err := p.named(c)
	if err != nil {
		return agent, err
	}
	if err := p.check(c, &in); err != nil {
		return agent, err
	}
	before := agent
	agent.Name, agent.Channels, agent.Capabilities, agent.Limits = in.Name, in.Channels, in.Capabilities, in.Limits
	c.Changed(before, agent)
	return p.store.PutAgent(c.Context(), time.Now(), agent)
}

// Bounds of what an agent is described with.
const (
	maxAgentChannels = 100
	maxCapabilities  = 32
)

func checkAgentID(c *web.Call, path, id string) {
	if odd := draft.AgentID(id); odd != "" {
		c.RefuseNew(path, "%s", odd)
	}
}

// check checks what people decide about an agent, and fills in the usual limits.
func (p phones) check(c *web.Call, in *posthouse.Agent) error {
	c.CheckTenant("tenant", in.Tenant)
	c.CheckWord("name", in.Name, 255)
	if in.Limits == nil {
		in.Limits = posthouse.AgentLimits()
	}
	for _, problem := range limit.Check(in.Limits) {
		c.RefuseNew("limits"+problem.Path, "%s", problem.Message)
	}
	checkCapabilities(c, in.Capabilities)
	if err := p.checkPulled(c, in.Channels); err != nil {
		return err
	}
	return c.Wrong()
}

func checkCapabilities(c *web.Call, capabilities map[string]string) {
	if n := len(capabilities); n > maxCapabilities {
		c.Refuse("capabilities", "has %d entries: at most %d are allowed", n, maxCapabilities)
		return
	}
	for name, value := range capabilities {
		path := fmt.Sprintf("capabilities.%.64s", name)
		if name == "" {
			c.Refuse("capabilities", "has an entry without a name")
		}
		c.CheckWord(path, name, 64)
		c.CheckWord(path, value, 255)
	}
}

// checkPulled checks the channels of an agent: there are such, and agents fetch from them.
func (p phones) checkPulled(c *web.Call, names []string) error {
	if n := len(names); (n == 0 || n > maxAgentChannels) && !c.Concerns("channels") {
		c.Refuse("channels", "has %d channels: want 1 to %d, those the agent fetches from", n, maxAgentChannels)
		return nil
	}
	for i, name := range names {
		path := fmt.Sprintf("channels[%d]", i)
		ch, err := p.channels.Get(c.Context(), c.Tenant(), name)
		switch {
		case posthouse.CodeOf(err) == posthouse.CodeNotFound:
			c.RefuseNew(path, "there is no channel %.80q", name)
		case err != nil && posthouse.CodeOf(err) != posthouse.CodeConflict: // one that cannot be read is one
			return err
		case !pulled(p.channels.Types(), ch):
			c.RefuseNew(path, "nobody fetches from the channel %.80q: set its pull to true, or name one of the driver pull", name)
		case slices.Contains(names[:i], name):
			c.RefuseNew(path, "is %.80q, which stands here twice", name)
		}
	}
	return nil
}

// remove takes an agent away, and its keys with it. Of one that is gone already the keys go too.
func (p phones) remove(c *web.Call) error {
	tenant, id := c.Tenant(), c.PathValue("id")
	before, err := p.named(c)
	deletes(c, before, err)
	err = p.store.DeleteAgent(c.Context(), time.Now(), tenant, id)
	if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
		return err
	}
	if err := p.keys.revokeOf(c.Context(), tenant, id); err != nil {
		return err
	}
	return err
}

func (p phones) resume(c *web.Call) (wire.Agent, error) {
	return p.set(posthouse.AgentActive)(c, wire.Reason{})
}

// set puts an agent in a state with a reason.
func (p phones) set(state posthouse.AgentState) func(*web.Call, wire.Reason) (wire.Agent, error) {
	return func(c *web.Call, in wire.Reason) (wire.Agent, error) {
		if err := checkReason(c, in); err != nil {
			return wire.Agent{}, err
		}
		c.Asked(in, 1)
		if err := p.store.SetAgentState(c.Context(), time.Now(), c.Tenant(), c.PathValue("id"), state, in.Reason); err != nil {
			return wire.Agent{}, err
		}
		return p.get(c)
	}
}

func (p phones) reassign(c *web.Call, in wire.Reason) (wire.Reassigned, error) {
	if err := checkReason(c, in); err != nil {
		return wire.Reassigned{}, err
	}
	agent, err := p.named(c)
	if err != nil {
		return wire.Reassigned{}, err
	}
	out, err := p.desk.Reassign(c.Context(), agent.Tenant, agent.ID, in.Reason)
	c.Asked(in, out.Released+out.Unknown)
	return wire.Reassigned{Released: out.Released, Unknown: out.Unknown}, err
}

// key makes another key for an agent.
func (p phones) key(c *web.Call, in wire.AgentKey) (wire.NewKey, error) {
	agent, err := p.named(c)
	if err != nil {
		return wire.NewKey{}, err
	}
	_, key, err := p.giveKey(c.Context(), agent)
	if err == nil && in.RevokeOld {
		err = p.keys.revokeOf(c.Context(), agent.Tenant, agent.ID, key.ID)
	}
	return key, err
}
