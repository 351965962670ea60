// Package preferences is where it is chosen what a user of the directory wants of messages: the resource below /v1/users for operators and
// programs, and the page behind a link for the user: one form, no sign-in, no script.
//
// Looking at the page changes nothing. A link is bound to one user and sealed by the keyring: nobody can make one. It is worth nothing after
// its time, or once the user's links were revoked.
//
// It does not decide what is sent: that is internal/suppress.
package preferences

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Store keeps what users prefer.
type Store interface {
	Preferences(ctx context.Context, tenant, user string) (posthouse.Preferences, error)
	ChangePreferences(ctx context.Context, now time.Time, tenant, user string, change func(*posthouse.Preferences) error) (before, after posthouse.Preferences, err error)
}

// Directory knows users.
type Directory interface {
	User(ctx context.Context, tenant, id string) (posthouse.User, error)
}

// Tenants say which kinds may be switched off.
type Tenants interface {
	Tenant(ctx context.Context, name string) (posthouse.Tenant, error)
}

// Choices take over at once what was stored here.
type Choices interface {
	Refresh(ctx context.Context) error
}

// Desk changes preferences, for the resource and for the page. All fields are required.
type Desk struct {
	Store     Store
	Directory Directory
	Tenants   Tenants
	Choices   Choices
	// Channels are the names of a tenant's open channels.
	Channels func(tenant string) []string
	// Settings are those of a tenant's channels, part by part.
	Settings func(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Channel, next string, err error)
	// Zone is the server's: the clock of channels that name none.
	Zone func() string
}

// Bounds of what one user may choose.
const (
	mostOff    = 200
	mostPrefer = 50
)

// tenant is what a tenant says; one that was never stored says nothing.
func (d *Desk) tenant(ctx context.Context, name string) (posthouse.Tenant, error) {
	t, err := d.Tenants.Tenant(ctx, name)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return posthouse.Tenant{Name: name}, nil
	}
	return t, err
}

// check says what is wrong with what is to be stored.
func (d *Desk) check(c *web.Call, tenant posthouse.Tenant, in *wire.PutPreferences) {
	if len(in.Off) > mostOff {
		c.Refuse("off", "has %d entries: at most %d are allowed", len(in.Off), mostOff)
	}
	if len(in.Prefer) > mostPrefer {
		c.Refuse("prefer", "has %d channels: at most %d are allowed", len(in.Prefer), mostPrefer)
	}
	open := d.Channels(tenant.Name)
	slices.Sort(open)
	channel := func(path, name string) {
		if !slices.Contains(open, name) {
			c.Refuse(path, "there is no channel %.80q, or it is not open: want one of %s", name, some(open))
		}
	}
	for i, off := range in.Off[:min(len(in.Off), mostOff)] {
		at := fmt.Sprintf("off[%d]", i)
		if off.Kind == "" && off.Channel == "" {
			c.Refuse(at, `names nothing: want a kind, a channel or both, such as {"kind": "news", "channel": "sms"}`)
		}
		c.CheckKind(at+".kind", off.Kind)
		if off.Kind != "" && slices.Contains(tenant.MandatoryKinds, off.Kind) {
			c.Refuse(at+".kind", "%.80q is mandatory and may not be switched off", off.Kind)
		}
		if off.Channel != "" {
			channel(at+".channel", off.Channel)
		}
	}
	for i, name := range in.Prefer[:min(len(in.Prefer), mostPrefer)] {
		at := fmt.Sprintf("prefer[%d]", i)
		channel(at, name)
		if slices.Index(in.Prefer, name) < i {
			c.Refuse(at, "%.80q is named twice", name)
		}
	}
}

