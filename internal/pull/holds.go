package pull

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// The words that say why a wish about a hand-out was not met.
const (
	HoldStale     = "stale"     // the agent does not hold it by this token any more
	HoldCancelled = "cancelled" // it is not to be sent any more
	HoldExpired   = "expired"   // its deadline has passed
	HoldMissing   = "missing"   // there is no such delivery
)

// Holds changes what agents hold.
type Holds struct {
	store    Held
	channels Channels
	life     *life.Life
	log      *slog.Logger
	desk     *Desk
	roll     *Roll
}

// reassignBatch is how many deliveries one transaction takes from an agent.
const reassignBatch = 200

// maxHolds bounds the hand-outs of one call.
const maxHolds = 500

// StartHandouts marks hand-outs as started (T8): from now on each of them may have left.
func (hs *Holds) StartHandouts(ctx context.Context, tenant, agent string, list []work.Hold) ([]HoldAnswer, error) {
	return hs.reviseHolds(ctx, tenant, agent, list, func(d posthouse.Delivery, now time.Time) (work.Change, bool) {
		return state.AfterStart(d, now), d.StartedAt.IsZero() && now.Before(d.LeaseUntil)
	}, func(d *posthouse.Delivery, now time.Time) bool {
		hs.desk.permits.spend([]work.Hold{{Delivery: d.ID, Token: d.Token}})
		return d.State == posthouse.Sending && !d.StartedAt.IsZero() && now.Before(d.LeaseUntil)
	})
}

// GiveBack returns hand-outs that have not left (T5): others get them at once.
func (hs *Holds) GiveBack(ctx context.Context, tenant, agent string, list []work.Hold, reason string) ([]HoldAnswer, error) {
	var back []state.Key
	var unsent []work.Hold
	answers, err := hs.reviseHolds(ctx, tenant, agent, list, func(d posthouse.Delivery, now time.Time) (work.Change, bool) {
		return state.AfterGivenBack(d, state.ReasonGivenBack, state.PlainRunes(reason, maxOutcomeError), now), true
	}, func(d *posthouse.Delivery, _ time.Time) bool {
		back = append(back, state.KeyOf(d))
		unsent = append(unsent, work.Hold{Delivery: d.ID, Token: d.Token})
		return true
	})
	hs.desk.permits.giveBack(unsent)
	hs.desk.lines.wake(back...)
	return answers, err
}

// reviseHolds changes the deliveries that an agent holds, and says of each whether that was so. met looks at a delivery
// that was held, as it is after.
func (hs *Holds) reviseHolds(ctx context.Context, tenant, agent string, list []work.Hold,
	change func(posthouse.Delivery, time.Time) (work.Change, bool), met func(*posthouse.Delivery, time.Time) bool,
) ([]HoldAnswer, error) {
	if err := hs.mayHold(tenant, agent, list); err != nil || len(list) == 0 {
		return nil, err
	}
	wished, ids := map[work.Hold]bool{}, make([]string, len(list)) // one may be named twice
	for i, h := range list {
		wished[h], ids[i] = true, h.Delivery
	}
	held, at := map[string]bool{}, time.Time{}
	after, err := hs.store.Revise(ctx, time.Now(), work.Selection{Tenant: tenant, IDs: ids}, func(now time.Time, found []posthouse.Delivery) []work.Change {
		held, at = map[string]bool{}, now
		var changes []work.Change
		for _, d := range found {
			if held[d.ID] = state.Holds(&d, agent, d.Token) && wished[work.Hold{Delivery: d.ID, Token: d.Token}]; !held[d.ID] {
				continue
			}
			if c, ok := change(d, now); ok {
				changes = append(changes, c)
			}
		}
		return changes
	})
	if err != nil {
		return nil, err
	}
	now := map[string]*posthouse.Delivery{}
	for i := range after {
		now[after[i].ID] = &after[i]
	}
	answers := make([]HoldAnswer, len(list))
	for i, h := range list {
		answers[i] = HoldAnswer{Delivery: h.Delivery, Reason: HoldMissing}
		if d := now[h.Delivery]; d != nil {
			answers[i].Reason = whyNot(d, h)
			if held[h.Delivery] && h.Token == d.Token && met(d, at) {
				answers[i] = HoldAnswer{Delivery: h.Delivery, OK: true, LeaseUntil: d.LeaseUntil}
			}
		}
	}
	return answers, nil
}

// mayHold notes that an agent was heard of, and refuses what is too much at once.
func (hs *Holds) mayHold(tenant, agent string, list []work.Hold) error {
	hs.roll.Saw(tenant, agent, "")
	if len(list) > maxHolds {
		return posthouse.Errorf(posthouse.CodeInvalid, "%d hand-outs are too many for one call: at most %d are allowed", len(list), maxHolds)
	}
	if hs.life.Stale() {
		return posthouse.Errorf(posthouse.CodeUnavailable, "the database was restored or upgraded under this process: nothing starts until it is restarted")
	}
	return nil
}

// whyNot says why an agent does not have a delivery any more. Who does not know its token learns nothing.
func whyNot(d *posthouse.Delivery, h work.Hold) string {
	switch {
	case h.Token != d.Token:
	case d.State == posthouse.Cancelled:
		return HoldCancelled
	case d.State == posthouse.Expired:
		return HoldExpired
	}
	return HoldStale
}

