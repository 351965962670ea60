package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/archive"
	"github.com/posthouse/posthouse/internal/chain"
	"github.com/posthouse/posthouse/internal/proof"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/wire"
)

// proves makes a proof, checks it with the public keys that the server publishes, and reads its statement.
func (h *house) proves(message, person string) (wire.Proof, wire.ProofStatement) {
	h.Helper()
	made, err := h.api.Messages.Proof(h.Context(), message, person)
	h.must(err)
	stranger, err := client.New(client.Options{URL: h.url})
	h.must(err)
	keys, err := stranger.Messages.ProofKeys(h.Context())
	h.must(err)
	found, err := proof.Check(fileOf(made), fileOf(wire.Page[wire.ProofKey]{Items: keys}))
	h.must(err)
	if !found.Known || found.Statement.Message.ID != message {
		h.Errorf("the check found %+v", found)
	}
	return made, found.Statement
}

func fileOf(v any) []byte {
	text, _ := json.Marshal(v) // plain values: cannot fail
	return text
}

func noted(s wire.ProofStatement, code string) bool {
	return slices.ContainsFunc(s.Notes, func(n wire.ProofNote) bool { return n.Code == code })
}

// A proof says what became of a message and how the hash chain stands to it, to whoever may read the message and to nobody else.
func TestAProofSaysWhatBecameOfAMessage(t *testing.T) {
	ways(t, func(h *house, _ *scripted) {
		sent, err := h.api.Messages.Send(h.Context(),
			posthouse.Draft{Channel: "a", To: []posthouse.Recipient{{User: "u1"}, {User: "u2"}}, Content: &posthouse.Content{Title: "<b>", Text: "the limit is 5 & more"}},
			posthouse.Draft{Channel: "a", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "code 428193"}, Sensitive: true})
		h.must(err)
		plain, hidden := sent.Accepted[0].ID, sent.Accepted[1].ID
		h.way("night", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"b"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)}}})
		routed, _ := h.routes("night", "u1", "u2")
		h.eventually("all is sent", func() bool {
			return h.number("SELECT COUNT(*) FROM posthouse_deliveries WHERE state = 'sent'") == 5
		})
		_, s := h.proves(plain, "")
		if len(s.Parts) != 1 || len(s.Parts[0].Deliveries) != 2 || s.Message.Content.Text != "the limit is 5 & more" || s.Parts[0].Chain.State != wire.ProofChainOff || !noted(s, "chain_off") {
			h.Errorf("the statement is %+v", s)
		}
		h.sealed()
		made, s := h.proves(plain, "u2")
		if p := s.Parts[0]; len(p.Deliveries) != 1 || p.Deliveries[0].Delivery.User != "u2" || len(p.Deliveries[0].Attempts) != 1 || p.Chain.State != wire.ProofSealed || p.Chain.Row == "" ||
			len(p.Chain.Stories) != 1 || p.Chain.Stories[0].Text == "" || p.Chain.Stories[0].Row == "" || !noted(s, "person_only") {
			h.Errorf("the statement is %+v", s)
		}
		h.refusesChanges(made)
		h.opensslChecks(made)
		h.provesOfAnArchive(plain, hidden)

		_, err = h.api.Notifications.AcknowledgeMessage(h.Context(), routed, wire.Ack{By: "u1", User: "u1"})
		h.must(err)
		if _, s = h.proves(routed, "u1"); len(s.Notifications) != 1 || s.Notifications[0].Ack == nil || len(s.Parts) != 1 || s.Parts[0].Step != 1 || s.Parts[0].Message == nil ||
			s.Parts[0].Message.Content.Text != "hello" || s.Parts[0].Chain.State != wire.ProofSealed || !noted(s, "ack_not_chained") {
			h.Errorf("the statement is %+v", s)
		}
		h.provesAnAcknowledgement(routed)
		h.hides(hidden)

		h.run("UPDATE posthouse_messages SET content = '{\"text\":\"other\"}' WHERE id = '" + plain + "'")
		if _, s = h.proves(plain, ""); s.Parts[0].Chain.State != wire.ProofChanged || len(s.Parts[0].Chain.Differences) == 0 {
			h.Errorf("what was changed is %+v", s.Parts[0].Chain)
		}
		h.provesNothing(plain)
	})
}

