package campaign

import (
	"context"
	"io"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// MakeList makes an empty stored list.
func (d *Desk) MakeList(ctx context.Context, tenant string, in wire.AudienceDraft) (posthouse.Audience, error) {
	if in.Channel != "" && d.o.Channel(tenant, in.Channel) == nil {
		return posthouse.Audience{}, posthouse.Invalid("the audience cannot be made", []posthouse.Problem{{Path: "channel", Message: "there is no such channel, or it is not open"}})
	}
	a, err := d.o.Lists.MakeAudience(ctx, time.Now(), work.Audience{Audience: posthouse.Audience{ID: posthouse.NewID(), Tenant: tenant, Name: in.Name, Channel: in.Channel}})
	return a.Audience, err
}

// Lists lists the stored lists by name.
func (d *Desk) Lists(ctx context.Context, tenant, cursor string, limit int) ([]posthouse.Audience, string, error) {
	return d.o.Lists.Audiences(ctx, tenant, cursor, limit)
}

// ListNamed is a stored list.
func (d *Desk) ListNamed(ctx context.Context, tenant, name string) (posthouse.Audience, error) {
	a, err := d.list(ctx, tenant, name)
	return a.Audience, err
}

func (d *Desk) list(ctx context.Context, tenant, name string) (work.Audience, error) {
	a, found, err := d.o.Lists.Audience(ctx, tenant, name)
	if err == nil && (!found || a.Name == "") {
		err = posthouse.Errorf(posthouse.CodeNotFound, "there is no audience %.80q", name)
	}
	return a, err
}

// ImportList stores a part of a file in a stored list.
func (d *Desk) ImportList(ctx context.Context, tenant, name string, p Part, body io.Reader) (posthouse.Audience, error) {
	a, err := d.list(ctx, tenant, name)
	if err != nil {
		return a.Audience, err
	}
	return d.take(ctx, a, p, body)
}

// RefusedOfList calls each for what could not be read of a stored list's file, in its order.
func (d *Desk) RefusedOfList(ctx context.Context, tenant, name string) (func(each func(audience.Refused) error) error, error) {
	a, err := d.list(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	return d.refusedOf(ctx, a), nil
}