// RenewHandouts makes leases last longer.
func (hs *Holds) RenewHandouts(ctx context.Context, tenant, agent string, list []work.Hold) ([]HoldAnswer, error) {
	if err := hs.mayHold(tenant, agent, list); err != nil || len(list) == 0 {
		return nil, err
	}
	held, err := hs.store.HeldBy(ctx, tenant, agent)
	if err != nil {
		return nil, err
	}
	channels := map[work.Hold]string{}
	for i := range held {
		channels[work.Hold{Delivery: held[i].ID, Token: held[i].Token}] = held[i].Channel
	}
	byLease := map[time.Duration][]work.Hold{}
	for _, h := range list {
		if name, ok := channels[h]; ok {
			lease := hs.channels.Settings(state.Key{Tenant: tenant, Channel: name}).Timeout
			byLease[lease] = append(byLease[lease], h)
		}
	}
	until := map[work.Hold]time.Time{}
	for lease, part := range byLease {
		renewed, err := hs.store.Renew(ctx, time.Now(), tenant, work.Owner(agent), part, lease)
		if err != nil {
			return nil, err
		}
		ends := map[string]time.Time{}
		for _, r := range renewed {
			ends[r.Delivery] = r.LeaseUntil
		}
		for _, h := range part {
			if end, ok := ends[h.Delivery]; ok {
				until[h] = end
			}
		}
	}
	return hs.renewals(ctx, tenant, agent, list, until)
}

// renewals answers each wish to renew, and looks for why the others failed.
func (hs *Holds) renewals(ctx context.Context, tenant, agent string, list []work.Hold, until map[work.Hold]time.Time) ([]HoldAnswer, error) {
	answers := make([]HoldAnswer, len(list))
	var lost []work.Hold
	var at []int
	for i, h := range list {
		if end, ok := until[h]; ok {
			answers[i] = HoldAnswer{Delivery: h.Delivery, OK: true, LeaseUntil: end}
			continue
		}
		lost, at = append(lost, h), append(at, i)
	}
	why, err := hs.reviseHolds(ctx, tenant, agent, lost,
		func(d posthouse.Delivery, _ time.Time) (work.Change, bool) { return work.Change{}, false },
		func(*posthouse.Delivery, time.Time) bool { return false })
	for i := range why {
		answers[at[i]] = why[i]
	}
	return answers, err
}

// Reassign takes everything from an agent that is not coming back.
func (hs *Holds) Reassign(ctx context.Context, tenant, agent, reason string) (Reassigned, error) {
	held, err := hs.store.HeldBy(ctx, tenant, agent)
	if err != nil {
		return Reassigned{}, err
	}
	why := "taken from agent " + agent
	if reason = state.PlainRunes(reason, maxOutcomeError); reason != "" {
		why += ": " + reason
	}
	var sum Reassigned
	for len(held) > 0 {
		n := min(len(held), reassignBatch)
		part, err := hs.reassign(ctx, tenant, agent, why, held[:n])
		sum.Released, sum.Unknown, held = sum.Released+part.Released, sum.Unknown+part.Unknown, held[n:]
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

func (hs *Holds) reassign(ctx context.Context, tenant, agent, why string, held []posthouse.Delivery) (sum Reassigned, err error) {
	ids, past := make([]string, len(held)), hs.recall(ctx, held)
	for i := range held {
		ids[i] = held[i].ID
	}
	var back []state.Key
	_, err = hs.store.Revise(ctx, time.Now(), work.Selection{Tenant: tenant, IDs: ids}, func(now time.Time, found []posthouse.Delivery) []work.Change {
		sum, back = Reassigned{}, nil
		var changes []work.Change
		for _, d := range found {
			switch {
			case !state.Holds(&d, agent, 0):
				continue
			case d.StartedAt.IsZero():
				sum.Released++
				changes = append(changes, state.AfterGivenBack(d, state.ReasonReassigned, why, now))
			default:
				sum.Unknown++
				changes = append(changes, state.AfterTaken(hs.channels.Settings(state.KeyOf(&d)), d, past[work.Hold{Delivery: d.ID, Token: d.Token}], why, now))
			}
			back = append(back, state.KeyOf(&d))
		}
		return changes
	})
	if err != nil {
		return Reassigned{}, err
	}
	hs.desk.lines.wake(back...)
	return sum, nil
}

// recall reads what has failed of hand-outs before, of those that were started and where their channels' retry profiles ask. Where it
// cannot be read, all that failed counts.
func (hs *Holds) recall(ctx context.Context, held []posthouse.Delivery) map[work.Hold]work.Failures {
	var ids []string
	for i := range held {
		if d := &held[i]; !d.StartedAt.IsZero() && hs.channels.Settings(state.KeyOf(d)).Recalls(d, posthouse.ClassUnknown) {
			ids = append(ids, d.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	read, err := hs.store.Failures(ctx, ids)
	if err != nil {
		hs.log.Warn("what failed before cannot be read: all of it counts", "deliveries", len(ids), "error", err)
	}
	past := map[work.Hold]work.Failures{}
	for i := range held {
		past[work.Hold{Delivery: held[i].ID, Token: held[i].Token}] = read[held[i].ID] // with another token it has failed since
	}
	return past
}
