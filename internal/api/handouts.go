package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/work"
)

// claimBody is what an agent asks for.
type claimBody struct {
	ClaimID      string             `json:"claim_id,omitempty" doc:"A new one for each claim, up to 64 bytes: a repeat with it answers what is still held of what it handed out."`
	Max          int                `json:"max,omitempty" doc:"At most that many, 1 to 100. Defaults to 10."`
	Wait         posthouse.Duration `json:"wait,omitempty" doc:"How long to wait where nothing is due, at most 60s. Defaults to 0."`
	Capabilities map[string]string  `json:"capabilities,omitempty" doc:"What it can do now, over what is registered: a channel's needs are compared with it."`
	App          string             `json:"app,omitempty" doc:"What the program says of itself, such as sms-app/2.1."`
}

// claimView is what an agent was handed.
type claimView struct {
	Handouts   []posthouse.Handout `json:"handouts"`
	Repeated   bool                `json:"repeated,omitempty" doc:"The claim id was known: these are what is still held of it."`
	Reason     string              `json:"reason,omitempty" doc:"Why there is nothing although there may be work: paused, draining, limited, channel_paused, lacks_capabilities."`
	RetryAfter int64               `json:"retry_after_ms,omitempty" doc:"When to ask again, in milliseconds; missing for at once."`
	ServerTime time.Time           `json:"server_time"`
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

var claimReader = bodyOf[claimBody]()

// claim hands deliveries to an agent, and waits for some where it is told to.
func (a *api) claim(c *call) (answer, error) {
	in, err := loose(c, claimReader)
	if err != nil {
		return answer{}, err
	}
	if err := c.checkClaim(&in); err != nil {
		return answer{}, err
	}
	agent, err := a.agentOf(c)
	if err != nil {
		return answer{}, err
	}
	if in.App != "" {
		a.Engine.Saw(agent.Tenant, agent.ID, in.App)
	}
	c.mayWait(in.Wait.Std())
	out, err := a.Engine.HandOut(c.Context(), engine.Claim{
		Agent: agent, ClaimID: in.ClaimID, Max: in.Max, Capabilities: in.Capabilities, Wait: in.Wait.Std(), Request: logged(in),
		Still: func() error { _, err := a.gate.enter(c.Request); return err },
	})
	if err != nil {
		return answer{}, err
	}
	view := claimView{out.Handouts, out.Repeated, out.Reason, out.After.Milliseconds(), a.Engine.Now().UTC()}
	if view.Handouts == nil {
		view.Handouts = []posthouse.Handout{}
	}
	return ok(view)
}

func (c *call) checkClaim(in *claimBody) error {
	if in.Max == 0 {
		in.Max = defaultClaim
	}
	if in.Max < 1 || in.Max > maxClaim {
		c.refuse("max", "is %d: want 1 to %d", in.Max, maxClaim)
	}
	if wait := in.Wait.Std(); wait < 0 || wait > maxWait {
		c.refuse("wait", "is %s: want 0s to %s", in.Wait, posthouse.Duration(maxWait))
	}
	checkWord(c, "claim_id", in.ClaimID, maxMark)
	checkWord(c, "app", in.App, 255)
	checkCapabilities(c, in.Capabilities)
	return c.wrong()
}

// mayWait keeps the connection open for as long as an agent waits: the server's own bounds are for
// calls that are answered at once. Where there is no connection, in tests, they do not hold either.
func (c *call) mayWait(wait time.Duration) {
	if wait <= 0 {
		return
	}
	connection := http.NewResponseController(c.writer)
	_ = connection.SetReadDeadline(time.Time{}) // the request was read
	_ = connection.SetWriteDeadline(time.Now().Add(wait + time.Minute))
}

// logged is a request as the logs keep it.
func logged(v any) string {
	text, _ := json.Marshal(v) // it came as JSON: can not fail
	for i := range string(text) {
		if i >= maxRequest {
			return string(text[:i])
		}
	}
	return string(text)
}

// heldView is a delivery that an agent holds. Its token is the hand-out's.
type heldView struct {
	posthouse.Delivery
	LeaseMillis int64 `json:"lease_ms" doc:"What is left of the lease, in milliseconds."`
}

// handouts lists what an agent holds, without the contents: a repeated claim has them.
func (a *api) handouts(c *call) (answer, error) {
	agent, err := a.agentOf(c)
	if err != nil {
		return answer{}, err
	}
	list, err := a.Store.HeldBy(c.Context(), agent.Tenant, agent.ID)
	if err != nil {
		return answer{}, err
	}
	views := make([]heldView, len(list))
	for i, d := range list {
		views[i] = heldView{d, a.leaseLeft(d.LeaseUntil)}
	}
	return pageOf(views, "")
}

// holdsBody names hand-outs.
type holdsBody struct {
	Handouts []holdBody `json:"handouts"`
	Reason   string     `json:"reason,omitempty" doc:"Of what is given back: why."`
}

type holdBody struct {
	Delivery string `json:"delivery"`
	Token    int64  `json:"token"`
}

// holdView says what became of a wish about one hand-out.
type holdView struct {
	Delivery    string    `json:"delivery"`
	OK          bool      `json:"ok"`
	Reason      string    `json:"reason,omitempty" doc:"Why not: stale, cancelled, expired or missing. What is not ok must not be sent."`
	LeaseUntil  time.Time `json:"lease_until,omitzero"`
	LeaseMillis int64     `json:"lease_ms,omitempty" doc:"What is left of the lease, in milliseconds."`
}

// holdsView has an answer for each hand-out, in order.
type holdsView struct {
	Results []holdView `json:"results"`
}

var holdsReader = bodyOf[holdsBody](oneTo(maxHolds, "handouts", "hand-outs"))

// holds reads which hand-outs a request is about.
func (c *call) holds() (list []work.Hold, reason string, err error) {
	in, err := loose(c, holdsReader)
	if err != nil {
		return nil, "", err
	}
	if len(in.Handouts) == 0 && !c.concerns("handouts") {
		c.refuse("handouts", "has 0 hand-outs: want 1 to %d", maxHolds)
	}
	for i, h := range in.Handouts {
		checkHold(c, fmt.Sprintf("handouts[%d].", i), h.Delivery, h.Token)
		list = append(list, work.Hold{Delivery: h.Delivery, Token: h.Token})
	}
	checkWord(c, "reason", in.Reason, 255)
	return list, in.Reason, c.wrong()
}

func checkHold(c *call, path, delivery string, token int64) {
	if !posthouse.ValidID(delivery) && !c.concerns(path+"delivery") {
		c.refuse(path+"delivery", "is %.60q: want a delivery's id, 26 letters and digits", delivery)
	}
	if token < 1 && !c.concerns(path+"token") {
		c.refuse(path+"token", "is %d: want the hand-out's token", token)
	}
}

func (a *api) startHandouts(c *call) (answer, error) {
	list, _, err := c.holds()
	if err != nil {
		return answer{}, err
	}
	return a.viewHolds(a.Engine.StartHandouts(c.Context(), c.key.Tenant, c.key.Agent, list))
}

func (a *api) renewHandouts(c *call) (answer, error) {
	list, _, err := c.holds()
	if err != nil {
		return answer{}, err
	}
	return a.viewHolds(a.Engine.RenewHandouts(c.Context(), c.key.Tenant, c.key.Agent, list))
}

func (a *api) giveBack(c *call) (answer, error) {
	list, reason, err := c.holds()
	if err == nil {
		reason, err = a.hushed(c, list, reason)
	}
	if err != nil {
		return answer{}, err
	}
	return a.viewHolds(a.Engine.GiveBack(c.Context(), c.key.Tenant, c.key.Agent, list, reason))
}

// hushed is why hand-outs are given back, without the agent's own words where one of their messages is sensitive: they
// may quote it, and are kept.
func (a *api) hushed(c *call, list []work.Hold, reason string) (string, error) {
	if reason == "" {
		return "", nil
	}
	of := make([]posthouse.Delivery, len(list))
	for i, h := range list {
		of[i].Message = posthouse.MessageID(h.Delivery)
	}
	messages, err := a.Store.MessagesOf(c.Context(), c.key.Tenant, of)
	for _, m := range messages {
		if m.Sensitive {
			reason = "hidden: the message is sensitive"
		}
	}
	return reason, err
}

func (a *api) viewHolds(list []engine.HoldAnswer, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	view := holdsView{make([]holdView, len(list))}
	for i, h := range list {
		view.Results[i] = holdView{Delivery: h.Delivery, OK: h.OK, Reason: h.Reason, LeaseUntil: h.LeaseUntil}
		if !h.LeaseUntil.IsZero() {
			view.Results[i].LeaseMillis = a.leaseLeft(h.LeaseUntil)
		}
	}
	return ok(view)
}

// leaseLeft is what is left of a lease, in milliseconds. Leases end by the database's clock: by that of a machine
// that is behind, a phone would go on with what another one is handed.
func (a *api) leaseLeft(until time.Time) int64 {
	return max(until.Sub(a.Engine.Now()).Milliseconds(), 0)
}
