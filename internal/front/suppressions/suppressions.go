// Package suppressions is the resource of addresses to which nothing is sent: one by one, and as files of any length.
package suppressions

import (
	"context"
	"io"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// List is the suppressions of tenants.
type List interface {
	Add(ctx context.Context, tenant string, in wire.SuppressionDraft) ([]posthouse.Suppression, error)
	Remove(ctx context.Context, tenant, channel, address string) error
	Find(ctx context.Context, tenant, channel, address, cursor string, limit int) (list []posthouse.Suppression, next string, err error)
	Import(ctx context.Context, tenant string, f audience.Format, in wire.SuppressionDraft, body io.Reader) (wire.SuppressionImport, error)
	TryImport(ctx context.Context, tenant string, f audience.Format, in wire.SuppressionDraft, body io.Reader) (wire.SuppressionImport, error)
}

// suppressions is the resource.
type suppressions struct{ List }

// Routes are the addresses of suppressions.
func Routes(of List) []web.Route {
	const reads, sends = posthouse.ScopeRead, posthouse.ScopeSend
	s := suppressions{of}
	return web.Tagged("suppressions",
		web.Get("/v1/suppressions", reads, "List the addresses to which nothing is sent, or look one up.", s.list).Query("channel", "address").Paged(),
		web.Post("/v1/suppressions", sends, "Send nothing more to an address. Nothing starts for it once this is answered.", web.BodyOf[wire.SuppressionDraft](), s.add).Audited(),
		web.Act("/v1/suppressions/import", sends, "Import a file of addresses to which nothing is sent. The same file again stores the same.", s.take).
			Query("format", "delimiter", "columns", "address", "encoding", "sheet", "channel", "reason", "until", "dry_run").TakesFile().Audited(),
		web.Delete("/v1/suppressions", sends, "Send to an address again.", s.remove).Query("channel", "address").Audited(),
	)
}

func (s suppressions) list(c *web.Call) (wire.Page[posthouse.Suppression], error) {
	cursor, limit, err := c.Page()
	if err != nil {
		return wire.Page[posthouse.Suppression]{}, err
	}
	list, next, err := s.Find(c.Context(), c.Tenant(), c.Query.Get("channel"), c.Query.Get("address"), cursor, limit)
	if list == nil {
		list = []posthouse.Suppression{}
	}
	return wire.Page[posthouse.Suppression]{Items: list, Next: next}, err
}

func (s suppressions) add(c *web.Call, in wire.SuppressionDraft) (wire.SuppressionsAdded, error) {
	list, err := s.Add(c.Context(), c.Tenant(), in)
	c.Named(in.Address)
	c.Changed(nil, in)
	return wire.SuppressionsAdded{Items: list}, err
}

func (s suppressions) take(c *web.Call) (wire.SuppressionImport, error) {
	format, problems := audience.FormatOf(c.Query)
	c.Add(problems)
	in := wire.SuppressionDraft{Channel: c.Query.Get("channel"), Reason: c.Query.Get("reason"), Until: c.Moment("until")}
	trial := c.Truth("dry_run")
	if err := c.Wrong(); err != nil {
		return wire.SuppressionImport{}, err
	}
	if trial {
		c.Unchanged()
		return s.TryImport(c.Context(), c.Tenant(), format, in, c.File())
	}
	out, err := s.Import(c.Context(), c.Tenant(), format, in, c.File())
	c.Asked(in, int(out.Stored))
	return out, err
}

func (s suppressions) remove(c *web.Call) error {
	address, channel := c.Query.Get("address"), c.Query.Get("channel")
	if err := c.Wrong(); err != nil {
		return err
	}
	c.Named(address)
	c.Changed(wire.SuppressionDraft{Address: address, Channel: channel}, nil)
	return s.Remove(c.Context(), c.Tenant(), channel, address)
}
