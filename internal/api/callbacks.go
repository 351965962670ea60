package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/callback"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Callbacks keeps the addresses at which providers call us.
type Callbacks interface {
	AddCallback(ctx context.Context, now time.Time, c work.CallbackAddress, most int) (work.CallbackAddress, error)
	Callbacks(ctx context.Context, tenant, channel string) ([]work.CallbackAddress, error)
	DeleteCallback(ctx context.Context, now time.Time, tenant, channel, address string) error
}

// callbacks is the resource of those addresses, and of what comes in at them.
type callbacks struct {
	store    Callbacks
	channels Channels
	accounts Accounts
	desk     http.Handler
}

// maxCallbacks bounds the addresses of a channel or an account: the one in use, and the one that replaces it.
const maxCallbacks = 2

var callbackBody = web.BodyOf[wire.NewCallback]().Optional()

func (s callbacks) routes() []web.Route {
	const all, one = "/v1/channels/{name}/callbacks", callback.Path + "{address}"
	if s.desk == nil {
		s.desk = http.NotFoundHandler()
	}
	return append(web.Tagged("channels",
		web.Get(all, reads, "List the addresses at which the provider calls us for a channel and its accounts.", s.list).OfChannel("name"),
		web.Post(all, admin, "Make an address at which the provider calls us, for a channel whose driver takes callbacks. Two may be there at once, so that one can replace the other.", callbackBody, s.create).Answers(http.StatusCreated).OfChannel("name"),
		web.Delete(all+"/{address}", admin, "Delete an address: who calls it is refused.", s.remove).OfChannel("name"),
	), web.Tagged("callbacks",
		web.Plain(http.MethodGet, one, "A provider looks whether an address is ours. Its driver verifies the signature.", s.desk),
		web.Plain(http.MethodPost, one, "A provider tells what became of a message, in its own form. Its driver verifies the signature; whoever is refused is told nothing.", s.desk),
	)...)
}

func (s callbacks) list(c *web.Call) (wire.Page[wire.Callback], error) {
	if _, err := s.channels.Get(c.Context(), c.Tenant(), c.PathValue("name")); err != nil {
		return wire.Page[wire.Callback]{}, err
	}
	list, err := s.store.Callbacks(c.Context(), c.Tenant(), c.PathValue("name"))
	items := make([]wire.Callback, len(list))
	for i, a := range list {
		items[i] = shownCallback(a)
	}
	return wholeOf(items, err)
}

func shownCallback(a work.CallbackAddress) wire.Callback {
	return wire.Callback{Address: a.Address, Path: callback.Path + a.Address, Account: a.Account, CreatedAt: a.CreatedAt}
}

func (s callbacks) create(c *web.Call, in wire.NewCallback) (wire.Callback, error) {
	ch, err := s.channels.Get(c.Context(), c.Tenant(), c.PathValue("name"))
	if err != nil {
		return wire.Callback{}, err
	}
	if !s.takesCallbacks(ch.Driver) {
		return wire.Callback{}, posthouse.Errorf(posthouse.CodeConflict, "the driver %q takes no callbacks", ch.Driver)
	}
	c.CheckWord("account", in.Account, 255)
	if err := c.Wrong(); err != nil {
		return wire.Callback{}, err
	}
	if in.Account != "" {
		if _, err := s.accounts.Get(c.Context(), c.Tenant(), ch.Name, in.Account); err != nil {
			c.Refuse("account", "is %.80q: the channel has no such account", in.Account)
			return wire.Callback{}, c.Wrong()
		}
	}
	made, err := s.store.AddCallback(c.Context(), time.Now(), work.CallbackAddress{Address: callback.NewAddress(), Tenant: c.Tenant(), Channel: ch.Name, Account: in.Account}, maxCallbacks)
	if err != nil {
		return wire.Callback{}, err
	}
	out := shownCallback(made)
	c.Changed(nil, out)
	return out, nil
}

// takesCallbacks says whether a driver does.
func (s callbacks) takesCallbacks(driver string) bool {
	return slices.ContainsFunc(s.channels.Types(), func(t channel.Type) bool { return t.Name == driver && t.Callbacks })
}

func (s callbacks) remove(c *web.Call) error {
	c.Asked(map[string]string{"address": c.PathValue("address")}, 1)
	return s.store.DeleteCallback(c.Context(), time.Now(), c.Tenant(), c.PathValue("name"), c.PathValue("address"))
}
