package pull

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Claim asks for hand-outs on behalf of an agent.
type Claim struct {
	Agent posthouse.Agent
	// ClaimID makes a repeat find what was handed out, while it is held. Empty for none.
	ClaimID string
	Max     int
	// Capabilities are what the agent says it can do now, over those that are registered.
	Capabilities map[string]string
	// Wait is how long to wait where nothing is due, at most a minute.
	Wait time.Duration
	// Still is asked after each wait whether the agent may be handed anything yet: its key may be revoked. Nil for always.
	Still func() error
	// Started marks what is handed out as started: the agent's protocol has no word for it.
	Started bool
	// Unheard says that the agent has never reported anything: if it asks again without a word about what it was handed,
	// it does not read that.
	Unheard bool
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

// The words that say why an agent was handed nothing although there may be work.
const (
	IdlePaused   = "paused"
	IdleDraining = "draining"
	IdleLimited  = "limited"
	IdleChannel  = "channel_paused"
	IdleLacks    = "lacks_capabilities"
)

// Bounds of a claim. An agent that is handed nothing for a cause that lasts asks again after idleFor.
const (
	maxHandouts = 100
	maxWait     = time.Minute
	idleFor     = 10 * time.Second
)

// An agent's limits may be used up by the same claim, which another call makes at this moment: the claim is looked up
// again after firstTwin, and then after four times as long each time, up to longestTwin.
const (
	firstTwin   = 2 * time.Millisecond
	longestTwin = 128 * time.Millisecond
)

// HandOut hands deliveries to an agent, and waits for some where it is told to.
func (dk *Desk) HandOut(ctx context.Context, c Claim) (Claimed, error) {
	c.Max = min(max(c.Max, 1), maxHandouts)
	dk.roll.Saw(c.Agent.Tenant, c.Agent.ID, "")
	dk.roll.asks(&c)
	end := time.Now().Add(min(c.Wait, maxWait))
	for {
		var w *waiter
		if c.Wait > 0 {
			w = dk.lines.enter() // before the channels are looked at: one that is resumed meanwhile wakes us
		}
		o := dk.offer(c.present())
		if w != nil {
			dk.lines.queue(w, o.keys) // before the look: what comes in meanwhile wakes us
		}
		got, err := dk.handOut(ctx, c, o)
		if err != nil || len(got.Handouts) > 0 || got.Repeated || w == nil || got.After > time.Until(end) || len(o.keys) == 0 {
			dk.leave(w, len(got.Handouts) > 0)
			return got, err
		}
		on, err := dk.waitAtDesk(ctx, w, got.After, time.Until(end))
		if err != nil || !on {
			return got, err
		}
		if c.Still != nil {
			if err := c.Still(); err != nil {
				return Claimed{}, err
			}
		}
		if c.Agent, err = dk.o.HandOuts.Agent(ctx, c.Agent.Tenant, c.Agent.ID); err != nil {
			return Claimed{}, err // a person has changed or deleted it meanwhile
		}
	}
}

// present is the agent as it is now.
func (c *Claim) present() *posthouse.Agent {
	now := c.Agent
	now.Capabilities = maps.Clone(now.Capabilities)
	if now.Capabilities == nil {
		now.Capabilities = map[string]string{}
	}
	maps.Copy(now.Capabilities, c.Capabilities)
	return &now
}

// leave takes an agent from the desk. One that got something has the next one look: there may be more.
func (dk *Desk) leave(w *waiter, got bool) {
	if w == nil {
		return
	}
	if dk.lines.leave(w); got {
		dk.lines.wake(w.keys...)
	}
}

// waitAtDesk waits until an agent may look again: for as long as its limits hold it, or until it is woken. It reports
// whether there is time left.
func (dk *Desk) waitAtDesk(ctx context.Context, w *waiter, held, left time.Duration) (bool, error) {
	wake := w.wake
	if held > 0 {
		dk.lines.leave(w) // others can take what comes in
		wake = nil
	}
	defer dk.lines.leave(w)
	timer := time.NewTimer(cmp.Or(held, left))
	defer timer.Stop()
	select {
	case <-wake:
		return true, nil
	case <-timer.C:
		return held > 0, nil
	case <-dk.lines.closed:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-dk.o.Life.Stopping():
		return false, life.ErrStopping
	}
}

// offer is what an agent may be handed now.
type offer struct {
	keys     []state.Key
	channels []work.HandOutChannel
	reason   string // why there are none
}

// offer lists the channels that an agent may be handed something of, each with its priorities in the order of its turn.
func (dk *Desk) offer(a *posthouse.Agent) offer {
	switch a.State {
	case posthouse.AgentPaused:
		return offer{reason: IdlePaused}
	case posthouse.AgentDraining:
		return offer{reason: IdleDraining}
	}
	var o offer
	first := int(dk.turn.Add(1))
	for i := range a.Channels {
		r := dk.o.Channels.Channel(a.Tenant, a.Channels[(first+i)%len(a.Channels)])
		switch {
		case r == nil || !r.Settings.Pulled:
		case r.Stored.PausedAt(time.Now()):
			o.reason = IdleChannel
		case !able(a, r.Stored.Needs):
			o.reason = cmp.Or(o.reason, IdleLacks)
		default:
			o.keys = append(o.keys, r.Key)
			o.channels = append(o.channels, work.HandOutChannel{
				Name: r.Key.Channel, Lease: r.Settings.Timeout, Priorities: dk.order(r.Key), FairAfter: r.Settings.FairAfter,
			})
		}
	}
	if len(o.keys) > 0 {
		o.reason = ""
	}
	return o
}

// able reports whether an agent has what a channel needs.
func able(a *posthouse.Agent, needs map[string]string) bool {
	for name, want := range needs {
		if got, ok := a.Capabilities[name]; !ok || got != want {
			return false
		}
	}
	return true
}

// order is a channel's priorities as a claim asks them: one goes first by its weight, so that none starves.
func (dk *Desk) order(k state.Key) []posthouse.Priority {
	dk.mu.Lock()
	defer dk.mu.Unlock()
	if dk.credits[k] == nil {
		dk.credits[k] = state.Credits{}
	}
	all := func(posthouse.Priority) bool { return true }
	first := dk.credits[k].Next(all, all)
	order := []posthouse.Priority{first}
	for _, p := range posthouse.Priorities() {
		if p != first {
			order = append(order, p)
		}
	}
	return order
}

// handOut looks once.
func (dk *Desk) handOut(ctx context.Context, c Claim, o offer) (Claimed, error) {
	if err := dk.closed(); err != nil {
		return Claimed{}, err
	}
	idle := Claimed{Reason: o.reason}
	if len(o.keys) == 0 { // also where no channel of its is open here: it must not ask without a pause
		idle.After = idleFor
	}
	grant, err := dk.allow(ctx, &c, o)
	if err != nil {
		return idle, err
	}
	if grant.N == 0 && grant.Wait > 0 {
		idle.Reason, idle.After = IdleLimited, grant.Wait
	}
	if grant.N == 0 && c.ClaimID == "" {
		return idle, nil
	}
	if grant.N == 0 {
		o.channels = nil // what is still held of a claim that is repeated is handed out again
	}
	asked := time.Now()
	handed, err := dk.take(&c, o, grant, asked)
	for wait := firstTwin; err == nil && idle.Reason == IdleLimited && len(handed.Items) == 0 && !handed.Repeated && wait <= longestTwin && dk.o.Life.Pause(wait); wait *= 4 {
		asked, idle.After = time.Now(), max(idle.After-wait, time.Millisecond)
		handed, err = dk.take(&c, o, grant, asked)
	}
	if err != nil {
		return idle, err
	}
	if ctx.Err() != nil && c.ClaimID == "" {
		dk.unseen(handed)
		return idle, ctx.Err()
	}
	list := dk.handouts(dk.o.Life.Context(), handed, asked)
	if len(list) > 0 || handed.Repeated {
		idle = Claimed{}
	}
	idle.Handouts, idle.Repeated = list, handed.Repeated
	return idle, nil
}

// closed says why the desk hands nothing out, nil while it does.
func (dk *Desk) closed() error {
	if err := dk.o.Life.Away(); err != nil {
		return err
	}
	switch {
	case dk.o.Life.Stale():
		return posthouse.Errorf(posthouse.CodeUnavailable, "the database was restored or upgraded under this process: it hands nothing out until it is restarted")
	case dk.o.Life.Stopped():
		return life.ErrStopping
	}
	return nil
}

// take gets from the database what an agent is handed, and gives back the permits that it does not use.
func (dk *Desk) take(c *Claim, o offer, grant limit.Grant, asked time.Time) (work.HandedOut, error) {
	// Not the caller's context: a claim that commits after its caller left would hold deliveries that nobody sends.
	handed, err := dk.o.HandOuts.HandOut(dk.o.Life.Context(), asked, work.HandOut{
		Tenant: c.Agent.Tenant, Agent: c.Agent.ID, ClaimID: c.ClaimID, Channels: o.channels, Max: grant.N, Start: c.Started,
		Epoch: dk.o.Life.Epoch(), Request: state.Document(c.Request, state.MaxExcerpt),
	})
	switch {
	case posthouse.CodeOf(err) == posthouse.CodeStorageFull: // surely undone
		dk.permits.refund(&c.Agent, grant, grant.N)
	case err != nil: // a repeat may find what was done, and hand it out
	case handed.Repeated:
		dk.permits.refund(&c.Agent, grant, grant.N)
	default:
		dk.permits.refund(&c.Agent, grant, grant.N-len(handed.Items))
		dk.permits.keep(&c.Agent, grant, handed.Items)
	}
	return handed, err
}

// unseen puts back what was taken for an agent that has left.
func (dk *Desk) unseen(handed work.HandedOut) {
	back := make([]returned, len(handed.Items))
	for i, item := range handed.Items {
		back[i] = returned{item: item, reason: state.ReasonCallerLeft}
	}
	dk.putBack(back)
}
