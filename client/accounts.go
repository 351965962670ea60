package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Accounts are those that a channel sends by.
type Accounts struct{ api *caller }

// List lists a channel's accounts by name, their secrets masked. Of the filter only Channel, Cursor and Limit are looked at.
func (c Accounts) List(ctx context.Context, f Filter) (wire.Page[posthouse.Account], error) {
	return get[wire.Page[posthouse.Account]](ctx, c.api, path("channels", f.Channel, "accounts"), Filter{Cursor: f.Cursor, Limit: f.Limit}.query())
}

// Parked lists those of a channel's accounts that the provider refuses now. Of the filter only Channel, Cursor and Limit are looked at.
func (c Accounts) Parked(ctx context.Context, f Filter) (wire.Page[posthouse.Account], error) {
	q := Filter{Cursor: f.Cursor, Limit: f.Limit}.query()
	q.Set("state", string(posthouse.AccountParked))
	return get[wire.Page[posthouse.Account]](ctx, c.api, path("channels", f.Channel, "accounts"), q)
}

// Get reads one account, its secrets masked.
func (c Accounts) Get(ctx context.Context, channel, name string) (posthouse.Account, error) {
	return get[posthouse.Account](ctx, c.api, path("channels", channel, "accounts", name), nil)
}

// Put creates an account or replaces it; created tells which. A masked secret keeps the stored one.
func (c Accounts) Put(ctx context.Context, channel string, a posthouse.Account) (stored posthouse.Account, created bool, err error) {
	body := struct {
		Config map[string]any `json:"config,omitempty"`
		posthouse.AccountSettings
	}{a.Config, a.AccountSettings}
	r, err := withBody(http.MethodPut, path("channels", channel, "accounts", a.Name), body)
	if err != nil {
		return posthouse.Account{}, false, err
	}
	stored, answer, err := callReply[posthouse.Account](ctx, c.api, r)
	return stored, answer.status == http.StatusCreated, err
}

// Import stores up to 10,000 accounts, all or none, from a text of a media type: application/json with a list accounts,
// application/x-ndjson with an account a line, or text/csv. With dry nothing is stored.
func (c Accounts) Import(ctx context.Context, channel, kind string, text []byte, dry bool) (wire.AccountsStored, error) {
	r := request{method: http.MethodPut, path: path("channels", channel, "accounts"), kind: kind, body: text}
	if dry {
		r.query = url.Values{"dry_run": {"true"}}
	}
	return call[wire.AccountsStored](ctx, c.api, r)
}

// Export writes all accounts of a channel to w as they come, by name and with their secrets masked: in the format ndjson, or
// csv without formulas. After an error, w has a part.
func (c Accounts) Export(ctx context.Context, w io.Writer, channel, format string) error {
	return c.api.stream(ctx, request{method: http.MethodGet, path: path("channels", channel, "accounts-export"), query: url.Values{"format": {format}}}, w)
}

// Delete deletes an account. What is pinned to it waits for one of its name.
func (c Accounts) Delete(ctx context.Context, channel, name string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("channels", channel, "accounts", name)})
	return err
}

// Pause stops an account's starts, until a time where one is given.
func (c Accounts) Pause(ctx context.Context, channel, name string, pause wire.Pause) (posthouse.Account, error) {
	return send[posthouse.Account](ctx, c.api, http.MethodPost, path("channels", channel, "accounts", name, "pause"), pause)
}

// Resume lets an account send again, also where its provider refused it. With IfMatch it ends the pause that was read, and none that somebody has
// set since.
func (c Accounts) Resume(ctx context.Context, channel, name string) (posthouse.Account, error) {
	return send[posthouse.Account](ctx, c.api, http.MethodPost, path("channels", channel, "accounts", name, "resume"), nil)
}

// Test tests an account without queueing anything.
func (c Accounts) Test(ctx context.Context, channel, name string, test wire.ChannelTest) (wire.ChannelTested, error) {
	return send[wire.ChannelTested](ctx, c.api, http.MethodPost, path("channels", channel, "accounts", name, "test"), test)
}
