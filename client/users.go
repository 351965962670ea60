package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
)

// Imported says how many entries a directory call stored.
type Imported struct {
	Stored int `json:"stored"`
}

// Users lists the directory by id. Of the filter only Cursor and Limit are looked at.
func (c *Client) Users(ctx context.Context, f Filter) (Page[posthouse.User], error) {
	return get[Page[posthouse.User]](ctx, c, path("users"), Filter{Cursor: f.Cursor, Limit: f.Limit}.query())
}

// User reads one entry of the directory.
func (c *Client) User(ctx context.Context, id string) (posthouse.User, error) {
	return get[posthouse.User](ctx, c, path("users", id), nil)
}

// PutUsers stores up to 10,000 entries, all or none; those there are already are replaced.
func (c *Client) PutUsers(ctx context.Context, users ...posthouse.User) (Imported, error) {
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
	return send[Imported](ctx, c, http.MethodPut, path("users"), map[string][]entry{"users": list})
}

// ImportUsers stores entries from CSV with the columns id, name, type, roles (with ; between
// them), and one for each channel that holds the address there.
func (c *Client) ImportUsers(ctx context.Context, csv []byte) (Imported, error) {
	return call[Imported](ctx, c, request{method: http.MethodPut, path: path("users"), kind: "text/csv", body: csv})
}

// DeleteUser deletes one entry.
func (c *Client) DeleteUser(ctx context.Context, id string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: path("users", id)})
	return err
}
