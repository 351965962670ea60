package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/usher"
	"github.com/posthouse/posthouse/internal/work"
)

// Explainer says why a delivery is where it is.
type Explainer struct {
	routes  *Routes
	lines   usher.Lines
	depths  Depths
	limiter Limiter
	life    *life.Life
}

// Explanation says why a delivery is where it is.
type Explanation struct {
	Delivery string          `json:"delivery"`
	State    posthouse.State `json:"state"`
	Summary  string          `json:"summary"`
	// Waits are all the causes that hold it, in the order in which a send would meet them: its own time and turn, then its
	// channel, its accounts, and the limits.
	Waits []Wait `json:"waits"`
}

// Wait is one cause that holds a delivery. Until is zero where only a person or an event ends it.
type Wait struct {
	Cause  string    `json:"cause"`
	Detail string    `json:"detail"`
	Until  time.Time `json:"until,omitzero"`
}

// Explain says why a delivery waits and until when, or why it ended as it did.
func (ex *Explainer) Explain(ctx context.Context, d posthouse.Delivery) Explanation {
	x := Explanation{Delivery: d.ID, State: d.State, Waits: []Wait{}}
	switch {
	case d.State == posthouse.Pending && d.Pulled:
		x.Waits = ex.waits(ctx, d)
		x.Summary = waiting(x.Waits)
		if len(x.Waits) == 0 {
			x.Summary = "It is due: the next agent that asks and may have it is handed it."
		}
	case d.State == posthouse.Sending && d.Pulled:
		x.Summary, x.Waits = heldBy(d), append(x.Waits, Wait{"lease", "without a report by then another agent is handed it, or its outcome is unknown", d.LeaseUntil})
	case d.State == posthouse.Pending:
		x.Waits = ex.waits(ctx, d)
		x.Summary = waiting(x.Waits)
		if len(x.Waits) == 0 {
			x.Summary = "It is due and starts with the next claim."
		}
	case d.State == posthouse.Sending:
		x.Summary = fmt.Sprintf("Attempt %d is under way in %s.", d.Attempts, d.LeaseOwner)
		x.Waits = append(x.Waits, Wait{"lease", "without a result by then its outcome is unknown", d.LeaseUntil})
	case d.State == posthouse.Unknown:
		x.Summary = unknownSummary(&d)
		x.Waits = append(x.Waits, unknownWait(d))
	case d.State == posthouse.Quarantined:
		x.Summary = "It was set aside: " + cmp.Or(d.Error, d.Reason) + "."
		x.Waits = append(x.Waits, Wait{Cause: "operator", Detail: "a person lets it go on or discards it (resolve)"})
	case !d.State.Valid():
		x.Summary = "Its state is not known to this binary: nothing will move it until a person sets it right."
	default:
		x.Summary = "It is settled: " + string(d.State)
		why := cmp.Or(d.Error, d.Reason)
		if d.State == posthouse.Sent || d.State == posthouse.Delivered {
			why = d.Reason // an error before the success explains nothing
		}
		if why != "" {
			x.Summary += " (" + why + ")"
		}
		x.Summary += "."
	}
	return x
}

// waiting says in a sentence what holds a delivery for longest, and what else does.
func waiting(list []Wait) string {
	if len(list) == 0 {
		return "It waits."
	}
	longest := list[0]
	for _, w := range list[1:] {
		if !longest.Until.IsZero() && (w.Until.IsZero() || w.Until.After(longest.Until)) {
			longest = w
		}
	}
	text := "It waits: " + strings.TrimSuffix(longest.Detail, ".")
	if n := len(list) - 1; n > 0 {
		text += fmt.Sprintf("; and for %d more", n)
	}
	return text + "."
}

// heldBy says what an agent does with a delivery.
func heldBy(d posthouse.Delivery) string {
	if d.StartedAt.IsZero() {
		return fmt.Sprintf("The agent %s was handed it and has not started.", work.AgentOf(d.LeaseOwner))
	}
	return fmt.Sprintf("Attempt %d is under way at the agent %s.", d.Attempts, work.AgentOf(d.LeaseOwner))
}

// unknownSummary tells an attempt of ours from one that another copy of the database may have made.
func unknownSummary(d *posthouse.Delivery) string {
	if d.Reason == work.ReasonEpochHold {
		return fmt.Sprintf("It was waiting or under way, after %d attempts, when a new epoch of the database began: what ran on its other copy may have sent it, and nobody knows.", d.Attempts)
	}
	return "An attempt began and nobody knows whether it arrived: " + cmp.Or(d.Error, d.Reason) + "."
}

func unknownWait(d posthouse.Delivery) Wait {
	switch {
	case d.OnUnknown == posthouse.Query && !d.DueAt.IsZero():
		return Wait{"query", "the provider is asked", d.DueAt}
	case !d.DueAt.IsZero():
		return Wait{"hold", "it counts as failed then", d.DueAt}
	}
	return Wait{Cause: "operator", Detail: "a receipt or a person decides (resolve)"}
}

