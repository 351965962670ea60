package proof

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"fmt"
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
	archive.Record
	By archive.Seal
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
	tenant := a.Deliveries[0].Tenant // an archive holds no message without any
	s := wire.ProofStatement{
		Message: read.Hidden(a.Message), Recipients: cmp.Or(a.Recipients, len(a.Deliveries)), Archive: &wire.ProofArchive{SHA256: a.By.SHA256, KeyID: a.By.KeyID},
	}
	part := wire.ProofPart{ID: a.Message.ID, Step: a.Message.Step, Deliveries: []wire.ProofDelivery{}}
	if a.Message.Sensitive {
		part.Hidden = &wire.ProofHidden{Gone: "an archive holds no hidden contents"}
	}
	part.Masked = maskedIn(a.Message)
	var of []posthouse.Delivery
	for _, d := range a.Deliveries {
		if ask.Person == "" || d.User == ask.Person || d.Address == ask.Person {
			of, part.Deliveries = append(of, d), append(part.Deliveries, a.delivery(d))
		}
	}
	switch {
	case len(of) == 0:
		return wire.Proof{}, posthouse.Errorf(posthouse.CodeNotFound, "the message means nobody called %.80q", ask.Person)
	case len(of) > mostDeliveries:
		return wire.Proof{}, tooMuch(ask, fmt.Sprintf("%d deliveries", len(of)), fmt.Sprint(mostDeliveries))
	}
	whole := work.Whole{ID: a.Message.ID, Message: &a.Message, Recipients: s.Recipients, Deliveries: a.Deliveries, Events: a.Events}
	var err error
	if part.Chain, err = m.evidence(ctx, &whole, of); err != nil {
		return wire.Proof{}, err
	}
	s.Parts = []wire.ProofPart{part}
	return m.sign(ctx, tenant, now, ask, s)
}

// delivery is what became of one of the deliveries.
func (a *Archived) delivery(d posthouse.Delivery) wire.ProofDelivery {
	read.HideDelivery(&d)
	out := wire.ProofDelivery{Delivery: d, Events: []posthouse.Event{}}
	for _, e := range a.Events {
		if e.Delivery == d.ID {
			out.Events = append(out.Events, e)
		}
	}
	out.Attempts = append([]posthouse.Attempt{}, a.Attempts(a.Message.Channel, out.Events)...)
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
