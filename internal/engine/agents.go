package engine

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Claim asks for hand-outs on behalf of an agent.
type Claim struct {
	Agent posthouse.Agent
	// ClaimID makes a repeat find what was handed out, while it is held. Empty for none.
	ClaimID string
	Max     int
	// Wait is how long to wait where nothing is due, at most a minute.
	Wait time.Duration
	// Started marks what is handed out as started: the agent's protocol has no word for it.
	Started bool
	// Request is what the agent asked with, for the log.
	Request string
}

// Claimed is what an agent was handed.
type Claimed struct {
	Handouts []posthouse.Handout
	Repeated bool
	// Reason is why there is nothing although there may be work: paused, draining, limited, channel_paused,
	// lacks_capabilities. After is when to ask again, 0 for at once.
	Reason string
	After  time.Duration
}

// HoldAnswer says what became of a wish about one hand-out.
type HoldAnswer struct {
	Delivery string
	OK       bool
	// Reason is why not: stale, cancelled, expired, missing.
	Reason     string
	LeaseUntil time.Time
}

// Reassigned is what became of the hand-outs that were taken from an agent.
type Reassigned struct {
	Released int // not started: others get them
	Unknown  int // started: the channel's policy decides
}

var errUnbuilt = errors.New("not built yet")

// HandOut hands deliveries to an agent, and waits for some where it is told to.
func (e *Engine) HandOut(ctx context.Context, c Claim) (Claimed, error) { return Claimed{}, errUnbuilt }

// StartHandouts marks hand-outs as started (T8): from now on each of them may have left.
func (e *Engine) StartHandouts(ctx context.Context, tenant, agent string, holds []work.Hold) ([]HoldAnswer, error) {
	return nil, errUnbuilt
}

// RenewHandouts makes leases last longer.
func (e *Engine) RenewHandouts(ctx context.Context, tenant, agent string, holds []work.Hold) ([]HoldAnswer, error) {
	return nil, errUnbuilt
}

// GiveBack returns hand-outs that have not left (T5): others get them at once.
func (e *Engine) GiveBack(ctx context.Context, tenant, agent string, holds []work.Hold, reason string) ([]HoldAnswer, error) {
	return nil, errUnbuilt
}

// ReportHandouts records what agents say. A Token of 0 means whichever the agent holds: its protocol has none.
func (e *Engine) ReportHandouts(ctx context.Context, reports []work.Report) ([]work.Report, error) {
	return nil, errUnbuilt
}

// Reassign takes everything from an agent that is not coming back.
func (e *Engine) Reassign(ctx context.Context, tenant, agent, reason string) (Reassigned, error) {
	return Reassigned{}, errUnbuilt
}

// RescueNow looks for lost leases at once, and says how many it found.
func (e *Engine) RescueNow(ctx context.Context) (int, error) { return 0, errUnbuilt }
