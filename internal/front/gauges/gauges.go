// Package gauges is the resource of what bounds the sends of a channel: how full its windows are, and how fast its accounts may go
// and could go.
package gauges

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Reader reads how full the windows of channels are, and how fast their accounts could go. read.Gauges satisfies it.
type Reader interface {
	Windows(ctx context.Context, tenant, channel string, accounts []string, cursor string, limit int) (list []wire.Window, next string, err error)
	RateHistory(ctx context.Context, tenant, channel, account string, now, since time.Time) (wire.RateHistory, error)
}

// Rates tells how fast the accounts of a channel may go now, as this process sees it.
type Rates interface {
	Rates(tenant, channel string) []posthouse.Rate
}

// Channels are the configured ones.
type Channels interface {
	Get(ctx context.Context, tenant, name string) (posthouse.Channel, error)
}

// Accounts are those that they send by.
type Accounts interface {
	Get(ctx context.Context, tenant, channel, account string) (posthouse.Account, error)
}

// gauges is the resource.
type gauges struct {
	Reader
	now      Rates
	channels Channels
	accounts Accounts
}

// Bounds of what is asked for at once.
const (
	mostGauged  = 200 // accounts
	usualGauges = 50  // of a page
	usualRates  = time.Hour
	mostRates   = 24 * time.Hour
)

// Routes are the addresses of gauges.
func Routes(of Reader, now Rates, channels Channels, accounts Accounts) []web.Route {
	const reads = posthouse.ScopeRead
	g := gauges{of, now, channels, accounts}
	return web.Tagged("channels",
		web.Get("/v1/channels/{name}/windows", reads, "How full the windows are that bound a channel's sends, and when those open that are full: of its tenant, its own, and those of its accounts.", g.windows).Query("account").Paged().OfChannel("name"),
		web.Get("/v1/channels/{name}/rates", reads, "How fast each account of a channel may go, of those that this process has sent by, with all that makes up its rate.", g.rates).Query("account").Paged().OfChannel("name"),
		web.Get("/v1/channels/{name}/rate-history", reads, "How fast an account of a channel could go in the last hour, up to a day, with all that made up its rate.", g.history).Query("account", "since").OfChannel("name").Aside(),
	)
}

// named are the accounts that the query names; nil for all.
func named(c *web.Call) []string {
	text := c.Query.Get("account")
	if text == "" {
		return nil
	}
	names := strings.Split(text, ",")
	if len(names) > mostGauged {
		c.Refuse("query.account", "names %d accounts: want at most %d", len(names), mostGauged)
	}
	return names
}

// windows lists those of the channel, and of some accounts or of all.
func (g gauges) windows(c *web.Call) (wire.Page[wire.Window], error) {
	accounts := named(c)
	cursor, limit, err := c.Page()
	if err != nil {
		return wire.Page[wire.Window]{}, err
	}
	ch, err := g.channels.Get(c.Context(), c.Tenant(), c.PathValue("name"))
	if err != nil {
		return wire.Page[wire.Window]{}, err
	}
	list, next, err := g.Windows(c.Context(), c.Tenant(), ch.Name, accounts, cursor, cmp.Or(limit, usualGauges))
	if list == nil {
		list = []wire.Window{}
	}
	return wire.Page[wire.Window]{Items: list, Next: next}, err
}

// rates are those of the accounts that this process has sent by, of some or of all.
func (g gauges) rates(c *web.Call) (wire.Page[posthouse.Rate], error) {
	accounts := named(c)
	cursor, limit, err := c.Page()
	if err != nil {
		return wire.Page[posthouse.Rate]{}, err
	}
	ch, err := g.channels.Get(c.Context(), c.Tenant(), c.PathValue("name"))
	if err != nil {
		return wire.Page[posthouse.Rate]{}, err
	}
	all := g.now.Rates(c.Tenant(), ch.Name)
	if ch.Rate == nil && len(all) == 0 { // an account may have a base of its own
		return wire.Page[posthouse.Rate]{}, noRate(ch)
	}
	list := slices.DeleteFunc(all, func(r posthouse.Rate) bool {
		return " "+r.Account <= cursor || accounts != nil && !slices.Contains(accounts, r.Account)
	})
	slices.SortFunc(list, func(a, b posthouse.Rate) int { return strings.Compare(a.Account, b.Account) })
	page := wire.Page[posthouse.Rate]{Items: append([]posthouse.Rate{}, list...)}
	if limit = cmp.Or(limit, usualGauges); len(list) > limit {
		page.Items, page.Next = page.Items[:limit], " "+list[limit-1].Account
	}
	return page, nil
}

func noRate(ch posthouse.Channel) error {
	return posthouse.Errorf(posthouse.CodeConflict, "the channel %q has no rate: its accounts go as fast as their limits allow", ch.Name)
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
		return noRate(ch)
	}
	return nil
}
