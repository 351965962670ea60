package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/admission"
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
	// collection is what has gathered a delivery. Nil where nothing gathers.
	collection func(ctx context.Context, tenant, id string) (posthouse.Collection, error)
	others     Others // nil where no other delivery is read
}

// Others are the deliveries that say more of one that is explained.
type Others interface {
	Delivery(ctx context.Context, tenant, id string) (posthouse.Delivery, error)
	// Replays are those of a message that repeat others of it, in their order.
	Replays(ctx context.Context, tenant, message string) ([]posthouse.Delivery, error)
}

// Explanation says why a delivery is where it is.
type Explanation struct {
	Delivery string          `json:"delivery"`
	State    posthouse.State `json:"state"`
	Summary  string          `json:"summary"`
	// Waits are all the causes that hold it, in the order in which a send would meet them: its own time and turn, then the stages of
	// its channel's admission.
	Waits []Wait `json:"waits"`
	// Notes say what else became of it: the text of a digest in which it went, and the delivery by which it was sent again.
	Notes []string `json:"notes,omitempty"`
}

// Wait is one cause that holds a delivery.
type Wait = admission.Wait

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
		x.Summary, x.Waits = heldBy(d), append(x.Waits, Wait{Cause: "lease", Detail: "without a report by then another agent is handed it, or its outcome is unknown", Until: d.LeaseUntil})
	case d.State == posthouse.Pending:
		x.Waits = ex.waits(ctx, d)
		x.Summary = waiting(x.Waits)
		if len(x.Waits) == 0 {
			x.Summary = "It is due and starts with the next claim."
		}
	case d.State == posthouse.Sending:
		x.Summary = fmt.Sprintf("Attempt %d is under way in %s.", d.Attempts, d.LeaseOwner)
		x.Waits = append(x.Waits, Wait{Cause: "lease", Detail: "without a result by then its outcome is unknown", Until: d.LeaseUntil})
	case d.State == posthouse.Unknown:
		x.Summary = unknownSummary(&d)
		wait := unknownWait(d)
		if d.Gathered && d.Reason != work.ReasonEpochHold { // a restore holds it for itself
			wait = ex.gathered(ctx, &d)
		}
		x.Waits = append(x.Waits, wait)
	case d.State == posthouse.Quarantined:
		x.Summary = "It was quarantined: " + cmp.Or(d.Error, d.Reason) + "."
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
	if d.State != posthouse.Pending && d.State != posthouse.Sending {
		x.Notes = ex.notes(ctx, &d)
	}
	return x
}

// notes say in which text of a digest a delivery went, and by which delivery it, or that text, was sent again. What cannot be read is left out.
func (ex *Explainer) notes(ctx context.Context, d *posthouse.Delivery) (list []string) {
	told := d.ID
	if d.Collection != "" && ex.collection != nil {
		if c, err := ex.collection(ctx, d.Tenant, d.Collection); err == nil && c.Shares(d.ID) {
			told = c.Delivery
			list = append(list, fmt.Sprintf("It went in the text of the delivery %s, which the digest %s has made of %d messages.", c.Delivery, c.Digest, c.Together()))
		}
	}
	if ex.others == nil {
		return list
	}
	replays, err := ex.others.Replays(ctx, d.Tenant, posthouse.MessageID(told))
	if err != nil {
		return list
	}
	last := posthouse.Delivery{ID: told}
	for _, one := range replays { // one may repeat a replay
		if one.ReplayOf == last.ID || one.ReplayOf == told {
			last = one
		}
	}
	switch {
	case last.ID == told:
	case told == d.ID:
		list = append(list, fmt.Sprintf("It was sent again by the delivery %s, which is %s.", last.ID, last.State))
	default:
		list = append(list, fmt.Sprintf("That text was sent again by the delivery %s, which is %s.", last.ID, last.State))
	}
	return list
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
		return Wait{Cause: "query", Detail: "the provider is asked", Until: d.DueAt}
	case !d.DueAt.IsZero():
		return Wait{Cause: "hold", Detail: "it counts as failed then", Until: d.DueAt}
	}
	return Wait{Cause: "operator", Detail: "a receipt or a person decides (resolve)"}
}

