package api

import (
	"context"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Contents opens what is sealed.
type Contents interface {
	Reveal(ctx context.Context, tenant, id string) (posthouse.Message, error)
}

// reveals is the resource of hidden contents. It has an action of its own, contents.reveal, that no permission for messages has in it.
type reveals struct{ contents Contents }

var revealBody = web.BodyOf[wire.Reveal]()

func (r reveals) routes() []web.Route {
	return web.Tagged("contents", web.Post("/v1/messages/{id}/reveal", admin,
		"Show the hidden content of a sensitive message. The audit log has who saw it and why; where that cannot be written nothing is shown.", revealBody, r.reveal).Witnessed())
}

func (r reveals) reveal(c *web.Call, in wire.Reveal) (wire.Revealed, error) {
	if strings.TrimSpace(in.Reason) == "" {
		c.RefuseNew("reason", "is required: it stands in the audit log")
	}
	c.CheckWord("reason", in.Reason, 255)
	if err := c.Wrong(); err != nil {
		return wire.Revealed{}, err
	}
	c.Asked(in, 1)
	m, err := r.contents.Reveal(c.Context(), c.Tenant(), c.PathValue("id"))
	m.Sensitive = false
	m = read.Hidden(m) // the links in it stay masked for each reader
	return wire.Revealed{ID: m.ID, Content: m.Content, Payload: m.Payload}, err
}
