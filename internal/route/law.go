package route

import (
	"crypto/sha256"
	"encoding/hex"
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
	n.Ack = &posthouse.Acknowledgement{By: by, Via: via, At: now, Evidence: bounded(evidence)}
	withdraw = n.settle(now)
	next, err = n.plan()
	return next, withdraw, true, err
}

// bounded is evidence as it is kept. What is too long is cut and says so, with the size and the SHA-256 of the whole, so that whoever has that can
// show that it is the same.
func bounded(evidence json.RawMessage) json.RawMessage {
	if len(evidence) <= MaxEvidence {
		return evidence
	}
	sum := sha256.Sum256(evidence)
	kept := map[string]any{}
	if json.Unmarshal(evidence, &kept) != nil {
		kept = map[string]any{"beginning": string(evidence)}
	}
	for most := MaxEvidence / 2; ; most /= 2 {
		for name, value := range kept {
			switch v := value.(type) {
			case string:
				kept[name] = state.Plain(v, most)
			case bool, float64, nil:
			default: // a list or an object, which has no beginning that says anything
				delete(kept, name)
			}
		}
		kept["truncated"], kept["bytes"], kept["sha256"] = true, len(evidence), hex.EncodeToString(sum[:])
		text, err := json.Marshal(kept)
		if err == nil && len(text) <= MaxEvidence {
			return text
		}
		if most == 0 { // too many members
			kept = map[string]any{}
		}
	}
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

// Resume is a notification's plan once a person has let it go on, in an epoch: from now, by what is known of its deliveries. What others know of them now is heard
// first, since nobody has told the plan what an epoch held. One that nothing holds stays as it is.
func Resume(p work.Plan, known []posthouse.Delivery, epoch int64, now time.Time) (next work.Plan, withdraw work.Withdrawal, changed bool, err error) {
	n, err := read(p)
	if err != nil || n.Held == "" {
		return p, withdraw, false, err
	}
	for i := range known {
		for _, k := range n.Deliveries {
			if k.ID == known[i].ID && !k.At.After(known[i].UpdatedAt) { // later news have been heard
				n.hear(&known[i])
				break
			}
		}
	}
	n.Held, n.Resumed = "", &Resumed{now, epoch}
	if withdraw = n.settle(now); n.State == posthouse.NotificationWaiting && n.Step == 0 {
		n.NextAt = later(now, n.Draft.NotBefore)
	}
	next, err = n.plan()
	return next, withdraw, true, err
}
