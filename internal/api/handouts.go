package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Desk hands deliveries to agents and takes their reports. The engine's roles satisfy it.
type Desk interface {
	HandOut(ctx context.Context, c pull.Claim) (pull.Claimed, error)
	ReportHandouts(ctx context.Context, reports []work.Report) ([]work.Report, error)
	// Now is the time on the clock that leases go by.
	Now() time.Time
	// Saw notes what an agent's program says of itself.
	Saw(tenant, agent, app string)
}

// Holder changes what an agent holds. The engine's roles satisfy it.
type Holder interface {
	StartHandouts(ctx context.Context, tenant, agent string, holds []work.Hold) ([]pull.HoldAnswer, error)
	RenewHandouts(ctx context.Context, tenant, agent string, holds []work.Hold) ([]pull.HoldAnswer, error)
	GiveBack(ctx context.Context, tenant, agent string, holds []work.Hold, reason string) ([]pull.HoldAnswer, error)
}

// handouts is the resource of what agents are handed and say of it.
type handouts struct {
	agents   Agents
	messages read.Messages
	desk     Desk
	holder   Holder
}

// Bounds of what an agent asks for.
const (
	maxClaim     = 100
	defaultClaim = 10
	maxWait      = time.Minute
	maxMark      = 64   // bytes of a claim_id or report_id
	maxHolds     = 500  // hand-outs of one request
	maxRequest   = 1000 // characters of a request that a log keeps
)

var (
	claimBody = web.BodyOf[wire.Claim]().Loose()
	holdsBody = web.BodyOf[wire.Holds](web.OneTo(maxHolds, "handouts", "hand-outs")).Loose()
)

func (h handouts) routes() []web.Route {
	return web.Tagged("agents",
		web.Get("/v1/agents/{id}/handouts", reads, "What it holds, without the contents.", h.list).Paged().ByAgent(),
		web.Post("/v1/agents/{id}/claims", agents, "Be handed due deliveries under a lease, and wait for some.", claimBody, h.claim),
		web.Post("/v1/agents/{id}/start", agents, "Say that hand-outs are being sent now. What is not ok must not be sent.", holdsBody, h.start),
		web.Post("/v1/agents/{id}/renew", agents, "Make leases last a whole time-out from now.", holdsBody, h.renew),
		web.Post("/v1/agents/{id}/give-back", agents, "Return hand-outs that were not started: others get them at once.", holdsBody, h.giveBack),
	)
}

// claim hands deliveries to an agent, and waits for some where it is told to.
func (h handouts) claim(c *web.Call, in wire.Claim) (wire.Claimed, error) {
	if err := checkClaim(c, &in); err != nil {
		return wire.Claimed{}, err
	}
	agent, err := h.agents.Agent(c.Context(), c.Tenant(), c.PathValue("id"))
	if err != nil {
		return wire.Claimed{}, err
	}
	if in.App != "" {
		h.desk.Saw(agent.Tenant, agent.ID, in.App)
	}
	mayWait(c, in.Wait.Std())
	out, err := h.desk.HandOut(c.Context(), pull.Claim{
		Agent: agent, ClaimID: in.ID, Max: in.Max, Capabilities: in.Capabilities, Wait: in.Wait.Std(), Request: logged(in), Still: c.Still,
	})
	if err != nil {
		return wire.Claimed{}, err
	}
	list, err := wholeOf(out.Handouts, nil)
	return wire.Claimed{
		Handouts: list.Items, Repeated: out.Repeated, Reason: out.Reason, RetryAfterMillis: out.After.Milliseconds(), ServerTime: h.desk.Now().UTC(),
	}, err
}

func checkClaim(c *web.Call, in *wire.Claim) error {
	if in.Max == 0 {
		in.Max = defaultClaim
	}
	if in.Max < 1 || in.Max > maxClaim {
		c.Refuse("max", "is %d: want 1 to %d", in.Max, maxClaim)
	}
	if wait := in.Wait.Std(); wait < 0 || wait > maxWait {
		c.Refuse("wait", "is %s: want 0s to %s", in.Wait, posthouse.Duration(maxWait))
	}
	c.CheckWord("claim_id", in.ID, maxMark)
	c.CheckWord("app", in.App, 255)
	checkCapabilities(c, in.Capabilities)
	return c.Wrong()
}

// mayWait keeps the connection open for as long as an agent waits: the server's own bounds are for
// calls that are answered at once. Where there is no connection, in tests, they do not hold either.
func mayWait(c *web.Call, wait time.Duration) {
	if wait <= 0 {
		return
	}
	connection := http.NewResponseController(c.Writer)
	_ = connection.SetReadDeadline(time.Time{}) // the request was read
	_ = connection.SetWriteDeadline(time.Now().Add(wait + time.Minute))
}

