package proof

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/chain"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Algorithm is how statements are signed.
const Algorithm = "Ed25519"

// Commands check a proof without Posthouse, in an empty folder with the file proof.json.
func Commands() []string {
	return []string{
		"jq -j .statement proof.json > statement.json",
		"jq -j .public_key proof.json > key.pem",
		"jq -r .signature proof.json | base64 -d > statement.sig",
		"openssl pkeyutl -verify -pubin -inkey key.pem -rawin -in statement.json -sigfile statement.sig",
		"sha256sum statement.json",
		"openssl pkey -pubin -in key.pem -outform DER | sha256sum",
	}
}

// signed puts a statement and its signature together.
func signed(statement []byte, key secret.PublicKey, signature []byte) wire.Proof {
	sum := sha256.Sum256(statement)
	return wire.Proof{
		Format: wire.ProofFormat, Statement: string(statement), SHA256: hex.EncodeToString(sum[:]), Algorithm: Algorithm,
		KeyID: key.ID, PublicKey: key.PEM, Signature: base64.StdEncoding.EncodeToString(signature), Check: Commands(),
	}
}

// Checked is a proof whose signature is good.
type Checked struct {
	Statement wire.ProofStatement
	Key       secret.PublicKey
	// Known says that the key is one of those that were given. Else it came with the proof, and proves nothing of who signed.
	Known bool
	// Page says that it came as a page.
	Page bool
}

// Check checks the file of a proof, or the page of one, with nothing else than public keys: PEM texts, or the answer of GET /v1/proof/keys. Without any, the key
// that came with the proof is taken. The error says what does not fit. Where that is a page alone, [ErrPageChanged] or [ErrPageOther], the
// statement is good and is returned with it.
func Check(file []byte, keys []byte) (Checked, error) {
	var p wire.Proof
	text, page := inPage(file)
	if err := json.Unmarshal(text, &p); err != nil {
		return Checked{}, fmt.Errorf("the file is not a proof: %w", err)
	}
	switch {
	case p.Format != wire.ProofFormat:
		return Checked{}, fmt.Errorf("the file is not a proof that this version checks: format is %.40q, not %q", p.Format, wire.ProofFormat)
	case p.Algorithm != Algorithm:
		return Checked{}, fmt.Errorf("algorithm is %.40q, not %q", p.Algorithm, Algorithm)
	}
	known, err := publicKeys(keys)
	if err != nil {
		return Checked{}, err
	}
	key, err := keyFor(p, known)
	if err != nil {
		return Checked{}, err
	}
	signature, err := base64.StdEncoding.DecodeString(p.Signature)
	if err != nil || !ed25519.Verify(key, []byte(p.Statement), signature) {
		return Checked{}, errors.New("the signature does not fit: the statement is not what was signed, or another key signed it")
	}
	if err := plainly(text); err != nil {
		return Checked{}, err
	}
	out := Checked{Key: secret.PublicKeyOf(key), Known: len(known) > 0}
	if out.Statement, err = p.ReadStatement(); err != nil {
		return out, fmt.Errorf("the statement cannot be read: %w", err)
	}
	if sum := sha256.Sum256([]byte(p.Statement)); p.SHA256 != hex.EncodeToString(sum[:]) {
		return out, errors.New("sha256 is not that of the statement: what stands around the statement was changed")
	}
	if out.Statement.KeyID != out.Key.ID {
		return out, fmt.Errorf("the statement names the key %.40q, and is signed by %q", out.Statement.KeyID, out.Key.ID)
	}
	if err := around(p, out.Key); err != nil {
		return out, err
	}
	if err := evident(&out.Statement); err != nil {
		return out, err
	}
	out.Page = page
	if page {
		return out, same(file, p)
	}
	return out, nil
}

// plainly finds out whether a proof can be read in one way alone. Of a name that stands twice, or twice but for its case, jq and openssl may be
// given another text than what was checked here.
func plainly(text []byte) error {
	_, problems, err := web.BodyOf[wire.Proof]().Read(text)
	if err != nil {
		return fmt.Errorf("the file is not a proof: %w", err)
	}
	if len(problems) > 0 {
		return fmt.Errorf("the file is not a proof as it was made: %s %s", problems[0].Path, problems[0].Message)
	}
	return nil
}

// around finds out whether what stands beside the statement is what belongs there: nobody signs it, and a page shows it.
func around(p wire.Proof, key secret.PublicKey) error {
	for field, same := range map[string]bool{"key_id": p.KeyID == key.ID, "public_key": p.PublicKey == key.PEM} {
		if !same {
			return fmt.Errorf("%s is not that of the statement: what stands around the statement was changed", field)
		}
	}
	return nil
}

