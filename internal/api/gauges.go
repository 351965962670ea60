package api

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Gauges reads how full the windows of channels are, and how fast their accounts could go.
type Gauges interface {
	Windows(ctx context.Context, tenant, channel string, accounts []string, cursor string, limit int) (list []wire.Window, next string, err error)
	RateHistory(ctx context.Context, tenant, channel, account string, now, since time.Time) (wire.RateHistory, error)
}

// gauges is the resource of what bounds the sends of a channel.
type gauges struct {
	Gauges
	channels Channels
	accounts Accounts
}

// Bounds of what is asked for at once.
const (
	mostGauged  = 200 // accounts
	usualGauges = 50  // windows
	usualRates  = time.Hour
	mostRates   = 24 * time.Hour
)

func (g gauges) routes() []web.Route {
	return web.Tagged("channels",
		web.Get("/v1/channels/{name}/windows", reads, "How full the windows are that bound a channel's sends, and when those open that are full: of its tenant, its own, and those of its accounts.", g.windows).Query("account").Paged().OfChannel("name"),
		web.Get("/v1/channels/{name}/rate-history", reads, "How fast an account of a channel could go in the last hour, up to a day, with all that made up its rate.", g.history).Query("account", "since").OfChannel("name"),
	)
}

// windows lists those of the channel, and of some accounts or of all.
func (g gauges) windows(c *web.Call) (wire.Page[wire.Window], error) {
	var accounts []string
	if text := c.Query.Get("account"); text != "" {
		if accounts = strings.Split(text, ","); len(accounts) > mostGauged {
			c.Refuse("query.account", "names %d accounts: want at most %d", len(accounts), mostGauged)
		}
	}
	cursor, limit, err := c.Page()
	if err != nil {
		return wire.Page[wire.Window]{}, err
	}
	ch, err := g.channels.Get(c.Context(), c.Tenant(), c.PathValue("name"))
	if err != nil {
		return wire.Page[wire.Window]{}, err
	}
	return pageOf(g.Windows(c.Context(), c.Tenant(), ch.Name, accounts, cursor, cmp.Or(limit, usualGauges)))
}

func (g gauges) history(c *web.Call) (wire.RateHistory, error) {
	now, account := time.Now(), c.Query.Get("account")
	since := c.Moment("since")
	switch {
	case since.IsZero():
		since = now.Add(-usualRates)
	case since.After(now):
		c.Refuse("query.since", "is %s, which has not come yet", since.Format(time.RFC3339))
	case now.Sub(since) > mostRates:
		since = now.Add(-mostRates) // nothing is kept of what is older
	}
	if err := c.Wrong(); err != nil {
		return wire.RateHistory{}, err
	}
	ch, err := g.channels.Get(c.Context(), c.Tenant(), c.PathValue("name"))
	if err == nil {
		err = g.paced(c, ch, account)
	}
	if err != nil {
		return wire.RateHistory{}, err
	}
	return g.RateHistory(c.Context(), c.Tenant(), ch.Name, account, now, since)
}

// paced is an error where a channel has no such account, or the account no rate.
func (g gauges) paced(c *web.Call, ch posthouse.Channel, account string) error {
	base := 0.0
	switch {
	case ch.Accounts && account == "":
		return posthouse.Invalid("the query cannot be answered", []posthouse.Problem{{Path: "query.account", Message: "is required: the channel sends by several accounts"}})
	case !ch.Accounts && account != "":
		return posthouse.Errorf(posthouse.CodeNotFound, "the channel %q has no account %q: it sends by one account, its own", ch.Name, account)
	case ch.Accounts:
		a, err := g.accounts.Get(c.Context(), c.Tenant(), ch.Name, account)
		if err != nil {
			return err
		}
		base = a.BaseRate
	}
	if ch.Rate == nil && base == 0 {
		return posthouse.Errorf(posthouse.CodeConflict, "the channel %q has no rate: its accounts go as fast as their limits allow", ch.Name)
	}
	return nil
}
