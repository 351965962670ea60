package client

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// Handouts are what an agent fetches, sends and reports.
type Handouts struct{ api *caller }

// Claim is what an agent asks for.
type Claim struct {
	// ID makes a repeat find what the first one handed out, while it is held. Defaults to a new one.
	ID string `json:"claim_id"`
	// Max is 1 to 100. Defaults to 10.
	Max int `json:"max,omitempty"`
	// Wait is how long to wait where nothing is due, at most 60s. Defaults to 0.
	Wait posthouse.Duration `json:"wait,omitempty"`
	// Capabilities are what the agent can do now, over what is registered.
	Capabilities map[string]string `json:"capabilities,omitempty"`
	// App is what the program says of itself, such as sms-app/2.1.
	App string `json:"app,omitempty"`
}

// Claimed is what an agent was handed.
type Claimed struct {
	Handouts []posthouse.Handout `json:"handouts"`
	Repeated bool                `json:"repeated,omitempty"`
	// Reason is why there is nothing although there may be work, such as paused or limited.
	Reason string `json:"reason,omitempty"`
	// RetryAfterMillis is when to ask again, in milliseconds, 0 for at once.
	RetryAfterMillis int64     `json:"retry_after_ms,omitempty"`
	ServerTime       time.Time `json:"server_time"`
}

// RetryAfter is when to ask again.
func (c Claimed) RetryAfter() time.Duration {
	return time.Duration(c.RetryAfterMillis) * time.Millisecond
}

// Hold names a hand-out by its delivery and token.
type Hold struct {
	Delivery string `json:"delivery"`
	Token    int64  `json:"token"`
}

// HoldResult says what became of a wish about one hand-out. What is not OK must not be sent.
type HoldResult struct {
	Delivery string `json:"delivery"`
	OK       bool   `json:"ok"`
	// Reason is why not: stale, cancelled, expired or missing.
	Reason     string    `json:"reason,omitempty"`
	LeaseUntil time.Time `json:"lease_until,omitzero"`
	// LeaseMillis is what is left of the lease, for agents whose clock is wrong.
	LeaseMillis int64 `json:"lease_ms,omitempty"`
}

// ReportAnswer answers one report.
type ReportAnswer struct {
	ReportID string                 `json:"report_id"`
	Result   posthouse.ReportResult `json:"result"`
	State    posthouse.State        `json:"state,omitempty"`
	Repeated bool                   `json:"repeated,omitempty"`
}

// Held is a delivery that an agent holds. Its Token is the hand-out's.
type Held struct {
	posthouse.Delivery
	LeaseMillis int64 `json:"lease_ms"`
}

// Claim is handed due deliveries, and waits for some where Wait says so. It needs the agent's own key. A
// lost answer is asked for again: nothing that was handed out is forgotten.
func (c Handouts) Claim(ctx context.Context, agent string, in Claim) (Claimed, error) {
	if in.ID == "" {
		in.ID = posthouse.NewID()
	}
	r, err := withBody(http.MethodPost, path("agents", agent, "claims"), in)
	if err != nil {
		return Claimed{}, err
	}
	r.again, r.wait = true, in.Wait.Std()
	return call[Claimed](ctx, c.api, r)
}

// Start says that hand-outs are being sent now. Only what is answered OK may be sent.
func (c Handouts) Start(ctx context.Context, agent string, holds ...Hold) ([]HoldResult, error) {
	return c.holds(ctx, agent, "start", "", holds)
}

// Renew makes leases last a whole time-out from now.
func (c Handouts) Renew(ctx context.Context, agent string, holds ...Hold) ([]HoldResult, error) {
	return c.holds(ctx, agent, "renew", "", holds)
}

// GiveBack returns hand-outs that were not started: others get them at once.
func (c Handouts) GiveBack(ctx context.Context, agent, reason string, holds ...Hold) ([]HoldResult, error) {
	return c.holds(ctx, agent, "give-back", reason, holds)
}

// holds calls what takes a list of hand-outs. Each may be repeated: a second time changes nothing.
func (c Handouts) holds(ctx context.Context, agent, what, reason string, holds []Hold) ([]HoldResult, error) {
	r, err := withBody(http.MethodPost, path("agents", agent, what), struct {
		Handouts []Hold `json:"handouts"`
		Reason   string `json:"reason,omitempty"`
	}{holds, reason})
	if err != nil {
		return nil, err
	}
	r.again = true
	out, err := call[struct{ Results []HoldResult }](ctx, c.api, r)
	return out.Results, err
}

// errNoReportID is what a report without an id gets: a lost answer could not be asked for again.
var errNoReportID = errors.New("a report has no ReportID: posthouse.NewID() makes one")

// Report says what became of hand-outs, up to 500, and is answered report by report.
func (c Handouts) Report(ctx context.Context, agent string, reports ...posthouse.AgentReport) ([]ReportAnswer, error) {
	for _, r := range reports {
		if r.ReportID == "" {
			return nil, errNoReportID
		}
	}
	r, err := withBody(http.MethodPost, path("agents", agent, "report"), map[string][]posthouse.AgentReport{"reports": reports})
	if err != nil {
		return nil, err
	}
	r.again = true
	out, err := call[struct{ Results []ReportAnswer }](ctx, c.api, r)
	return out.Results, err
}

// List lists what an agent holds, without the contents.
func (c Handouts) List(ctx context.Context, agent string) ([]Held, error) {
	page, err := get[Page[Held]](ctx, c.api, path("agents", agent, "handouts"), nil)
	return page.Items, err
}