// waits lists what holds a pending delivery.
func (ex *Explainer) waits(ctx context.Context, d posthouse.Delivery) []Wait {
	out := []Wait{}
	if d.DueAt.After(ex.life.Now()) {
		cause, detail := "scheduled", "not_before has not come"
		if d.Attempts > 0 {
			cause, detail = "backoff", fmt.Sprintf("the next try after %d failures: %s", d.Tries, cmp.Or(d.Error, d.Reason))
		} else if tier := state.Waits(d.Reason); tier != "" {
			cause, detail = "limit", fmt.Sprintf("the windows of its %s are full", tier)
		} else if d.Reason != "" {
			cause, detail = "rule", "a rule puts it off: "+d.Reason
		}
		out = append(out, Wait{cause, detail, d.DueAt})
	}
	if d.Line != "" {
		out = append(out, ex.inLine(ctx, &d))
	}
	r := ex.routes.route(d.Tenant, d.Channel)
	if r == nil {
		return append(out, Wait{Cause: "channel", Detail: "its channel is not open in this process; /readyz says why"})
	}
	if r.Stored.PausedAt(time.Now()) {
		out = append(out, Wait{"paused", cmp.Or(r.Stored.PauseReason, "the channel is paused"+whoResumes(r.Stored.PausedUntil)), r.Stored.PausedUntil})
	}
	if ex.life.Stale() {
		out = append(out, Wait{Cause: "epoch", Detail: "the database was restored under this process: restart it"})
	}
	out = append(out, noneToSend(r, &d)...)
	for _, g := range r.refused(&d) {
		out = append(out, shut(g))
	}
	return append(out, ex.halts(ctx, r, &d, time.Now())...)
}

// inLine says behind what a delivery stands in the line of its ordering key.
func (ex *Explainer) inLine(ctx context.Context, d *posthouse.Delivery) Wait {
	holder, err := ex.lines.Holder(ctx, work.LineKey{Tenant: d.Tenant, Channel: d.Channel, Name: d.Line})
	switch {
	case err != nil:
		return Wait{Cause: "order", Detail: "it waits for those before it with the same ordering_key; the database does not say now which these are"}
	case holder == "":
		return Wait{Cause: "order", Detail: "it waits for its turn among those with the same ordering_key"}
	}
	return Wait{Cause: "order", Detail: "the message " + holder + ", which has the same ordering_key, is not settled yet"}
}

// shut says why a gate is closed.
func shut(g work.Gate) Wait {
	if g.Class == posthouse.ClassLocal {
		return Wait{"machine", fmt.Sprintf("this process sends nothing for the moment (%s): %s", g.Code, g.Error), g.Until}
	}
	account := "the account"
	if g.Account != "" {
		account += " " + g.Account
	}
	cause := "account"
	if g.Class == posthouse.ClassBlocked {
		cause = "blocked"
	}
	return Wait{cause, fmt.Sprintf("%s (%s %s): %s", state.Refusal(g.Class, account), g.Class, g.Code, g.Error), g.Until}
}

// halts lists what halts the whole channel for a moment: its period, its limits, its slots.
func (ex *Explainer) halts(ctx context.Context, r *route, d *posthouse.Delivery, now time.Time) []Wait {
	var out []Wait
	if r.Settings.Pulled {
		return out // agents have limits of their own
	}
	r.mu.Lock()
	nextRun, inflight, learned := r.nextRun, r.inflight, r.calls.most.Learned()
	if r.fleet == nil && learned == 0 {
		learned = r.only.calls.most.Learned()
	}
	crowded := learned > 0 && r.calls.n >= learned
	r.mu.Unlock()
	if r.Settings.Every > 0 && nextRun.After(now) {
		out = append(out, Wait{"run", fmt.Sprintf("%s sends every %s", r.Settings.Job, posthouse.Duration(r.Settings.Every)), nextRun})
	}
	if w, shaped := ex.shaped(ctx, r, d, now); shaped {
		out = append(out, w)
	}
	if w, full := ex.full(ctx, r, d, now); full {
		out = append(out, w)
	}
	if w, slow := paced(r, d, now); slow {
		out = append(out, w)
	}
	if crowded {
		out = append(out, Wait{Cause: "inflight", Detail: fmt.Sprintf("%d calls are under way, and the provider bears no more at once", learned)})
	}
	if r.fleet == nil && inflight >= r.Settings.MaxInflight {
		out = append(out, Wait{Cause: "inflight", Detail: fmt.Sprintf("all %d slots of this process are in use", r.Settings.MaxInflight)})
	}
	return out
}

// mostPeeked bounds the accounts whose windows are looked at for one explanation.
const mostPeeked = 32

