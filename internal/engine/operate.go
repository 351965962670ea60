package engine

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Operator does what people ask for: it withdraws deliveries, and takes their word on those that are unknown.
type Operator struct {
	Queue Reviser
	// Rouse is told of channels that may have something due now.
	Rouse func(k state.Key, p posthouse.Priority)
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

// withdraw cancels deliveries and tells nobody which.
func (op Operator) withdraw(ctx context.Context, tenant string, ids []string) error {
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

// Resolve closes an unknown or quarantined delivery, or sends it again. The delivery's state must
// allow it: an error of code conflict says which state it is in.
func (op Operator) Resolve(ctx context.Context, tenant, id string, r Resolution) (posthouse.Delivery, error) {
	changed := false
	after, err := op.Queue.Revise(ctx, time.Now(), work.Selection{Tenant: tenant, IDs: []string{id}}, func(now time.Time, found []posthouse.Delivery) []work.Change {
		changed = false
		var changes []work.Change
		for _, d := range found {
			c, ok := state.AfterResolve(d, r == ResolveSent, r == ResolveRetry, "operator_"+string(r), now)
			if ok {
				changed = true
				changes = append(changes, c)
			}
		}
		return changes
	})
	switch {
	case err != nil:
		return posthouse.Delivery{}, err
	case len(after) == 0:
		return posthouse.Delivery{}, posthouse.Errorf(posthouse.CodeNotFound, "there is no delivery %s", id)
	case !changed:
		return posthouse.Delivery{}, posthouse.Errorf(posthouse.CodeConflict, "the delivery is %s: only unknown and quarantined ones can be resolved that way", after[0].State)
	}
	op.Wake(tenant, after[0].Channel)
	return after[0], nil
}

// Wake says that a channel may have something due that this process did not accept, such as a replay.
func (op Operator) Wake(tenant, name string) {
	for _, p := range posthouse.Priorities() {
		op.Rouse(state.Key{Tenant: tenant, Channel: name}, p)
	}
}
