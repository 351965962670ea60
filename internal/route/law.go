package route

import (
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Law is what the store asks in the transaction that settles a notification's deliveries.
type Law struct{}

// Heard is work.Notified's.
func (Law) Heard(p work.Plan, after []posthouse.Delivery, now time.Time) (work.Plan, work.Withdrawal, bool, error) {
	n, err := read(p)
	if err != nil {
		return p, work.Withdrawal{}, false, err
	}
	news := false
	for i := range after {
		news = n.hear(&after[i]) || news
	}
	if !news {
		return p, work.Withdrawal{}, false, nil
	}
	withdraw := n.settle(now)
	next, err := n.plan()
	return next, withdraw, true, err
}

// Withdrawn is work.Notified's.
func (Law) Withdrawn(_ work.PlanType, d posthouse.Delivery, by work.Withdrawal, _ time.Time) (work.Change, bool) {
	return state.Withdrawn(d, by.Reason)
}

// MaxEvidence bounds what is kept with an acknowledgement, in bytes.
const MaxEvidence = 4 << 10

// Acknowledge is a notification's plan once somebody has taken note, and what is not to start any more. changed is false where it had been
// acknowledged before: the first one stands.
func Acknowledge(p work.Plan, by string, via posthouse.AckVia, evidence json.RawMessage, now time.Time) (next work.Plan, withdraw work.Withdrawal, changed bool, err error) {
	n, err := read(p)
	if err != nil || n.Ack != nil {
		return p, withdraw, false, err
	}
	if len(evidence) > MaxEvidence {
		evidence = nil
	}
	n.Ack = &posthouse.Acknowledgement{By: by, Via: via, At: now, Evidence: evidence}
	withdraw = n.settle(now)
	next, err = n.plan()
	return next, withdraw, true, err
}

// RevokeLinks is a notification's plan once the links and cards that were sent for it are void. What is sent from then on has new ones.
func RevokeLinks(p work.Plan, now time.Time) (next work.Plan, withdraw work.Withdrawal, changed bool, err error) {
	n, err := read(p)
	if err != nil {
		return p, withdraw, false, err
	}
	n.LinksRevokedAt = now
	next, err = n.plan()
	return next, withdraw, true, err
}

// End is a notification's plan once a person or a program has ended it: no further step begins. One that is not waiting stays as it is.
func End(p work.Plan, now time.Time) (next work.Plan, withdraw work.Withdrawal, changed bool, err error) {
	n, err := read(p)
	if err != nil || n.State != posthouse.NotificationWaiting {
		return p, withdraw, false, err
	}
	n.Closed = true
	withdraw = n.settle(now)
	next, err = n.plan()
	return next, withdraw, true, err
}
