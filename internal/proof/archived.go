package proof

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/archive"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Archived is a message as an archive holds it.
type Archived struct {
	// Records are the message's own, or one for each message that the steps of its route have sent; there is at least one.
	Records []archive.Record
	By      archive.Seal
	// Attempts pairs the starts of a delivery with their ends.
	Attempts func(channel string, events []posthouse.Event) []posthouse.Attempt
}

// Own finds out whether an archive was written by this installation: its key is one of the keyring's, or has signed before. The error says
// what does not fit.
func (m *Maker) Own(ctx context.Context, by archive.Seal) error {
	if len(by.Signature) == 0 {
		return posthouse.Errorf(posthouse.CodeConflict, "the archive is not signed, so nobody can tell who has written it: it was written without a keyring, or by an earlier version")
	}
	list, err := m.Keys(ctx)
	if err != nil {
		return err
	}
	for _, k := range list {
		if k.ID != by.KeyID {
			continue
		}
		keys, err := publicKeys([]byte(k.PublicKey))
		if err != nil || len(keys) != 1 || !ed25519.Verify(keys[0], archive.Signed(by.SHA256), by.Signature) {
			return posthouse.Errorf(posthouse.CodeConflict, "the archive was changed: its signature does not fit what it holds")
		}
		return nil
	}
	return posthouse.Errorf(posthouse.CodeConflict, "the archive was written by another installation: it is signed by the key %.40q, which this one does not know", by.KeyID)
}

// MakeFrom makes a proof of what an archive holds of a message. Own has found the archive to be ours.
func (m *Maker) MakeFrom(ctx context.Context, now time.Time, a Archived, ask Ask) (wire.Proof, error) {
	tenant := a.Records[0].Deliveries[0].Tenant // an archive holds no message without any
	s := wire.ProofStatement{Archive: &wire.ProofArchive{SHA256: a.By.SHA256, KeyID: a.By.KeyID}, Parts: []wire.ProofPart{}}
	a.says(&s, ask)
	if err := m.acks(ctx, &s, slices.Clone(s.Notifications), ask.Person); err != nil {
		return wire.Proof{}, err
	}
	count := 0
	for i := range a.Records {
		part, err := m.archived(ctx, &a, &a.Records[i], ask)
		if err != nil {
			return wire.Proof{}, err
		}
		count += len(part.Deliveries)
		if len(part.Deliveries) > 0 {
			s.Parts = append(s.Parts, part)
		}
	}
	switch {
	case count == 0:
		return wire.Proof{}, posthouse.Errorf(posthouse.CodeNotFound, "the message means nobody called %.80q", ask.Person)
	case count > mostDeliveries:
		return wire.Proof{}, tooMuch(ask, fmt.Sprintf("%d deliveries", count), fmt.Sprint(mostDeliveries))
	case len(s.Notifications) > mostNotifications:
		return wire.Proof{}, tooMuch(ask, fmt.Sprintf("%d notifications", len(s.Notifications)), fmt.Sprint(mostNotifications))
	}
	return m.sign(ctx, tenant, now, ask, s)
}

// says states the message, and the notifications that are kept of it: each once, as it stood last.
func (a *Archived) says(s *wire.ProofStatement, ask Ask) {
	whom := map[string]bool{}
	for i := range a.Records {
		for _, n := range a.Records[i].Notifications {
			of := func(o posthouse.Notification) bool { return o.ID == n.ID }
			whom[n.ID] = true
			switch j := slices.IndexFunc(s.Notifications, of); {
			case ask.Person != "" && !means(&n, ask.Person):
			case j < 0:
				s.Notifications = append(s.Notifications, n)
			case s.Notifications[j].Version < n.Version:
				s.Notifications[j] = n
			}
		}
	}
	first := &a.Records[0]
	if first.Message.ID == ask.Message {
		s.Message, s.Recipients = read.Hidden(first.Message), cmp.Or(first.Recipients, len(first.Deliveries))
		return
	}
	n := first.Notifications[0] // it is how the record was found
	s.Message, s.Recipients = posthouse.Message{ID: ask.Message, Tenant: n.Tenant, Route: n.Route, Kind: n.Kind, Ref: n.Ref, CreatedAt: n.CreatedAt}, len(whom)
}

// archived states what became of one message of an archive.
func (m *Maker) archived(ctx context.Context, a *Archived, r *archive.Record, ask Ask) (part wire.ProofPart, err error) {
	part = wire.ProofPart{ID: r.Message.ID, Step: r.Message.Step, Deliveries: []wire.ProofDelivery{}}
	if r.Message.ID != ask.Message {
		shown := read.Hidden(r.Message)
		part.Message = &shown
	}
	if r.Message.Sensitive {
		part.Hidden = &wire.ProofHidden{Gone: "an archive holds no hidden contents"}
	}
	part.Masked = maskedIn(r.Message)
	var of []posthouse.Delivery
	for _, d := range r.Deliveries {
		if ask.Person == "" || d.User == ask.Person || d.Address == ask.Person {
			of, part.Deliveries = append(of, d), append(part.Deliveries, a.delivery(r, d))
		}
	}
	whole := work.Whole{ID: r.Message.ID, Message: &r.Message, Recipients: cmp.Or(r.Recipients, len(r.Deliveries)), Deliveries: r.Deliveries, Events: r.Events}
	part.Chain, err = m.evidence(ctx, &whole, of)
	return part, err
}

// delivery is what became of one of the deliveries.
func (a *Archived) delivery(r *archive.Record, d posthouse.Delivery) wire.ProofDelivery {
	read.HideDelivery(&d)
	out := wire.ProofDelivery{Delivery: d, Events: []posthouse.Event{}}
	for _, e := range r.Events {
		if e.Delivery == d.ID {
			out.Events = append(out.Events, e)
		}
	}
	out.Attempts = append([]posthouse.Attempt{}, a.Attempts(r.Message.Channel, out.Events)...)
	for i := range out.Attempts {
		read.HideAttempt(&out.Attempts[i])
	}
	for i := range out.Events {
		read.HideEvent(&out.Events[i])
		out.Events[i].Request, out.Events[i].Response = "", ""
	}
	return out
}

// Signing is the key with which a keyring signs archives, to be kept as Keys keeps those of proofs.
func Signing(s Signer) secret.PublicKey {
	list := s.PublicKeys()
	return list[len(list)-1]
}
