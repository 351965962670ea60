// Package proofs is the resource of signed statements of what became of messages, and of the public keys that they are checked with. What is
// stated, and how, is package proof's.
package proofs

import (
	"context"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Maker makes proofs. proof.Maker satisfies it.
type Maker interface {
	Make(ctx context.Context, v work.Viewer, now time.Time, ask proof.Ask) (wire.Proof, error)
	Keys(ctx context.Context) ([]wire.ProofKey, error)
}

type proofs struct {
	maker Maker
	zone  *time.Location
}

var revealBody = web.BodyOf[wire.ProofReveal]()

// Routes are the addresses of proofs. The zone is of the times on their pages.
func Routes(maker Maker, zone *time.Location) []web.Route {
	p := proofs{maker, zone}
	return append(
		web.Tagged("proofs",
			web.Get("/v1/messages/{id}/proof", posthouse.ScopeRead,
				"A signed statement of what became of a message, which anybody can check without this server. With format=html it is a page to be read and printed.", p.get).
				Query("person", "format", "lang").Of(wire.Proof{}).Audited().Sighted(),
			web.Get("/v1/proof/keys", "", "The public keys that proofs are checked with: those that have signed once stay listed.", p.keys),
		),
		// It shows what is hidden, so it takes the permission for that.
		web.Tagged("contents",
			web.Post("/v1/messages/{id}/proof/reveal", posthouse.ScopeAdmin,
				"A proof that shows the hidden content of a sensitive message. The audit log has who saw it and why; where that cannot be written nothing is shown.", revealBody, p.reveal).
				Query("person", "format", "lang").Of(wire.Proof{}).Witnessed(),
		)...)
}

func (p proofs) get(c *web.Call) (any, error) {
	return p.answer(c, proof.Ask{Message: c.PathValue("id"), Person: c.Query.Get("person")})
}

func (p proofs) reveal(c *web.Call, in wire.ProofReveal) (any, error) {
	if strings.TrimSpace(in.Reason) == "" {
		c.RefuseNew("reason", "is required: it stands in the audit log")
	}
	c.CheckWord("reason", in.Reason, 255)
	c.Asked(in, 1)
	return p.answer(c, proof.Ask{Message: c.PathValue("id"), Person: c.Query.Get("person"), Reveal: true})
}

const formatHTML = "html"

// answer makes a proof, in the form that was asked for.
func (p proofs) answer(c *web.Call, ask proof.Ask) (any, error) {
	format, lang := c.Query.Get("format"), c.Query.Get("lang")
	if format == "" && strings.Contains(c.Header.Get("Accept"), "text/html") {
		format = formatHTML
	}
	if format != "" && format != "json" && format != formatHTML {
		c.Refuse("query.format", "is %.60q: want json or html", format)
	}
	if lang != "" && lang != "zh" && lang != "en" {
		c.Refuse("query.lang", "is %.60q: want zh or en", lang)
	}
	c.CheckWord("query.person", ask.Person, 512)
	if err := c.Wrong(); err != nil {
		return nil, err
	}
	made, err := p.maker.Make(c.Context(), c.Viewer(), time.Now(), ask)
	if err != nil || format != formatHTML {
		return made, err
	}
	if lang == "" && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(c.Header.Get("Accept-Language"))), "en") {
		lang = "zh"
	}
	page, err := proof.Page(made, lang == "zh", p.zone)
	c.Writer.Header().Set("Content-Security-Policy", proof.Policy()+"; frame-ancestors 'none'")
	return web.Raw{Kind: "text/html; charset=utf-8", Text: page}, err
}

func (p proofs) keys(c *web.Call) (wire.Page[wire.ProofKey], error) {
	list, err := p.maker.Keys(c.Context())
	return wire.Page[wire.ProofKey]{Items: list}, err
}
