package proof_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/archive"
	"github.com/posthouse/posthouse/internal/proof"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// kept keeps public keys.
type kept struct{ list []work.ProofKey }

func (k *kept) AddProofKey(_ context.Context, now time.Time, id, pem string) error {
	k.list = append(k.list, work.ProofKey{ID: id, PEM: pem, Since: now})
	return nil
}

func (k *kept) ProofKeys(context.Context) ([]work.ProofKey, error) { return k.list, nil }

func ring(t *testing.T, keys ...secret.Key) *secret.Keyring {
	t.Helper()
	r, err := secret.New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A key that has signed stays published when the keyring has lost it, and one that has not yet signed is published before.
func TestKeysStayPublishedWhenTheyAreReplaced(t *testing.T) {
	t.Parallel()
	old, next := secret.GenerateKey(), secret.GenerateKey()
	before, store := ring(t, old).PublicKeys()[0], &kept{}
	if err := store.AddProofKey(t.Context(), time.Now(), before.ID, before.PEM); err != nil {
		t.Fatal(err)
	}
	store.list = append(store.list, work.ProofKey{ID: "x", PEM: "none of ours"})
	list, err := proof.New(proof.Options{Signer: ring(t, next), Keys: store}).Keys(t.Context())
	if err != nil || len(list) != 2 || list[0].ID != before.ID || list[0].Current || list[0].Since.IsZero() || !list[1].Current || !list[1].Since.IsZero() {
		t.Errorf("%v: the keys are %+v", err, list)
	}
}

// An archive is ours where a key of ours has signed it, also one that the keyring has lost.
func TestAnArchiveIsOursBySignature(t *testing.T) {
	t.Parallel()
	old, next, store := secret.GenerateKey(), secret.GenerateKey(), &kept{}
	before := ring(t, old)
	key := proof.Signing(before)
	if err := store.AddProofKey(t.Context(), time.Now(), key.ID, key.PEM); err != nil {
		t.Fatal(err)
	}
	m := proof.New(proof.Options{Signer: ring(t, next), Keys: store})
	seal := func(of *secret.Keyring, sum string) archive.Seal {
		return archive.Seal{SHA256: sum, KeyID: proof.Signing(of).ID, Signature: of.Sign(archive.Signed("5e"))}
	}
	if err := m.Own(t.Context(), seal(before, "5e")); err != nil {
		t.Errorf("one that an earlier key has signed: %v", err)
	}
	for want, by := range map[string]archive.Seal{
		"is not signed": {SHA256: "5e"}, "does not fit": seal(before, "5f"), "by another installation": seal(ring(t, secret.GenerateKey()), "5e"),
	} {
		if err := m.Own(t.Context(), by); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// statement is one with all that a page can show.
func statement() wire.ProofStatement {
	at := time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC)
	m := posthouse.NewID()
	d := posthouse.Delivery{ID: posthouse.DeliveryID(m, 1), Message: m, Channel: "sms", Recipient: posthouse.Recipient{User: "li.na", Address: "+8613800138000"}, State: posthouse.Delivered, UpdatedAt: at, ProviderRef: "r1"}
	sms := posthouse.Message{ID: m, Channel: "sms", Content: posthouse.Content{Title: "<script>alert(1)</script>", Text: "开库 & 锁"}}
	return wire.ProofStatement{
		Format: wire.ProofFormat, MadeAt: at, Server: "Posthouse test", Tenant: "bank", Message: posthouse.Message{ID: m, Route: "night", Kind: "vault", CreatedAt: at}, Recipients: 1,
		Notifications: []posthouse.Notification{{
			ID: posthouse.DeliveryID(m, 2), To: []posthouse.Recipient{{User: "li.na"}}, State: posthouse.NotificationAcknowledged, ToldAt: at,
			Ack:   &posthouse.Acknowledgement{By: "li.na", Via: posthouse.AckLink, At: at, Evidence: json.RawMessage(`{"note":"ok"}`)},
			Steps: []posthouse.NotificationStep{{Step: 1, Round: 1, At: at}}, Deliveries: []posthouse.NotificationDelivery{{ID: d.ID, Step: 1, Round: 1, Channel: "sms", User: "li.na", State: posthouse.Delivered}},
		}},
		Parts: []wire.ProofPart{{ID: m, Step: 1, Message: &sms, Deliveries: []wire.ProofDelivery{{
			Delivery: d, Attempts: []posthouse.Attempt{{Number: 1, StartedAt: at, FinishedAt: at, To: posthouse.Sent, Code: "OK"}},
			Events: []posthouse.Event{{Version: 1, At: at, Type: posthouse.EventAccept, To: posthouse.Pending}, {Version: 2, At: at, Type: posthouse.EventReceipt, To: posthouse.Delivered}},
		}}, Chain: wire.ProofChain{State: wire.ProofSealed, Line: m + " x", Link: &wire.ProofLink{Seq: 7, At: at, Hash: "h"}}}},
		Acks:  []wire.ProofAck{{Notification: posthouse.DeliveryID(m, 2), Chain: wire.ProofChain{State: wire.ProofNotSealed}}},
		Notes: []wire.ProofNote{{Code: "ack_not_chained", Text: "said"}},
	}
}

// A page shows the statement in its language, runs nothing, loads nothing, and carries its proof.
func TestAPageShowsTheStatement(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(statement())
	if err != nil {
		t.Fatal(err)
	}
	p := wire.Proof{Format: wire.ProofFormat, Statement: string(text), Check: proof.Commands(), KeyID: "k"}
	for chinese, want := range map[bool][]string{
		false: {`lang="en"`, "Proof of a message", "acknowledged", "by its link", "receipt", "What is stored is as the hash chain sealed it", "not sealed by the hash chain yet", "said"},
		true:  {`lang="zh-CN"`, "消息送达证明", "已确认", "经确认链接", "回执", "已送达", "与哈希链封存时一致", "哈希链尚未封存此确认", "不在现存的哈希链清单中"},
	} {
		page, err := proof.Page(p, chinese, time.FixedZone("", 8*3600))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range append(want, "&lt;script&gt;", "开库 &amp; 锁", "2026-11-28 09:02:03.000 +08:00", "openssl pkeyutl -verify", "+8613800138000", `content="default-src &#39;none&#39;; style-src`, "@media print") {
			if !strings.Contains(strings.ReplaceAll(string(page), "&#43;", "+"), part) {
				t.Errorf("chinese %t: the page lacks %s", chinese, part)
			}
		}
		for _, part := range []string{"<script", "src=", "http:", "https:", "onclick", "style=", "ZgotmplZ"} {
			if strings.Contains(string(page), part) {
				t.Errorf("chinese %t: the page has %s", chinese, part)
			}
		}
	}
}

// What is no proof is refused with a reason.
func TestWhatIsNoProofIsRefused(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"": "not a proof", "{}": "format is", "<html>": "not a proof", `{"format":"posthouse-proof/1"}`: "algorithm is", `{"format":"posthouse-proof/1","algorithm":"Ed25519"}`: "no public key",
	} {
		if _, err := proof.Check([]byte(file), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", file, err, want)
		}
	}
	for _, keys := range []string{"no keys", `{"items":[]}`, "{", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"} {
		if _, err := proof.Check([]byte(`{"format":"posthouse-proof/1","algorithm":"Ed25519"}`), []byte(keys)); err == nil || !strings.Contains(err.Error(), "public key") {
			t.Errorf("keys %q: %v", keys, err)
		}
	}
}
