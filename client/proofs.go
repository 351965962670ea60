package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/posthouse/posthouse/wire"
)

// Proof makes a signed statement of what became of a message: of all its recipients, or of one person alone, by the user's id or the address.
func (c Messages) Proof(ctx context.Context, id, person string) (wire.Proof, error) {
	return get[wire.Proof](ctx, c.api, path("messages", id, "proof"), ofPerson(person))
}

// ProofRevealed is Proof with the hidden content of a sensitive message. The reason stands in the audit log, with the caller.
func (c Messages) ProofRevealed(ctx context.Context, id, person, reason string) (wire.Proof, error) {
	r, err := withBody(http.MethodPost, path("messages", id, "proof", "reveal"), wire.ProofReveal{Reason: reason})
	if err != nil {
		return wire.Proof{}, err
	}
	r.query = ofPerson(person)
	return call[wire.Proof](ctx, c.api, r)
}

// ProofKeys lists the public keys that proofs are checked with. It needs no key.
func (c Messages) ProofKeys(ctx context.Context) ([]wire.ProofKey, error) {
	page, err := get[wire.Page[wire.ProofKey]](ctx, c.api, path("proof", "keys"), nil)
	return page.Items, err
}

func ofPerson(person string) url.Values {
	if person == "" {
		return nil
	}
	return url.Values{"person": {person}}
}
