package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Channels are the configured ways that messages are sent.
type Channels struct{ api *caller }

// Drivers lists the kinds of channels there are.
func (c Channels) Drivers(ctx context.Context) ([]wire.Driver, error) {
	page, err := get[wire.Page[wire.Driver]](ctx, c.api, path("drivers"), nil)
	return page.Items, err
}

// List lists the channels by name, their secrets masked.
func (c Channels) List(ctx context.Context) ([]posthouse.Channel, error) {
	return whole[posthouse.Channel](ctx, c.api, path("channels"))
}

// Get reads one channel, its secrets masked.
func (c Channels) Get(ctx context.Context, name string) (posthouse.Channel, error) {
	return get[posthouse.Channel](ctx, c.api, path("channels", name), nil)
}

// Rates are how fast the accounts of a channel may go now, of those that the process that answers has sent by: of some accounts, or of all
// where none is named.
func (c Channels) Rates(ctx context.Context, name string, accounts ...string) ([]posthouse.Rate, error) {
	return ofAccounts[posthouse.Rate](ctx, c.api, path("channels", name, "rates"), accounts)
}

// Windows are how full the windows are that bound a channel's sends: those of its tenant, its own, and those of some accounts, or of all
// where none is named.
func (c Channels) Windows(ctx context.Context, name string, accounts ...string) ([]wire.Window, error) {
	return ofAccounts[wire.Window](ctx, c.api, path("channels", name, "windows"), accounts)
}

// ofAccounts reads a list to its end, of some accounts or of all.
func ofAccounts[T any](ctx context.Context, c *caller, at string, accounts []string) ([]T, error) {
	list := []T{}
	query := url.Values{"limit": {strconv.Itoa(most)}}
	if len(accounts) > 0 {
		query.Set("account", strings.Join(accounts, ","))
	}
	for {
		page, err := get[wire.Page[T]](ctx, c, at, query)
		if err != nil {
			return nil, err
		}
		if list = append(list, page.Items...); page.Next == "" {
			return list, nil
		}
		query.Set("cursor", page.Next)
	}
}

// RateHistory is how fast an account of a channel could go since a time, at most a day ago, and what made it so. The account has no name where
// the channel sends by one.
func (c Channels) RateHistory(ctx context.Context, name, account string, since time.Time) (wire.RateHistory, error) {
	query := url.Values{}
	if account != "" {
		query.Set("account", account)
	}
	if !since.IsZero() {
		query.Set("since", stamp(since))
	}
	return get[wire.RateHistory](ctx, c.api, path("channels", name, "rate-history"), query)
}

// Put creates a channel or replaces it; created tells which. A masked secret keeps the
// stored one.
func (c Channels) Put(ctx context.Context, ch posthouse.Channel) (stored posthouse.Channel, created bool, err error) {
	r, err := putOf(ch)
	if err != nil {
		return posthouse.Channel{}, false, err
	}
	stored, answer, err := callReply[posthouse.Channel](ctx, c.api, r)
	return stored, answer.status == http.StatusCreated, err
}

// Check says what would be wrong with a channel, and stores nothing.
func (c Channels) Check(ctx context.Context, ch posthouse.Channel) error {
	r, err := putOf(ch)
	if err != nil {
		return err
	}
	r.query = url.Values{"dry_run": {"true"}}
	_, err = c.api.do(ctx, r)
	return err
}

// putOf is the request that stores a channel.
func putOf(ch posthouse.Channel) (request, error) {
	return withBody(http.MethodPut, path("channels", ch.Name), struct {
		Driver string         `json:"driver"`
		Config map[string]any `json:"config,omitempty"`
		posthouse.ChannelSettings
	}{ch.Driver, ch.Config, ch.ChannelSettings})
}

// PutJSON is Put with the body as it is given: the JSON of PUT /v1/channels/{name}, of a driver and what is set. Of what
// a file holds nothing is lost that this client does not know yet.
func (c Channels) PutJSON(ctx context.Context, name string, body []byte) (stored posthouse.Channel, created bool, err error) {
	stored, answer, err := callReply[posthouse.Channel](ctx, c.api, request{
		method: http.MethodPut, path: path("channels", name), kind: "application/json", body: body,
	})
	return stored, answer.status == http.StatusCreated, err
}

// Delete deletes a channel that has no open deliveries.
func (c Channels) Delete(ctx context.Context, name string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("channels", name)})
	return err
}

// Pause stops a channel's starts until it is resumed. The reason is shown with it.
func (c Channels) Pause(ctx context.Context, name, reason string) (posthouse.Channel, error) {
	return c.PauseUntil(ctx, name, wire.Pause{Reason: reason})
}

// PauseUntil stops a channel's starts until a time, at which it goes on by itself; without one until it is resumed.
func (c Channels) PauseUntil(ctx context.Context, name string, pause wire.Pause) (posthouse.Channel, error) {
	return send[posthouse.Channel](ctx, c.api, http.MethodPost, path("channels", name, "pause"), pause)
}

// Resume lets a channel send again, and opens the accounts its provider had refused. With IfMatch it ends the pause that was read, and none that
// somebody has set since.
func (c Channels) Resume(ctx context.Context, name string) (posthouse.Channel, error) {
	return send[posthouse.Channel](ctx, c.api, http.MethodPost, path("channels", name, "resume"), nil)
}

// Test tests a channel without queueing anything.
func (c Channels) Test(ctx context.Context, name string, test wire.ChannelTest) (wire.ChannelTested, error) {
	return send[wire.ChannelTested](ctx, c.api, http.MethodPost, path("channels", name, "test"), test)
}