// provesAnAcknowledgement wants what the hash chain says of it in the statement: as it was sealed, and what was changed since.
func (h *house) provesAnAcknowledgement(message string) {
	h.Helper()
	h.resealed()
	made, s := h.proves(message, "u1")
	if len(s.Acks) != 1 || s.Acks[0].Chain.State != wire.ProofSealed || s.Acks[0].Chain.Row != chain.AckText(&s.Notifications[0]) || noted(s, "ack_not_chained") {
		h.Errorf("what the chain says of the acknowledgement is %+v", s.Acks)
	}
	h.refusesChanges(made)
	id := s.Notifications[0].ID
	h.run("UPDATE posthouse_plans SET doc = REPLACE(doc, '\"by\":\"u1\"', '\"by\":\"u3\"') WHERE id = '" + id + "'")
	if _, s = h.proves(message, "u1"); len(s.Acks) != 1 || s.Acks[0].Chain.State != wire.ProofChanged || !noted(s, "chain_changed") {
		h.Errorf("what the chain says of a changed acknowledgement is %+v", s.Acks)
	}
	h.run("UPDATE posthouse_plans SET doc = REPLACE(doc, '\"by\":\"u3\"', '\"by\":\"u1\"') WHERE id = '" + id + "'")
}

// sealed seals all that is stored.
func (h *house) sealed() { h.sealedAt(10 * time.Second) }

// resealed seals all once more: the last pass is of what is 43 seconds old where the first is of a millisecond.
func (h *house) resealed() { h.sealedAt(time.Hour) }

func (h *house) sealedAt(later time.Duration) {
	h.Helper()
	db, err := store.Open(h.Context(), store.Options{DSN: h.dsn, Log: slog.New(slog.DiscardHandler)})
	h.must(err)
	defer db.Close()
	h.must(chain.Sealer{Book: db.Chain, After: time.Millisecond, Keep: -1, Log: slog.New(slog.DiscardHandler)}.Seal(h.Context(), time.Now().Add(later)))
}

// provesOfAnArchive wants of an archive what is proven of the database: the message as the hash chain has sealed it, and nothing of a content
// that was hidden.
func (h *house) provesOfAnArchive(plain, hidden string) {
	h.Helper()
	db, err := store.Open(h.Context(), store.Options{DSN: h.dsn, Log: slog.New(slog.DiscardHandler)})
	h.must(err)
	defer db.Close()
	ring, err := secret.Parse(keyring)
	h.must(err)
	in := archive.Source{
		Messages: func(yield func(archive.Stored, error) bool) {
			h.must(db.History.Holdings(h.Context(), func(held reading.Holding) error {
				yield(archive.Stored{ID: held.ID, Message: held.Message, Recipients: held.Recipients, Deliveries: held.Deliveries}, nil)
				return nil
			}))
		},
		Events: func(yield func(posthouse.Event, error) bool) {
			_, err := db.History.ExportEvents(h.Context(), "", "", func(e posthouse.Event) error {
				if !yield(e, nil) {
					return io.EOF
				}
				return nil
			})
			if err != nil && !errors.Is(err, io.EOF) {
				h.Error(err)
			}
		},
		Sign: func(text []byte) (string, []byte) { return proof.Signing(ring).ID, ring.Sign(text) },
	}
	var file bytes.Buffer
	_, err = archive.Write(&file, in, archive.Range{Before: time.Now().Add(time.Hour)})
	h.must(err)
	maker := proof.New(proof.Options{Chain: db.Chain, Signer: ring, Keys: db.Keys, Version: "test", Keep: -1})
	for message, want := range map[string]string{plain: "the limit is 5 & more", hidden: ""} {
		found, by, err := archive.Find(bytes.NewReader(file.Bytes()), message)
		h.must(err)
		h.must(maker.Own(h.Context(), by))
		made, err := maker.MakeFrom(h.Context(), time.Now(), proof.Archived{Records: found, By: by, Attempts: reading.AttemptsOf}, proof.Ask{Message: message})
		h.must(err)
		checked, err := proof.Check(fileOf(made), nil)
		h.must(err)
		s := checked.Statement
		if len(s.Parts) != 1 || s.Message.Content.Text != want || s.Parts[0].Chain.State != wire.ProofSealed || s.Parts[0].Chain.Row == "" || strings.Contains(made.Statement, "428193") || (s.Parts[0].Hidden == nil) != (message == plain) || !noted(s, "from_archive") || noted(s, "chain_changed") {
			h.Errorf("the statement is %+v", s)
		}
	}
}

