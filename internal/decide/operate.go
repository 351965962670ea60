package decide

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Reviser locks deliveries and decides on them.
type Reviser interface {
	Revise(ctx context.Context, now time.Time, sel work.Selection,
		decide func(now time.Time, found []posthouse.Delivery) []work.Change) ([]posthouse.Delivery, error)
}

// Operator does what people ask for: it withdraws deliveries, and takes their word on those that are unknown.
type Operator struct {
	Queue Reviser
	// Rouse is told of channels that may have something due now.
	Rouse func(k state.Key, p posthouse.Priority, pin work.Pin)
}

// Cancellation answers one delivery's cancel: cancelled (no attempt will start), too_late (one has
// started; no further one will), or already_final.
type Cancellation struct {
	Delivery string          `json:"delivery"`
	User     string          `json:"user,omitempty"`
	Result   string          `json:"result"`
	State    posthouse.State `json:"state"`
}

// The results of a cancel.
const (
	CancelDone  = "cancelled"
	CancelLate  = "too_late"
	CancelFinal = "already_final"
)

// Cancel withdraws deliveries of a tenant. Ids of others are not found and left out.
func (op Operator) Cancel(ctx context.Context, tenant string, ids []string) ([]Cancellation, error) {
	var before map[string]bool // open before
	after, err := op.Queue.Revise(ctx, time.Now(), work.Selection{Tenant: tenant, IDs: ids}, func(_ time.Time, found []posthouse.Delivery) []work.Change {
		before = map[string]bool{}
		var changes []work.Change
		for _, d := range found {
			before[d.ID] = d.State.Open()
			if c, ok := state.AfterCancel(d); ok {
				changes = append(changes, c)
			}
		}
		return changes
	})
	answers := make([]Cancellation, 0, len(after))
	for i := range after {
		d := &after[i]
		result := CancelFinal
		switch {
		case before[d.ID] && d.State == posthouse.Cancelled:
			result = CancelDone
		case before[d.ID]:
			result = CancelLate
		}
		answers = append(answers, Cancellation{d.ID, d.User, result, d.State})
	}
	return answers, err
}

// Withdraw cancels deliveries and tells nobody which.
func (op Operator) Withdraw(ctx context.Context, tenant string, ids []string) error {
	_, err := op.Cancel(ctx, tenant, ids)
	return err
}

// Resolution is a person's word on a delivery that is unknown or quarantined.
type Resolution string

// The resolutions. Retry says that it did not arrive, and sends it again.
const (
	ResolveSent  Resolution = "sent"
	ResolveFail  Resolution = "not_sent"
	ResolveRetry Resolution = "retry"
)

// ResolveAll does what Resolve does to each of a few deliveries, in one transaction, and returns those that changed. Others,
// and those whose state does not allow it any more, are passed over; so are those that have changed since until, where it is given.
func (op Operator) ResolveAll(ctx context.Context, tenant string, ids []string, r Resolution, until time.Time) ([]posthouse.Delivery, error) {
	before := map[string]int64{}
	after, err := op.Queue.Revise(ctx, time.Now(), work.Selection{Tenant: tenant, IDs: ids}, func(now time.Time, found []posthouse.Delivery) []work.Change {
		clear(before)
		found = slices.DeleteFunc(slices.Clone(found), func(d posthouse.Delivery) bool { return !until.IsZero() && d.UpdatedAt.After(until) })
		return resolutions(found, r, now, before)
	})
	after = slices.DeleteFunc(after, func(d posthouse.Delivery) bool { return !moved(&d, before) })
	woken := map[string]bool{}
	for i := range after {
		if name := after[i].Channel; !woken[name] {
			woken[name] = true
			op.Wake(tenant, name)
		}
	}
	return after, err
}

// resolutions are the changes that a person's word makes, by the deliveries that allow it. before has the versions of those.
func resolutions(found []posthouse.Delivery, r Resolution, now time.Time, before map[string]int64) []work.Change {
	var changes []work.Change
	for _, d := range found {
		if c, ok := state.AfterResolve(d, r == ResolveSent, r == ResolveRetry, "operator_"+string(r), now); ok {
			before[d.ID] = d.Version
			changes = append(changes, c)
		}
	}
	return changes
}

// moved reports whether a delivery was changed that a decision allows. The store leaves one alone that shares what becomes of another one.
func moved(d *posthouse.Delivery, before map[string]int64) bool {
	version, allowed := before[d.ID]
	return allowed && d.Version != version
}

// Resolve closes an unknown or quarantined delivery, or sends it again. The delivery's state must
// allow it: an error of code conflict says which state it is in.
func (op Operator) Resolve(ctx context.Context, tenant, id string, r Resolution) (posthouse.Delivery, error) {
	before := map[string]int64{}
	after, err := op.Queue.Revise(ctx, time.Now(), work.Selection{Tenant: tenant, IDs: []string{id}}, func(now time.Time, found []posthouse.Delivery) []work.Change {
		clear(before)
		return resolutions(found, r, now, before)
	})
	switch {
	case err != nil:
		return posthouse.Delivery{}, err
	case len(after) == 0:
		return posthouse.Delivery{}, posthouse.Errorf(posthouse.CodeNotFound, "there is no delivery %s", id)
	case after[0].Gathered && !moved(&after[0], before):
		return posthouse.Delivery{}, posthouse.Errorf(posthouse.CodeConflict, "the delivery shares what becomes of the one that its collection %s leaves by: decide about that one", after[0].Collection)
	case !moved(&after[0], before):
		return posthouse.Delivery{}, posthouse.Errorf(posthouse.CodeConflict, "the delivery is %s: only unknown and quarantined ones can be resolved that way", after[0].State)
	}
	op.Wake(tenant, after[0].Channel)
	return after[0], nil
}

// Wake says that a channel may have something due that this process did not accept, such as a replay.
func (op Operator) Wake(tenant, name string) {
	for _, p := range posthouse.Priorities() {
		op.Rouse(state.Key{Tenant: tenant, Channel: name}, p, "")
	}
}