// keyFor is the key to check a proof with.
func keyFor(p wire.Proof, known []ed25519.PublicKey) (ed25519.PublicKey, error) {
	if len(known) == 0 {
		own, err := publicKeys([]byte(p.PublicKey))
		if err != nil || len(own) != 1 {
			return nil, errors.New("the proof has no public key that can be read: give one with --key")
		}
		return own[0], nil
	}
	for _, key := range known {
		if secret.PublicKeyOf(key).ID == p.KeyID {
			return key, nil
		}
	}
	return nil, fmt.Errorf("the key %.40q that signed is none of those given", p.KeyID)
}

// publicKeys reads public keys: PEM texts, or a list of them as the API answers it.
func publicKeys(text []byte) (list []ed25519.PublicKey, err error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil, nil
	}
	if text[0] == '{' {
		var page wire.Page[wire.ProofKey]
		if err := json.Unmarshal(text, &page); err != nil {
			return nil, fmt.Errorf("the public keys cannot be read: %w", err)
		}
		text = nil
		for _, key := range page.Items {
			text = append(text, key.PublicKey+"\n"...)
		}
	}
	for len(text) > 0 {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		key, ok := parsed.(ed25519.PublicKey)
		if err != nil || !ok {
			return nil, errors.New("a public key is none of Ed25519 in PEM")
		}
		list = append(list, key)
	}
	if len(list) == 0 {
		return nil, errors.New("there is no public key: want PEM, or what posthouse proof keys --json prints")
	}
	return list, nil
}

// evident computes again what the statement has of the hash chain.
func evident(s *wire.ProofStatement) error {
	for i := range s.Parts {
		p := &s.Parts[i]
		if err := linked(p.ID, &p.Chain); err != nil {
			return err
		}
		if h := p.Hidden; h != nil && h.Text != "" && h.Digest != hiddenDigest(h.Salt, h.Text) {
			return fmt.Errorf("message %s: the content is not that of its digest", p.ID)
		}
	}
	for i := range s.Acks {
		if err := acknowledged(s, &s.Acks[i]); err != nil {
			return err
		}
	}
	return nil
}

// acknowledged compares what the chain has of an acknowledgement with the one that is stated.
func acknowledged(s *wire.ProofStatement, a *wire.ProofAck) error {
	if err := linked(a.Notification, &wire.ProofChain{State: a.Chain.State, Link: a.Chain.Link}); err != nil {
		return err
	}
	fields := strings.Fields(a.Chain.Line)
	if a.Chain.Row == "" || len(fields) < 3 {
		return nil
	}
	is := slices.ContainsFunc(s.Notifications, func(n posthouse.Notification) bool { return n.ID == a.Notification && chain.AckText(&n) == a.Chain.Row })
	if !is || chain.DigestOf(a.Chain.Row) != fields[2] {
		return fmt.Errorf("notification %.26s: its acknowledgement does not have the digest that was sealed", a.Notification)
	}
	return nil
}

func linked(id string, c *wire.ProofChain) error {
	if c.Link == nil {
		return nil
	}
	if sum := sha256.Sum256([]byte(c.Link.Text)); hex.EncodeToString(sum[:]) != c.Link.Hash && c.State != wire.ProofChanged {
		return fmt.Errorf("message %s: link %d of the hash chain does not have the hash of its text", id, c.Link.Seq)
	}
	fields := strings.Fields(c.Line)
	if len(fields) < 2 {
		return nil
	}
	if c.Row != "" && chain.DigestOf(c.Row) != fields[1] {
		return fmt.Errorf("message %s: its row does not have the digest that was sealed", id)
	}
	for _, story := range c.Stories {
		if !within(fields[2:], story.Text) || !within(fields[2:], story.Row) {
			return fmt.Errorf("delivery %.26s: its history does not have the digest that was sealed", story.Delivery)
		}
	}
	return nil
}

// within reports whether the digest of a text stands in one of the fields. A text that is left out does.
func within(fields []string, text string) bool {
	for _, field := range fields {
		for _, part := range strings.Split(field, ":") {
			if part == chain.DigestOf(text) {
				return true
			}
		}
	}
	return text == ""
}

func hiddenDigest(salt, text string) string {
	sum := sha256.Sum256([]byte(salt + "\n" + text))
	return hex.EncodeToString(sum[:])
}