// logged is a request as the logs keep it.
func logged(v any) string {
	text, _ := json.Marshal(v) // it came as JSON: cannot fail
	for i := range string(text) {
		if i >= maxRequest {
			return string(text[:i])
		}
	}
	return string(text)
}

// list lists what an agent holds, without the contents: a repeated claim has them.
func (h handouts) list(c *web.Call) (out wire.Page[wire.Held], err error) {
	cursor, limit, err := c.Page()
	if err != nil {
		return out, err
	}
	agent, err := h.agents.Agent(c.Context(), c.Tenant(), c.PathValue("id"))
	if err != nil {
		return out, err
	}
	return partsOf(cursor, limit, func(cursor string, limit int) (list []wire.Held, next string, err error) {
		held, next, err := h.agents.HeldPage(c.Context(), agent.Tenant, agent.ID, cursor, limit)
		for _, d := range held {
			list = append(list, wire.Held{Delivery: d, LeaseMillis: h.leaseLeft(d.LeaseUntil)})
		}
		return list, next, err
	})
}

// read reads which hand-outs a request is about.
func (h handouts) read(c *web.Call, in wire.Holds) ([]work.Hold, error) {
	if len(in.Handouts) == 0 {
		c.RefuseNew("handouts", "has 0 hand-outs: want 1 to %d", maxHolds)
	}
	list := make([]work.Hold, len(in.Handouts))
	for i, hold := range in.Handouts {
		checkHold(c, fmt.Sprintf("handouts[%d].", i), hold.Delivery, hold.Token)
		list[i] = work.Hold(hold)
	}
	c.CheckWord("reason", in.Reason, 255)
	return list, c.Wrong()
}

func checkHold(c *web.Call, path, delivery string, token int64) {
	if !posthouse.ValidID(delivery) {
		c.RefuseNew(path+"delivery", "is %.60q: want a delivery's id, 26 letters and digits", delivery)
	}
	if token < 1 {
		c.RefuseNew(path+"token", "is %d: want the hand-out's token", token)
	}
}

func (h handouts) start(c *web.Call, in wire.Holds) (wire.HoldResults, error) {
	list, err := h.read(c, in)
	if err != nil {
		return wire.HoldResults{}, err
	}
	return h.view(h.holder.StartHandouts(c.Context(), c.Tenant(), c.Key.Agent, list))
}

func (h handouts) renew(c *web.Call, in wire.Holds) (wire.HoldResults, error) {
	list, err := h.read(c, in)
	if err != nil {
		return wire.HoldResults{}, err
	}
	return h.view(h.holder.RenewHandouts(c.Context(), c.Tenant(), c.Key.Agent, list))
}

func (h handouts) giveBack(c *web.Call, in wire.Holds) (wire.HoldResults, error) {
	list, err := h.read(c, in)
	if err == nil {
		in.Reason, err = h.hushed(c, list, in.Reason)
	}
	if err != nil {
		return wire.HoldResults{}, err
	}
	return h.view(h.holder.GiveBack(c.Context(), c.Tenant(), c.Key.Agent, list, in.Reason))
}

// hushed is why hand-outs are given back, without the agent's own words where one of their messages is sensitive: they
// may quote it, and are kept.
func (h handouts) hushed(c *web.Call, list []work.Hold, reason string) (string, error) {
	if reason == "" {
		return "", nil
	}
	of := make([]posthouse.Delivery, len(list))
	for i, hold := range list {
		of[i].Message = posthouse.MessageID(hold.Delivery)
	}
	messages, err := h.messages.MessagesOf(c.Context(), c.Viewer(), of)
	for _, m := range messages {
		if m.Sensitive {
			reason = "hidden: the message is sensitive"
		}
	}
	return reason, err
}

func (h handouts) view(list []pull.HoldAnswer, err error) (wire.HoldResults, error) {
	view := wire.HoldResults{Results: make([]wire.HoldResult, len(list))}
	for i, a := range list {
		view.Results[i] = wire.HoldResult{Delivery: a.Delivery, OK: a.OK, Reason: a.Reason, LeaseUntil: a.LeaseUntil}
		if !a.LeaseUntil.IsZero() {
			view.Results[i].LeaseMillis = h.leaseLeft(a.LeaseUntil)
		}
	}
	return view, err
}

// leaseLeft is what is left of a lease, in milliseconds. Leases end by the database's clock: by that of a machine
// that is behind, a phone would go on with what another one is handed.
func (h handouts) leaseLeft(until time.Time) int64 {
	return max(until.Sub(h.desk.Now()).Milliseconds(), 0)
}
