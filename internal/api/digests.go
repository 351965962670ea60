package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/digest"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Digests keeps digests.
type Digests interface {
	PutDigest(ctx context.Context, now time.Time, d posthouse.Digest) (posthouse.Digest, error)
	Digest(ctx context.Context, tenant, name string, version int) (posthouse.Digest, error)
	Digests(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Digest, next string, err error)
	DeleteDigest(ctx context.Context, tenant, name string) error
}

// Collections are read, and leave.
type Collections interface {
	Get(ctx context.Context, v work.Viewer, id string) (posthouse.Collection, error)
	List(ctx context.Context, v work.Viewer, in posthouse.CollectionState, cursor string, limit int) (list []posthouse.Collection, next string, err error)
	Leave(ctx context.Context, v work.Viewer, id string) (posthouse.Collection, error)
}

// digests is the resource of digests, and of the collections that they gather.
type digests struct {
	store     Digests
	gathered  Collections
	templates Templates
}

var digestBody = web.BodyOf[posthouse.Digest]().Loose()

func (d digests) routes() []web.Route {
	return web.Tagged("digests",
		web.Get("/v1/digests", reads, "List digests, the latest version of each.", d.list).Paged(),
		web.Get("/v1/digests/{name}", reads, "A digest, its latest version or a given one.", d.get).Query("version"),
		web.Put("/v1/digests/{name}", admin, "Store a new version.", digestBody, d.put).Guarded(),
		web.Delete("/v1/digests/{name}", admin, "Delete a digest, all versions. Collections that follow it go on.", d.remove),
		web.Get("/v1/collections", reads, "List what digests gather and have gathered, newest first.", d.listGathered).Query("state").Paged().Sighted(),
		web.Get("/v1/collections/{id}", reads, "One collection, with its members.", d.getGathered).Sighted(),
		web.Act("/v1/collections/{id}/leave", sends, "Have a collection leave now that waits for its moment.", d.leave).Audited().Sighted(),
	)
}

func (d digests) list(c *web.Call) (wire.Page[posthouse.Digest], error) {
	return paged(c, func(cursor string, limit int) ([]posthouse.Digest, string, error) {
		return d.store.Digests(c.Context(), c.Tenant(), cursor, limit)
	})
}

func (d digests) get(c *web.Call) (posthouse.Digest, error) {
	version := c.Number("version", 1, 1<<30)
	if err := c.Wrong(); err != nil {
		return posthouse.Digest{}, err
	}
	found, err := d.store.Digest(c.Context(), c.Tenant(), c.PathValue("name"), version)
	c.Tag(found.Tag())
	return found, err
}

func (d digests) put(c *web.Call, in posthouse.Digest) (posthouse.Digest, error) {
	c.NameIn(&in.Name, in.Tenant)
	c.CheckName("name", in.Name)
	in = digest.WithDefaults(in)
	in.Tenant = c.Tenant()
	p := draft.Problems{}
	digest.Check(&in, &p)
	if in.Template != "" {
		found, err := d.templates.Template(c.Context(), in.Tenant, in.Template, 0)
		if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
			return in, err
		}
		if err != nil {
			p.Add("template", "there is no template %.80q: store it first, such as one of the text ${count}: ${list}", in.Template)
		} else if name := unmet(found); name != "" {
			p.Add("template", "is %.80q, which asks for ${%.60s}, and no digest has that: want %s, such as ${count}: ${list}", in.Template, name, strings.Join(digest.Names(), ", "))
		}
	}
	c.Add(p.List)
	if err := c.Wrong(); err != nil {
		return in, err
	}
	before, missing := d.store.Digest(c.Context(), c.Tenant(), in.Name, 0)
	stored, err := d.store.PutDigest(c.Context(), time.Now(), in)
	puts(c, missing == nil, before, stored)
	c.Tag(stored.Tag())
	return stored, err
}

func (d digests) remove(c *web.Call) error {
	before, err := d.store.Digest(c.Context(), c.Tenant(), c.PathValue("name"), 0)
	deletes(c, before, err)
	return d.store.DeleteDigest(c.Context(), c.Tenant(), c.PathValue("name"))
}

func (d digests) listGathered(c *web.Call) (wire.Page[posthouse.Collection], error) {
	state := posthouse.CollectionState(c.Query.Get("state"))
	if state != "" && !slices.Contains(posthouse.CollectionStates(), state) {
		c.Refuse("state", "%s", channel.Want(state, posthouse.CollectionStates()))
	}
	return paged(c, func(cursor string, limit int) ([]posthouse.Collection, string, error) {
		return d.gathered.List(c.Context(), c.Viewer(), state, cursor, limit)
	})
}

func (d digests) getGathered(c *web.Call) (posthouse.Collection, error) {
	return d.gathered.Get(c.Context(), c.Viewer(), c.PathValue("id"))
}

func (d digests) leave(c *web.Call) (posthouse.Collection, error) {
	c.Asked(nil, 1)
	return d.gathered.Leave(c.Context(), c.Viewer(), c.PathValue("id"))
}