// waits lists what holds a pending delivery.
func (ex *Explainer) waits(ctx context.Context, d posthouse.Delivery) []Wait {
	out := []Wait{}
	if d.Gathered {
		return append(out, ex.gatheredWaits(ctx, &d)...)
	}
	if d.DueAt.After(ex.life.Now()) {
		cause, detail := "scheduled", "not_before has not come"
		if d.Reason == state.ReasonQuietHours {
			cause, detail = "quiet_hours", "its recipient has quiet hours"
		} else if d.Reason == state.ReasonCapped {
			cause, detail = "cap", "its recipient has got all that a cap allows for now"
		} else if d.Attempts > 0 {
			cause, detail = "backoff", fmt.Sprintf("the next try after %d failures: %s", d.Tries, cmp.Or(d.Error, d.Reason))
			if d.Tries == 1 {
				detail = "the next try after 1 failure: " + cmp.Or(d.Error, d.Reason)
			}
		} else if tier := state.Waits(d.Reason); tier != "" {
			cause, detail = "limit", fmt.Sprintf("the windows of its %s are full", tier)
		} else if d.Reason != "" {
			cause, detail = "rule", "a rule puts it off: "+d.Reason
		}
		out = append(out, Wait{Cause: cause, Detail: detail, Until: d.DueAt})
	}
	if d.Line != "" {
		out = append(out, ex.inLine(ctx, &d))
	}
	r := ex.routes.route(d.Tenant, d.Channel)
	if r == nil {
		return append(out, Wait{Cause: "channel", Detail: "its channel is not open in this process; /readyz says why"})
	}
	if r.Settings.Pulled {
		return append(out, r.admission.Shut(time.Now(), ex.question(ctx, &d))...) // agents have limits of their own
	}
	return append(out, r.admission.Why(time.Now(), ex.question(ctx, &d))...)
}

// question asks a channel's stages about a delivery.
func (ex *Explainer) question(ctx context.Context, d *posthouse.Delivery) *admission.Question {
	return &admission.Question{
		Delivery: d, Due: !d.DueAt.After(ex.life.Now()),
		Ahead: func(most int) int {
			lane := work.Lane{Tenant: d.Tenant, Channel: d.Channel, Priority: d.Priority, Pin: work.PinOf(d)}
			n, err := ex.depths.Ahead(ctx, lane, d.DueAt, d.ID, most)
			if err != nil {
				return 0 // the rest of the explanation holds
			}
			return n
		},
		Peek: func(bounds []limit.Bound) (limit.Grant, error) { return ex.limiter.Peek(ctx, bounds) },
	}
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

// gatheredWaits are what holds a delivery that leaves with others: its digest, and what holds the delivery of their text, where there is one.
func (ex *Explainer) gatheredWaits(ctx context.Context, d *posthouse.Delivery) []Wait {
	list := []Wait{ex.gathered(ctx, d)}
	if ex.collection == nil || ex.others == nil {
		return list
	}
	c, err := ex.collection(ctx, d.Tenant, d.Collection)
	if err != nil || c.Delivery == "" {
		return list
	}
	text, err := ex.others.Delivery(ctx, d.Tenant, c.Delivery)
	if err != nil || text.State != posthouse.Pending || text.Gathered {
		return list
	}
	for _, w := range ex.waits(ctx, text) {
		if list = append(list, w); w.Until.After(list[0].Until) {
			list[0].Until = w.Until
		}
	}
	return list
}

// gathered says with what a delivery leaves, and when.
func (ex *Explainer) gathered(ctx context.Context, d *posthouse.Delivery) Wait {
	if ex.collection == nil {
		return Wait{Cause: "digest", Detail: "its digest does not say now when it leaves"}
	}
	c, err := ex.collection(ctx, d.Tenant, d.Collection)
	switch {
	case err != nil:
		return Wait{Cause: "digest", Detail: "its digest does not say now when it leaves"}
	case c.State == posthouse.CollectionWaiting && c.Error != "":
		return Wait{Cause: "digest", Detail: fmt.Sprintf("the digest %s gathers it with others, and could not make their text: %s", c.Digest, c.Error), Until: c.LeavesAt}
	case c.State == posthouse.CollectionWaiting:
		return Wait{Cause: "digest", Detail: fmt.Sprintf("the digest %s gathers it with others", c.Digest), Until: c.LeavesAt}
	case d.State == posthouse.Unknown:
		return Wait{Cause: "digest", Detail: fmt.Sprintf("it shares what becomes of the delivery %s, which the digest %s has made of it and others: decide of that one", c.Delivery, c.Digest)}
	}
	return Wait{Cause: "digest", Detail: fmt.Sprintf("it leaves with the delivery %s, which the digest %s has made of it and others", c.Delivery, c.Digest)}
}
