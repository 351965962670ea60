package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// People are those who use the console. A key of the tenant default looks after them.
type People struct{ api *caller }

// List lists people by name.
func (c People) List(ctx context.Context) ([]posthouse.Person, error) {
	return whole[posthouse.Person](ctx, c.api, path("people"))
}

// Get reads one person.
func (c People) Get(ctx context.Context, name string) (posthouse.Person, error) {
	return get[posthouse.Person](ctx, c.api, path("people", name), nil)
}

// Put makes a person, or replaces title, roles and whether the person is kept out.
func (c People) Put(ctx context.Context, name string, p wire.PutPerson) (posthouse.Person, error) {
	return send[posthouse.Person](ctx, c.api, http.MethodPut, path("people", name), p)
}

// Delete deletes a person.
func (c People) Delete(ctx context.Context, name string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("people", name)})
	return err
}

// Link makes a link by which a person signs in once.
func (c People) Link(ctx context.Context, name string) (wire.PersonLink, error) {
	return send[wire.PersonLink](ctx, c.api, http.MethodPost, path("people", name, "link"), nil)
}

// SignOut ends all sessions and links of a person.
func (c People) SignOut(ctx context.Context, name string) (wire.SignedOut, error) {
	return send[wire.SignedOut](ctx, c.api, http.MethodPost, path("people", name, "sign-out"), nil)
}

// ResetTOTP turns a person's one-time codes off.
func (c People) ResetTOTP(ctx context.Context, name string) (posthouse.Person, error) {
	return send[posthouse.Person](ctx, c.api, http.MethodPost, path("people", name, "reset-totp"), nil)
}
