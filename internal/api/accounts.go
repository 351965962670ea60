package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Accounts are the accounts that channels send by. What it returns has its secrets masked.
type Accounts interface {
	accountLists
	accountOperations
}

type accountLists interface {
	List(ctx context.Context, tenant, channel, cursor string, limit int) (list []posthouse.Account, next string, err error)
	// Parked lists those that the provider refuses now.
	Parked(ctx context.Context, tenant, channel, cursor string, limit int) (list []posthouse.Account, next string, err error)
	Get(ctx context.Context, tenant, channel, account string) (posthouse.Account, error)
	Put(ctx context.Context, tenant, channel string, list []posthouse.Account, path func(i int) string, dry bool) (stored []posthouse.Account, created int, err error)
	Delete(ctx context.Context, tenant, channel, account string) error
}

type accountOperations interface {
	Pause(ctx context.Context, tenant, channel, account, reason string, until time.Time) error
	Resume(ctx context.Context, tenant, channel, account string) error
	// Test is that of a channel, by one account.
	Test(ctx context.Context, tenant, channel, account string, out channel.Outgoing, by work.Caller, anybody bool) (channel.Outgoing, channel.Result, error)
}

// accounts is the resource of the accounts that channels send by.
type accounts struct {
	Accounts
	drivers Channels
}

var (
	accountBody = web.BodyOf[posthouse.Account]().Loose()
	pauseBody   = web.BodyOf[wire.Pause]().Optional()
)

func (a accounts) routes() []web.Route {
	const all, one = "/v1/channels/{name}/accounts", "/v1/channels/{name}/accounts/{account}"
	return web.Tagged("accounts",
		web.Get(all, reads, "List a channel's accounts by name, secrets masked: all, or with state=parked those that the provider refuses now.", a.list).Query("state").Paged().OfChannel("name"),
		web.Get(one, reads, "One account, secrets masked, with its state as ETag.", a.show).OfChannel("name"),
		web.Put(one, admin, "Create an account or replace it. A masked secret stays as it was.", accountBody, a.put).Answers(http.StatusOK, http.StatusCreated).OfChannel("name").Guarded(),
		web.Delete(one, admin, "Delete an account. What is pinned to it waits for one of its name.", a.remove).OfChannel("name"),
		web.Post(one+"/pause", admin, "Stop its sending, for a time or until it is resumed.", pauseBody, a.pause).OfChannel("name"),
		web.Act(one+"/resume", admin, "Let it send again, also where its provider refused it. With If-Match only where it is as it was read: not where somebody has paused it anew since.", a.resume).OfChannel("name").Guarded(),
		web.Post(one+"/test", admin, "Check the provider by this account, or send a test to one recipient.", testBody, a.test).OfChannel("name"),
	)
}

func (a accounts) list(c *web.Call) (wire.Page[posthouse.Account], error) {
	list := a.List
	switch state := c.Query.Get("state"); posthouse.AccountState(state) {
	case "":
	case posthouse.AccountParked:
		list = a.Parked
	default:
		c.Refuse("query.state", "is %.60q: want parked, or nothing for all", state)
	}
	return paged(c, func(cursor string, limit int) ([]posthouse.Account, string, error) {
		return list(c.Context(), c.Tenant(), c.PathValue("name"), cursor, limit)
	})
}

func (a accounts) get(c *web.Call) (posthouse.Account, error) {
	return a.Get(c.Context(), c.Tenant(), c.PathValue("name"), c.PathValue("account"))
}

// show is get with the tag that a later put may name.
func (a accounts) show(c *web.Call) (posthouse.Account, error) {
	found, err := a.get(c)
	c.Tag(found.Tag())
	return found, err
}

// put takes an account as it is read, so that one can be read, changed and put back.
func (a accounts) put(c *web.Call, in posthouse.Account) (posthouse.Account, error) {
	name := c.PathValue("account")
	if in.Name != "" && in.Name != name {
		c.Refuse("name", "is %.80q, and the path says %q", in.Name, name)
	}
	c.CheckTenant("tenant", in.Tenant)
	if err := c.Wrong(); err != nil {
		return in, err
	}
	in.Name = name
	before, _ := a.get(c)
	stored, created, err := a.Put(c.Context(), c.Tenant(), c.PathValue("name"), []posthouse.Account{in}, func(int) string { return "" }, false)
	if err != nil {
		return in, err
	}
	c.Tag(stored[0].Tag())
	c.Changed(before, stored[0])
	if created > 0 {
		c.Status = http.StatusCreated
		c.Changed(nil, stored[0])
	}
	return stored[0], nil
}

// givenAccounts are accounts with the lines of the text that they stand in, if it has lines.
type givenAccounts struct {
	wire.Accounts
	lines []int
}

// path names an account in problems.
func (g *givenAccounts) path(i int) string {
	if g.lines != nil {
		return fmt.Sprintf("line %d", g.lines[i])
	}
	return fmt.Sprintf("accounts[%d]", i)
}

func (a accounts) remove(c *web.Call) error {
	if before, err := a.get(c); err == nil {
		c.Changed(before, nil)
	}
	return a.Delete(c.Context(), c.Tenant(), c.PathValue("name"), c.PathValue("account"))
}

// checkPause refuses a reason that is too long, and a time that is over.
func checkPause(c *web.Call, in wire.Pause) error {
	c.CheckWord("reason", in.Reason, 255)
	if !in.Until.IsZero() && !in.Until.After(time.Now()) {
		c.Refuse("until", "is %s, which is over: want a time to come", in.Until.Format(time.RFC3339))
	}
	return c.Wrong()
}

func (a accounts) pause(c *web.Call, in wire.Pause) (posthouse.Account, error) {
	if err := checkPause(c, in); err != nil {
		return posthouse.Account{}, err
	}
	c.Asked(in, 1)
	return a.step(c, func() error {
		return a.Pause(c.Context(), c.Tenant(), c.PathValue("name"), c.PathValue("account"), in.Reason, in.Until)
	})
}

// step does something with an account. The audit log, which keeps its channel as what was changed, has from this which account it was.
func (a accounts) step(c *web.Call, do func() error) (posthouse.Account, error) {
	before, err := a.get(c)
	if err == nil {
		err = do()
	}
	if err != nil {
		return posthouse.Account{}, err
	}
	after, err := a.get(c)
	c.Changed(before, after)
	return after, err
}

func (a accounts) resume(c *web.Call) (posthouse.Account, error) {
	return a.step(c, func() error {
		return a.Resume(c.Context(), c.Tenant(), c.PathValue("name"), c.PathValue("account"))
	})
}

func (a accounts) test(c *web.Call, in wire.ChannelTest) (wire.ChannelTested, error) {
	name := c.PathValue("name")
	return try(c, name, channel.Outgoing{Recipient: in.To, Content: testContent(in)}, func(out channel.Outgoing, anybody bool) (channel.Outgoing, channel.Result, error) {
		return a.Test(c.Context(), c.Tenant(), name, c.PathValue("account"), out, c.Caller(), anybody)
	})
}