// full says which window holds a delivery, where one does: by the account that it could leave by first.
func (ex *Explainer) full(ctx context.Context, r *route, d *posthouse.Delivery, now time.Time) (first Wait, full bool) {
	of := r.Settings.Tiers.OfRecipient(r.Key, d)
	crew := crewOf(r, d)
	for _, a := range crew[:min(len(crew), mostPeeked)] {
		tiers := append(r.tiers(a.Name), of...)
		if len(tiers) == 0 {
			return first, false
		}
		bounds := make([]limit.Bound, len(tiers))
		for i := range tiers {
			bounds[i] = tiers[i].Bound
		}
		g, err := ex.limiter.Peek(ctx, bounds)
		if err != nil || g.N > 0 {
			return first, false
		}
		if until := now.Add(g.Wait); !full || until.Before(first.Until) {
			first, full = Wait{"limit", fmt.Sprintf("the window of %d in %s of its %s is full", g.Held.Max, g.Held.Per, inWords(tiers, g.Key, a.Name)), until}, true
		}
	}
	return first, full
}

// inWords is what a key counts, in words.
func inWords(tiers []state.Tier, key, account string) string {
	for _, t := range tiers {
		if t.Key == key && t.Name == state.TierAccount && account != "" {
			return t.Name + " " + account
		} else if t.Key == key {
			return t.Name
		}
	}
	return "channel"
}

// paced says that the rates of all accounts that may send a delivery let nothing start, where they do: by the one that may
// first.
func paced(r *route, d *posthouse.Delivery, now time.Time) (first Wait, all bool) {
	if !r.rated {
		return first, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.crew(work.PinOf(d)) {
		calls, next := tempo{r}.mayCall(a, now)
		if calls > 0 || a.pace == nil {
			return first, false
		}
		if all && !next.Before(first.Until) {
			continue
		}
		f := a.pace.Factors(now)
		first, all = Wait{"rate", fmt.Sprintf("its account may make %.3g calls a second: base %.3g × health %.2f × success %.2f × load %.2f × time %.2f (%s since %s)",
			f.Rate, f.Base, f.Health, f.Success, f.Load, f.Time, f.Reason, f.Since.UTC().Format(time.RFC3339)), next}, true
	}
	return first, all
}

// crewOf are the accounts that may send a delivery.
func crewOf(r *route, d *posthouse.Delivery) []*account {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.crew(work.PinOf(d))
}

// noneToSend says why no account of those that may send a delivery can, where no provider is the cause: they were removed, are
// paused, or cannot be opened.
func noneToSend(r *route, d *posthouse.Delivery) []Wait {
	if r.fleet == nil {
		return nil
	}
	crew := crewOf(r, d)
	switch name := d.Account; {
	case len(crew) > 0:
	case d.Pinned:
		return []Wait{{Cause: "account", Detail: fmt.Sprintf("its account %s was removed: set one of its name up again, let the channel fail over, or cancel it", name)}}
	case d.Pool != "":
		return []Wait{{Cause: "account", Detail: fmt.Sprintf("no account is in its pool %s any more: put one into it, or cancel it", d.Pool)}}
	default:
		return []Wait{{Cause: "account", Detail: "the channel has no account yet"}}
	}
	now := time.Now()
	var out []Wait
	for _, a := range crew {
		switch {
		case a.is.Err != nil:
			out = append(out, Wait{Cause: "account", Detail: fmt.Sprintf("the account %s cannot be opened: %v", a.Name, a.is.Err)})
		case a.is.PausedAt(now):
			out = append(out, Wait{"paused", fmt.Sprintf("the account %s is paused: %s", a.Name, cmp.Or(a.is.PauseReason, "somebody resumes it")), a.is.PausedUntil})
		default:
			return nil // it can go, or its provider says until when not
		}
	}
	return out[:min(len(out), mostPeeked)]
}

// mostAhead bounds what is counted for one explanation.
const mostAhead = 100_000

// shaped says that a delivery which is due waits for the tokens of its priority, where it does: until those before it in its
// lane have had theirs. What its tenant has of that priority on other channels makes it longer.
func (ex *Explainer) shaped(ctx context.Context, r *route, d *posthouse.Delivery, now time.Time) (w Wait, waits bool) {
	s := r.shapes.shaper
	key := r.shapes.key(d.Priority)
	if !s.Shapes(key) || d.DueAt.After(ex.life.Now()) {
		return w, false
	}
	lane := work.Lane{Tenant: d.Tenant, Channel: d.Channel, Priority: d.Priority, Pin: work.PinOf(d)}
	n, err := ex.depths.Ahead(ctx, lane, d.DueAt, d.ID, mostAhead)
	if err != nil {
		n = 0 // the rest of the explanation holds
	}
	delay, of := s.Delay(now, key, n)
	if delay == 0 {
		return w, false
	}
	before := fmt.Sprint(n)
	if n >= mostAhead {
		before += " or more"
	}
	return Wait{"shape", fmt.Sprintf("%.6g a second of priority %s may begin, and %s that are due stand before it", of.Rate, d.Priority, before), now.Add(delay)}, true
}

// whoResumes ends a sentence that says that something is paused.
func whoResumes(until time.Time) string {
	if until.IsZero() {
		return " until somebody resumes it"
	}
	return ", and goes on by itself"
}
