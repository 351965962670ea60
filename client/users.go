package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Users are the entries of the directory.
type Users struct{ api *caller }

// List lists the directory by id. Of the filter only Cursor and Limit are looked at.
func (c Users) List(ctx context.Context, f Filter) (wire.Page[posthouse.User], error) {
	return get[wire.Page[posthouse.User]](ctx, c.api, path("users"), Filter{Cursor: f.Cursor, Limit: f.Limit}.query())
}

// Find lists the entries whose id, address, name or part of a name begins with a text, at most limit and 100 of them.
func (c Users) Find(ctx context.Context, text string, limit int) (wire.Page[posthouse.User], error) {
	q := Filter{Limit: limit}.query()
	q.Set("find", text)
	return get[wire.Page[posthouse.User]](ctx, c.api, path("users"), q)
}

// Get reads one entry of the directory.
func (c Users) Get(ctx context.Context, id string) (posthouse.User, error) {
	return get[posthouse.User](ctx, c.api, path("users", id), nil)
}

// Put stores up to 10,000 entries, all or none; those there are already are replaced.
func (c Users) Put(ctx context.Context, users ...posthouse.User) (wire.UsersStored, error) {
	return c.put(ctx, nil, users)
}

// Replace makes the directory hold these entries, up to 10,000, and no others, and says what that changes. A dry run changes
// nothing.
func (c Users) Replace(ctx context.Context, dryRun bool, users ...posthouse.User) (wire.UsersStored, error) {
	return c.put(ctx, pruning(dryRun), users)
}

func (c Users) put(ctx context.Context, query url.Values, users []posthouse.User) (wire.UsersStored, error) {
	type entry struct {
		ID        string            `json:"id"`
		Name      string            `json:"name,omitempty"`
		Type      string            `json:"type,omitempty"`
		Addresses map[string]string `json:"addresses,omitempty"`
		Roles     []string          `json:"roles,omitempty"`
		TimeZone  string            `json:"time_zone,omitempty"`
		Language  string            `json:"language,omitempty"`
		Manager   string            `json:"manager,omitempty"`
	}
	list := make([]entry, len(users))
	for i, u := range users {
		list[i] = entry{u.ID, u.Name, u.Type, u.Addresses, u.Roles, u.TimeZone, u.Language, u.Manager}
	}
	r, err := withBody(http.MethodPut, path("users"), map[string][]entry{"users": list})
	if err != nil {
		return wire.UsersStored{}, err
	}
	r.query = query
	return call[wire.UsersStored](ctx, c.api, r)
}

// pruning is the query of a call that replaces all of the directory.
func pruning(dryRun bool) url.Values {
	return url.Values{"prune": {"true"}, "dry_run": {strconv.FormatBool(dryRun)}}
}

// Change changes one entry, and keeps what is not named.
func (c Users) Change(ctx context.Context, id string, change wire.UserChange) (posthouse.User, error) {
	return send[posthouse.User](ctx, c.api, http.MethodPatch, path("users", id), change)
}

// Import stores entries from CSV with the columns id, name, type, roles (with ; between
// them), time_zone, language, manager, and one for each channel that holds the address there.
func (c Users) Import(ctx context.Context, csv []byte) (wire.UsersStored, error) {
	return call[wire.UsersStored](ctx, c.api, request{method: http.MethodPut, path: path("users"), kind: "text/csv", body: csv})
}

// ReplaceFrom is Replace with entries from CSV.
func (c Users) ReplaceFrom(ctx context.Context, dryRun bool, csv []byte) (wire.UsersStored, error) {
	return call[wire.UsersStored](ctx, c.api, request{method: http.MethodPut, path: path("users"), query: pruning(dryRun), kind: "text/csv", body: csv})
}

// Delete deletes one entry.
func (c Users) Delete(ctx context.Context, id string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("users", id)})
	return err
}

// Preferences are what a user wants of messages.
func (c Users) Preferences(ctx context.Context, id string) (posthouse.Preferences, error) {
	return get[posthouse.Preferences](ctx, c.api, path("users", id, "preferences"), nil)
}

// EffectivePreferences are what holds for a user: what the user has chosen, what the tenant says, and when the user is left alone.
func (c Users) EffectivePreferences(ctx context.Context, id string) (wire.EffectivePreferences, error) {
	return get[wire.EffectivePreferences](ctx, c.api, path("users", id, "preferences", "effective"), nil)
}

// Choose stores what a user wants of messages: what is not named is wanted. It holds for all that starts once this has answered. With IfMatch
// it is stored over what was read alone.
func (c Users) Choose(ctx context.Context, id string, p wire.PutPreferences) (posthouse.Preferences, error) {
	return send[posthouse.Preferences](ctx, c.api, http.MethodPut, path("users", id, "preferences"), p)
}

// PreferencesLink makes a link to the page on which a user chooses.
func (c Users) PreferencesLink(ctx context.Context, id string) (wire.PreferencesLink, error) {
	return call[wire.PreferencesLink](ctx, c.api, request{method: http.MethodPost, path: path("users", id, "preferences", "link")})
}

// RevokePreferencesLinks ends all links to the page on which a user chooses.
func (c Users) RevokePreferencesLinks(ctx context.Context, id string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("users", id, "preferences", "link")})
	return err
}
