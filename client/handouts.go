package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Handouts are what an agent fetches, sends and reports.
type Handouts struct{ api *caller }

// Claim is handed due deliveries, and waits for some where Wait says so. It needs the agent's own key. A
// lost answer is asked for again: nothing that was handed out is forgotten.
func (c Handouts) Claim(ctx context.Context, agent string, in wire.Claim) (wire.Claimed, error) {
	if in.ID == "" {
		in.ID = posthouse.NewID()
	}
	r, err := withBody(http.MethodPost, path("agents", agent, "claims"), in)
	if err != nil {
		return wire.Claimed{}, err
	}
	r.again, r.wait = true, in.Wait.Std()
	return call[wire.Claimed](ctx, c.api, r)
}

// Start says that hand-outs are being sent now. Only what is answered OK may be sent.
func (c Handouts) Start(ctx context.Context, agent string, holds ...wire.Hold) ([]wire.HoldResult, error) {
	return c.holds(ctx, agent, "start", "", holds)
}

// Renew makes leases last a whole time-out from now.
func (c Handouts) Renew(ctx context.Context, agent string, holds ...wire.Hold) ([]wire.HoldResult, error) {
	return c.holds(ctx, agent, "renew", "", holds)
}

// GiveBack returns hand-outs that were not started: others get them at once.
func (c Handouts) GiveBack(ctx context.Context, agent, reason string, holds ...wire.Hold) ([]wire.HoldResult, error) {
	return c.holds(ctx, agent, "give-back", reason, holds)
}

// holds calls what takes a list of hand-outs. Each may be repeated: a second time changes nothing.
func (c Handouts) holds(ctx context.Context, agent, what, reason string, holds []wire.Hold) ([]wire.HoldResult, error) {
	r, err := withBody(http.MethodPost, path("agents", agent, what), wire.Holds{Handouts: holds, Reason: reason})
	if err != nil {
		return nil, err
	}
	r.again = true
	out, err := call[wire.HoldResults](ctx, c.api, r)
	return out.Results, err
}

// errNoReportID is what a report without an id gets: a lost answer could not be asked for again.
var errNoReportID = errors.New("a report has no ReportID: posthouse.NewID() makes one")

// Report says what became of hand-outs, up to 500, and is answered report by report.
func (c Handouts) Report(ctx context.Context, agent string, reports ...posthouse.AgentReport) ([]wire.ReportAnswer, error) {
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
	out, err := call[wire.ReportAnswers](ctx, c.api, r)
	return out.Results, err
}

// errNoTextID is what a text without an id gets.
var errNoTextID = errors.New("a text has no ID: it is the phone's own, by which a repeat is known")

// Received hands in text messages that an agent got, up to 100: a word or a code acknowledges. A repeat with the same ID changes nothing.
func (c Handouts) Received(ctx context.Context, agent string, texts ...wire.ReceivedText) ([]wire.ReceivedResult, error) {
	for i := range texts {
		if texts[i].ID == "" {
			return nil, errNoTextID
		}
	}
	r, err := withBody(http.MethodPost, path("agents", agent, "received"), wire.ReceivedTexts{Texts: texts})
	if err != nil {
		return nil, err
	}
	r.again = true
	out, err := call[wire.ReceivedResults](ctx, c.api, r)
	return out.Results, err
}

// List lists what an agent holds, without the contents.
func (c Handouts) List(ctx context.Context, agent string) ([]wire.Held, error) {
	return whole[wire.Held](ctx, c.api, path("agents", agent, "handouts"))
}
