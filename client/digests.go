package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Digests say which messages become one.
type Digests struct{ api *caller }

// List lists the latest version of each digest.
func (c Digests) List(ctx context.Context) ([]posthouse.Digest, error) {
	return whole[posthouse.Digest](ctx, c.api, path("digests"))
}

// Get reads a version of a digest, the latest for 0.
func (c Digests) Get(ctx context.Context, name string, version int) (posthouse.Digest, error) {
	q := url.Values{}
	if version > 0 {
		q.Set("version", strconv.Itoa(version))
	}
	return get[posthouse.Digest](ctx, c.api, path("digests", name), q)
}

// Put stores a new version of a digest.
func (c Digests) Put(ctx context.Context, d posthouse.Digest) (posthouse.Digest, error) {
	return send[posthouse.Digest](ctx, c.api, http.MethodPut, path("digests", d.Name), d)
}

// Delete deletes all versions of a digest. Collections that follow it go on.
func (c Digests) Delete(ctx context.Context, name string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("digests", name)})
	return err
}

// Collections are what digests gather, each for one recipient on one channel.
type Collections struct{ api *caller }

// Get reads one collection.
func (c Collections) Get(ctx context.Context, id string) (posthouse.Collection, error) {
	return get[posthouse.Collection](ctx, c.api, path("collections", id), nil)
}

// List lists collections that are in a state, or in any where it is empty, the newest first. Of the filter, Cursor and Limit are used.
func (c Collections) List(ctx context.Context, state posthouse.CollectionState, f Filter) (wire.Page[posthouse.Collection], error) {
	q := Filter{Cursor: f.Cursor, Limit: f.Limit}.query()
	if state != "" {
		q.Set("state", string(state))
	}
	return get[wire.Page[posthouse.Collection]](ctx, c.api, path("collections"), q)
}

// Leave has a collection leave now that waits for its moment.
func (c Collections) Leave(ctx context.Context, id string) (posthouse.Collection, error) {
	return send[posthouse.Collection](ctx, c.api, http.MethodPost, path("collections", id, "leave"), nil)
}