// refusesChanges wants a proof refused when any part of it is another one.
func (h *house) refusesChanges(made wire.Proof) {
	h.Helper()
	for i := 0; i < len(made.Statement); i += 97 {
		changed := made
		changed.Statement = made.Statement[:i] + string(made.Statement[i]^1) + made.Statement[i+1:]
		if _, err := proof.Check(fileOf(changed), nil); err == nil {
			h.Fatalf("with another byte %d it is taken", i)
		}
	}
	for name, change := range map[string]func(*wire.Proof){
		"signature": func(p *wire.Proof) { p.Signature = "AAAA" + p.Signature[4:] }, "sha256": func(p *wire.Proof) { p.SHA256 = strings.Repeat("0", 64) },
		"format": func(p *wire.Proof) { p.Format = "posthouse-proof/0" }, "algorithm": func(p *wire.Proof) { p.Algorithm = "none" }, "public_key": func(p *wire.Proof) { p.PublicKey = "" },
	} {
		changed := made
		change(&changed)
		if _, err := proof.Check(fileOf(changed), nil); err == nil {
			h.Errorf("with another %s it is taken", name)
		}
	}
}

// opensslChecks runs the commands that a proof brings, over the proof and over what its page carries.
func (h *house) opensslChecks(made wire.Proof) {
	h.Helper()
	for _, tool := range []string{"openssl", "jq", "base64", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			h.Logf("no %s: the commands are not tried", tool)
			return
		}
	}
	dir := h.TempDir()
	h.must(os.WriteFile(filepath.Join(dir, "proof.json"), fileOf(made), 0o600))
	shell := exec.CommandContext(h.Context(), "sh", "-ec", strings.Join(made.Check, "\n"))
	shell.Dir = dir
	out, err := shell.CombinedOutput()
	page, pageErr := proof.Page(made, true, time.UTC)
	found, checkErr := proof.Check(page, nil)
	if said := string(out); err != nil || pageErr != nil || checkErr != nil || !strings.Contains(said, "Signature Verified Successfully") || !strings.Contains(said, made.SHA256) || !strings.Contains(said, found.Key.Fingerprint) {
		h.Errorf("%v %v %v: %s", err, pageErr, checkErr, said)
	}
}

// hides wants the content of a sensitive message in a proof for a reason alone.
func (h *house) hides(message string) {
	h.Helper()
	made, s := h.proves(message, "")
	if p := s.Parts[0]; strings.Contains(made.Statement, "428193") || p.Hidden == nil || p.Hidden.Digest == "" || p.Hidden.Salt != "" || !noted(s, "content_hidden") {
		h.Errorf("the statement is %+v", s)
	}
	if _, err := h.api.Messages.ProofRevealed(h.Context(), message, "", " "); posthouse.CodeOf(err) != posthouse.CodeInvalid {
		h.Errorf("without a reason: %v", err)
	}
	shown, err := h.api.Messages.ProofRevealed(h.Context(), message, "", "the auditor asks")
	h.must(err)
	found, err := proof.Check(fileOf(shown), nil)
	h.must(err)
	if p := found.Statement.Parts[0].Hidden; p.Digest != s.Parts[0].Hidden.Digest || !strings.Contains(p.Text, "428193") {
		h.Errorf("revealed it is %+v", p)
	}
	log, err := h.api.Audit.List(h.Context(), client.AuditFilter{Target: message})
	h.must(err)
	var did []string
	for _, e := range log.Items {
		did = append(did, e.Action)
	}
	if !slices.Equal(did, []string{"contents.reveal", "proofs.read"}) {
		h.Errorf("the audit log has %v", did)
	}
}

// provesNothing wants no proof for those who may not read the message, and of what is not there.
func (h *house) provesNothing(message string) {
	h.Helper()
	_, err := h.api.Tenants.Put(h.Context(), "branch", wire.PutTenant{})
	h.must(err)
	key, err := h.api.Tenants.AddKey(h.Context(), "branch", wire.Key{Name: "t", Scope: posthouse.ScopeAdmin})
	h.must(err)
	foreign, err := client.New(client.Options{URL: h.url, Key: key.Secret})
	h.must(err)
	old := posthouse.FirstID(time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC))
	for _, of := range []struct {
		api             *client.Client
		message, person string
		says            string
	}{
		{foreign, message, "", "there is no message"}, {h.api, message, "u9", `nobody called "u9"`}, {h.api, posthouse.NewID(), "", "there is no message"}, {h.api, old, "", "archive of that day"},
	} {
		_, err := of.api.Messages.Proof(h.Context(), of.message, of.person)
		if posthouse.CodeOf(err) != posthouse.CodeNotFound || !strings.Contains(err.Error(), of.says) {
			h.Errorf("%s for %q: %v, want %s", of.message, of.person, err, of.says)
		}
	}
}
