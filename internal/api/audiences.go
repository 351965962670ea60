package api

import (
	"context"
	"io"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Audiences keeps lists of people that several campaigns use.
type Audiences interface {
	MakeList(ctx context.Context, tenant string, in wire.AudienceDraft) (posthouse.Audience, error)
	Lists(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Audience, next string, err error)
	ListNamed(ctx context.Context, tenant, name string) (posthouse.Audience, error)
	ImportList(ctx context.Context, tenant, name string, p campaign.Part, body io.Reader) (posthouse.Audience, error)
	RefusedOfList(ctx context.Context, tenant, name string) (func(each func(audience.Refused) error) error, error)
}

// audiences is the resource of stored lists.
type audiences struct {
	Audiences
	removals Removals
}

func (s audiences) routes() []web.Route {
	return web.Tagged("audiences",
		web.Get("/v1/audiences", reads, "List the stored lists of people, by name.", s.list).Paged(),
		web.Post("/v1/audiences", sends, "Make an empty list that several campaigns can use.", web.BodyOf[wire.AudienceDraft]().Loose(), s.create).Audited(),
		web.Get("/v1/audiences/{name}", reads, "A stored list, and how far its import is.", s.get),
		web.Delete("/v1/audiences/{name}", sends, "Delete a stored list that no campaign uses.", s.remove).Audited(),
		web.Act("/v1/audiences/{name}/members", sends, "Import a part of a file of people into a stored list.", s.take).Query(fileParams...).TakesFile().Audited(),
		web.Get("/v1/audiences/{name}/refused", reads, "The records that could not be read, with line, column and reason, as lines of JSON or as CSV.", s.refused).Query("format"),
	)
}

func (s audiences) list(c *web.Call) (wire.Page[posthouse.Audience], error) {
	return paged(c, func(cursor string, limit int) ([]posthouse.Audience, string, error) {
		return s.Lists(c.Context(), c.Tenant(), cursor, limit)
	})
}

func (s audiences) create(c *web.Call, in wire.AudienceDraft) (posthouse.Audience, error) {
	c.CheckName("name", in.Name)
	if err := c.Wrong(); err != nil {
		return posthouse.Audience{}, err
	}
	c.Named(in.Name)
	c.Changed(nil, in)
	return s.MakeList(c.Context(), c.Tenant(), in)
}

func (s audiences) get(c *web.Call) (posthouse.Audience, error) {
	return s.ListNamed(c.Context(), c.Tenant(), c.PathValue("name"))
}

func (s audiences) remove(c *web.Call) error {
	return s.removals.DeleteList(c.Context(), c.Tenant(), c.PathValue("name"))
}

func (s audiences) take(c *web.Call) (posthouse.Audience, error) {
	p, err := partOf(c)
	if err != nil {
		return posthouse.Audience{}, err
	}
	c.Asked(p.Format, 0)
	return s.ImportList(c.Context(), c.Tenant(), c.PathValue("name"), p, c.File())
}

func (s audiences) refused(c *web.Call) (any, error) {
	format := formatOf(c)
	if err := c.Wrong(); err != nil {
		return nil, err
	}
	each, err := s.RefusedOfList(c.Context(), c.Tenant(), c.PathValue("name"))
	return listedRefused(format, each, err)
}