// some are the first of many names, for an error.
func some(names []string) string {
	if len(names) == 0 {
		return "none: no channel is open"
	}
	text := ""
	for i, name := range names[:min(len(names), 10)] {
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}

// change stores what a user prefers. What is named twice is kept once.
func (d *Desk) change(ctx context.Context, tenant, user string, by posthouse.PreferencesBy, change func(*posthouse.Preferences) error) (before, after posthouse.Preferences, err error) {
	before, after, err = d.Store.ChangePreferences(ctx, time.Now(), tenant, user, func(p *posthouse.Preferences) error {
		if err := change(p); err != nil {
			return err
		}
		var off []posthouse.Unwanted
		for _, one := range p.Off {
			if !slices.Contains(off, one) {
				off = append(off, one)
			}
		}
		p.Off, p.By = off, by
		return nil
	})
	if err != nil {
		return before, after, err
	}
	return before, after, d.Choices.Refresh(ctx)
}

// resource is the routes of it.
type resource struct {
	*Desk
	links *Links
}

// Routes are the addresses of preferences.
func Routes(d *Desk, links *Links) []web.Route {
	const reads, admin = posthouse.ScopeRead, posthouse.ScopeAdmin
	r := resource{d, links}
	return web.Tagged("users",
		web.Get("/v1/users/{id}/preferences", reads, "What a user wants of messages.", r.show),
		web.Get("/v1/users/{id}/preferences/effective", reads, "What holds for a user of messages: what the user has chosen, what the tenant says, and when the user is left alone.", r.effective),
		web.Put("/v1/users/{id}/preferences", admin, "Store what a user wants of messages: what is not named is wanted. It holds for all that starts once this is answered.", web.BodyOf[wire.PutPreferences](), r.put).Guarded(),
		web.Act("/v1/users/{id}/preferences/link", admin, "Make a link to the page on which the user chooses. It needs the server's public_url.", r.link).Answers(http.StatusCreated),
		web.Delete("/v1/users/{id}/preferences/link", admin, "Revoke all links to the user's page.", r.revoke),
	)
}

func (r resource) get(c *web.Call) (posthouse.Preferences, error) {
	user := c.PathValue("id")
	if _, err := r.Directory.User(c.Context(), c.Tenant(), user); err != nil {
		return posthouse.Preferences{}, err
	}
	return r.Store.Preferences(c.Context(), c.Tenant(), user)
}

// show is get with the tag that a later change may name.
func (r resource) show(c *web.Call) (posthouse.Preferences, error) {
	p, err := r.get(c)
	c.Tag(p.Tag())
	return p, err
}

// effective says what holds for a user.
func (r resource) effective(c *web.Call) (out wire.EffectivePreferences, err error) {
	user, err := r.Directory.User(c.Context(), c.Tenant(), c.PathValue("id"))
	if err != nil {
		return out, err
	}
	if out.Preferences, err = r.Store.Preferences(c.Context(), c.Tenant(), user.ID); err != nil {
		return out, err
	}
	tenant, err := r.tenant(c.Context(), c.Tenant())
	if err != nil {
		return out, err
	}
	out.MandatoryKinds, out.OptionalKinds = listed(tenant.MandatoryKinds), listed(tenant.OptionalKinds)
	out.Channels, out.QuietHours = slices.Sorted(slices.Values(r.Channels(c.Tenant()))), []wire.EffectiveQuietHours{}
	quiet := func(channel, zone string, hours []posthouse.QuietHours, addresses ...string) {
		for _, q := range hours {
			if len(q.Users) > 0 && !slices.Contains(q.Users, user.ID) && !slices.ContainsFunc(addresses, func(a string) bool { return slices.Contains(q.Users, a) }) {
				continue
			}
			one := wire.EffectiveQuietHours{QuietHours: q, Channel: channel, Zone: zone, ZoneBy: wire.ZoneByChannel, Named: len(q.Users) > 0}
			one.Users = nil // who else is named is not of this user
			switch {
			case user.TimeZone != "":
				one.Zone, one.ZoneBy = user.TimeZone, wire.ZoneByUser
			case q.TimeZone != "":
				one.Zone, one.ZoneBy = q.TimeZone, wire.ZoneByHours
			}
			out.QuietHours = append(out.QuietHours, one)
		}
	}
	quiet("", "", tenant.QuietHours, slices.Collect(maps.Values(user.Addresses))...)
	for cursor := ""; ; {
		list, next, err := r.Settings(c.Context(), c.Tenant(), cursor, 200)
		if err != nil {
			return out, err
		}
		for _, ch := range list {
			quiet(ch.Name, cmp.Or(ch.TimeZone, r.Zone()), ch.QuietHours, user.Addresses[ch.Name])
		}
		if cursor = next; cursor == "" {
			return out, nil
		}
	}
}

// listed is a list that JSON shows as one when it is empty.
func listed(names []string) []string { return append([]string{}, names...) }

func (r resource) put(c *web.Call, in wire.PutPreferences) (posthouse.Preferences, error) {
	tenant, err := r.tenant(c.Context(), c.Tenant())
	if err != nil {
		return posthouse.Preferences{}, err
	}
	tenant.Name = c.Tenant()
	r.check(c, tenant, &in)
	if err := c.Wrong(); err != nil {
		return posthouse.Preferences{}, err
	}
	before, after, err := r.change(c.Context(), c.Tenant(), c.PathValue("id"), posthouse.PreferredByOperator, func(p *posthouse.Preferences) error {
		p.Nothing, p.Off, p.Prefer = in.Nothing, in.Off, in.Prefer
		return nil
	})
	c.Changed(before, after)
	c.Tag(after.Tag())
	return after, err
}

func (r resource) link(c *web.Call) (wire.PreferencesLink, error) {
	of, err := r.get(c)
	if err != nil {
		return wire.PreferencesLink{}, err
	}
	if r.links.PublicURL == "" {
		return wire.PreferencesLink{}, posthouse.Errorf(posthouse.CodeInvalid, "the server has no public_url to make links of: start it with --public-url https://push.example.com")
	}
	url, until, err := r.links.link(c.Tenant(), "", of)
	return wire.PreferencesLink{URL: url, ExpiresAt: until}, err
}

func (r resource) revoke(c *web.Call) error {
	before, after, err := r.Store.ChangePreferences(c.Context(), time.Now(), c.Tenant(), c.PathValue("id"), func(p *posthouse.Preferences) error {
		p.Links++
		return nil
	})
	c.Changed(map[string]int64{"links": before.Links}, map[string]int64{"links": after.Links})
	if err != nil {
		return err
	}
	return r.Choices.Refresh(c.Context()) // the next link is made of the new count
}
