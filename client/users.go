package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Users are the entries of the directory.
type Users struct{ api *caller }

// List lists the directory by id. Of the filter only Cursor and Limit are looked at.
func (c Users) List(ctx context.Context, f Filter) (wire.Page[posthouse.User], error) {
	return get[wire.Page[posthouse.User]](ctx, c.api, path("users"), Filter{Cursor: f.Cursor, Limit: f.Limit}.query())
}

// Get reads one entry of the directory.
func (c Users) Get(ctx context.Context, id string) (posthouse.User, error) {
	return get[posthouse.User](ctx, c.api, path("users", id), nil)
}

// Put stores up to 10,000 entries, all or none; those there are already are replaced.
func (c Users) Put(ctx context.Context, users ...posthouse.User) (wire.Imported, error) {
	type entry struct {
		ID        string            `json:"id"`
		Name      string            `json:"name,omitempty"`
		Type      string            `json:"type,omitempty"`
		Addresses map[string]string `json:"addresses,omitempty"`
		Roles     []string          `json:"roles,omitempty"`
	}
	list := make([]entry, len(users))
	for i, u := range users {
		list[i] = entry{u.ID, u.Name, u.Type, u.Addresses, u.Roles}
	}
	return send[wire.Imported](ctx, c.api, http.MethodPut, path("users"), map[string][]entry{"users": list})
}

// Import stores entries from CSV with the columns id, name, type, roles (with ; between
// them), and one for each channel that holds the address there.
func (c Users) Import(ctx context.Context, csv []byte) (wire.Imported, error) {
	return call[wire.Imported](ctx, c.api, request{method: http.MethodPut, path: path("users"), kind: "text/csv", body: csv})
}

// Delete deletes one entry.
func (c Users) Delete(ctx context.Context, id string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("users", id)})
	return err
}
