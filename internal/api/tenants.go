package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Tenants keeps the parties.
type Tenants interface {
	Tenants(ctx context.Context, cursor string, limit int) (list []posthouse.Tenant, next string, err error)
	Tenant(ctx context.Context, name string) (posthouse.Tenant, error)
	PutTenant(ctx context.Context, now time.Time, t posthouse.Tenant) (posthouse.Tenant, error)
	// Holds counts what a tenant has.
	Holds(ctx context.Context, name string) (wire.TenantHolds, error)
	// RemoveTenant deletes one that has nothing; with all, what is set up with it too.
	RemoveTenant(ctx context.Context, now time.Time, name string, all bool) error
}

// Quotas are those that this process judges by.
type Quotas interface {
	// Refresh takes over what was changed.
	Refresh(ctx context.Context) error
	// Reserve makes room for deliveries of a tenant, or is an error of code quota.
	Reserve(ctx context.Context, tenant string, payer work.Payer, n int) (done func(stored int), err error)
}

// tenants is the resource of tenants. The admins of the tenant default see and change all of them; those of another see
// their own.
type tenants struct {
	store  Tenants
	quotas Quotas
	keys   keys
	// rosters say which days are off.
	rosters Rosters
	// channels have quiet hours of their own.
	channels Channels
}

// calendarsOf reports whether a tenant has the rosters that quiet hours name. One that cannot be read counts as there: the hours hold as if
// it said nothing.
func calendarsOf(c *web.Call, rosters Rosters, tenant string) func(name string) bool {
	return func(name string) bool {
		_, found, err := rosters.Roster(c.Context(), tenant, name)
		return found || err != nil
	}
}

var tenantBody = web.BodyOf[wire.PutTenant]().Loose()

func (t tenants) routes() []web.Route {
	return web.Tagged("tenants",
		web.Get("/v1/tenants", admin, "List the tenants. A key of the tenant default lists all, another one its own.", t.list).Paged().Whole(),
		web.Get("/v1/tenants/{name}", admin, "One tenant, with its quota and what it has.", t.get).Whole(),
		web.Put("/v1/tenants/{name}", admin, "Make a tenant, or change its note, quota, language, quiet hours, caps, and the kinds that people may switch off. It needs a key of the tenant default.", tenantBody, t.put).Answers(http.StatusOK, http.StatusCreated).Guarded().Whole(),
		web.Delete("/v1/tenants/{name}", admin, "Delete a tenant. It is refused while the tenant has anything; with force, what is set up with it is deleted too, but never open deliveries and rows of the outbox. It needs a key of the tenant default.", t.remove).Query("force").Whole(),
		web.Post("/v1/tenants/{name}/keys", admin, "Make a key of a tenant; its secret is shown this once. It needs a key of the tenant default.", keyBody, t.addKey).Answers(http.StatusCreated).Whole(),
	)
}

// rules reports whether the caller may see and change all tenants.
func rules(c *web.Call) bool { return c.Tenant() == posthouse.DefaultTenant }

// sees is an error where the caller does not see the tenant that the path names, as if there were none.
func sees(c *web.Call) error {
	if name := c.PathValue("name"); !rules(c) && name != c.Tenant() {
		return posthouse.Errorf(posthouse.CodeNotFound, "there is no tenant %.80q", name)
	}
	return nil
}

// changes is an error where the caller may not change the tenant that the path names.
func changes(c *web.Call) error {
	if err := sees(c); err != nil || rules(c) {
		return err
	}
	return posthouse.Errorf(posthouse.CodeForbidden, "tenants are changed with keys of the tenant %s: this one's is %.80s", posthouse.DefaultTenant, c.Tenant())
}

func (t tenants) list(c *web.Call) (wire.Page[posthouse.Tenant], error) {
	if rules(c) {
		return paged(c, func(cursor string, limit int) ([]posthouse.Tenant, string, error) {
			return t.store.Tenants(c.Context(), cursor, limit)
		})
	}
	own, err := t.store.Tenant(c.Context(), c.Tenant())
	return wholeOf([]posthouse.Tenant{own}, err)
}

func (t tenants) get(c *web.Call) (wire.Tenant, error) {
	if err := sees(c); err != nil {
		return wire.Tenant{}, err
	}
	found, err := t.store.Tenant(c.Context(), c.PathValue("name"))
	if err != nil {
		return wire.Tenant{}, err
	}
	c.Tag(found.Tag())
	holds, err := t.store.Holds(c.Context(), found.Name)
	return wire.Tenant{Tenant: found, Holds: holds}, err
}

func (t tenants) put(c *web.Call, in wire.PutTenant) (posthouse.Tenant, error) {
	name := c.PathValue("name")
	if err := changes(c); err != nil {
		return posthouse.Tenant{}, err
	}
	c.CheckName("name", name)
	c.CheckWord("note", in.Note, 255)
	c.CheckLanguage("language", &in.Language)
	checkQuota(c, "quota.", in.Quota)
	wrong := quiet.Check("quiet_hours", in.QuietHours, calendarsOf(c, t.rosters, name))
	if len(wrong) == 0 && len(in.QuietHours) > 0 {
		covered, who, err := t.covered(c, name, in.QuietHours)
		if err != nil {
			return posthouse.Tenant{}, err
		}
		if covered != "" && who != "" {
			c.Refuse("quiet_hours", `leave no time to %.80q beside those of the channel %s: nothing would ever be sent to them by it. Want an hour that neither has`, who, covered)
		} else if covered != "" {
			c.Refuse("quiet_hours", `leave no time beside those of the channel %s: nothing would ever be sent by it. Want an hour that neither has`, covered)
		}
	}
	for _, p := range append(wrong, quiet.CheckCaps("caps", in.Caps)...) {
		c.Refuse(p.Path, "%s", p.Message)
	}
	checkKinds(c, &in)
	if err := c.Wrong(); err != nil {
		return posthouse.Tenant{}, err
	}
	before, err := t.store.Tenant(c.Context(), name)
	if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
		return before, err
	}
	stored, err := t.store.PutTenant(c.Context(), time.Now(), posthouse.Tenant{Name: name, Note: in.Note, Quota: in.Quota, Language: in.Language, QuietHours: in.QuietHours, Caps: in.Caps, MandatoryKinds: in.MandatoryKinds, OptionalKinds: in.OptionalKinds})
	if err != nil {
		return stored, err
	}
	c.Changed(before, stored)
	if before.CreatedAt.IsZero() {
		c.Status = http.StatusCreated
		c.Changed(nil, stored)
	}
	c.Tag(stored.Tag())
	return stored, t.quotas.Refresh(c.Context())
}

// covered is the first channel of a tenant whose quiet hours leave no time beside these, empty for none, and the user to whom
// they leave none, empty for everybody.
func (t tenants) covered(c *web.Call, tenant string, hours []posthouse.QuietHours) (channel, who string, err error) {
	for cursor := ""; ; {
		list, next, err := t.channels.List(c.Context(), tenant, cursor, 100)
		if err != nil {
			return "", "", err
		}
		for i := range list {
			if who, covered := quiet.Covered(hours, list[i].QuietHours); covered {
				return list[i].Name, who, nil
			}
		}
		if cursor = next; cursor == "" {
			return "", "", nil
		}
	}
}

func (t tenants) remove(c *web.Call) error {
	name := c.PathValue("name")
	if err := changes(c); err != nil {
		return err
	}
	if name == posthouse.DefaultTenant {
		return posthouse.Errorf(posthouse.CodeConflict, "the tenant %s is the one whose keys make others: it stays", name)
	}
	force := c.Query.Get("force")
	if force != "" && force != "true" && force != "false" {
		c.Refuse("query.force", "is %.60q: want true or false", force)
		return c.Wrong()
	}
	before, err := t.get(c)
	if err != nil {
		return err
	}
	if err := t.store.RemoveTenant(c.Context(), time.Now(), name, force == "true"); err != nil {
		return err
	}
	c.Asked(map[string]bool{"force": force == "true"}, 0)
	c.Changed(before, nil)
	t.keys.gate.ForgetTenant(name)
	return t.quotas.Refresh(c.Context())
}

func (t tenants) addKey(c *web.Call, in wire.Key) (wire.NewKey, error) {
	if err := changes(c); err != nil {
		return wire.NewKey{}, err
	}
	of, err := t.store.Tenant(c.Context(), c.PathValue("name"))
	if err != nil {
		return wire.NewKey{}, err
	}
	return t.keys.create(c, of.Name, in)
}

// maxKinds bounds how many mandatory or optional kinds a tenant has.
const maxKinds = 100

// checkKinds says what is wrong with the kinds that may be switched off, and those that may not.
func checkKinds(c *web.Call, in *wire.PutTenant) {
	for path, kinds := range map[string][]string{"mandatory_kinds": in.MandatoryKinds, "optional_kinds": in.OptionalKinds} {
		if len(kinds) > maxKinds {
			c.Refuse(path, "has %d kinds: at most %d are allowed", len(kinds), maxKinds)
		}
		c.CheckOnce(path, kinds)
		for i, kind := range kinds[:min(len(kinds), maxKinds)] {
			at := fmt.Sprintf("%s[%d]", path, i)
			if kind == "" {
				c.Refuse(at, "is empty: want a kind of messages, such as alarm")
			}
			c.CheckKind(at, kind)
			if path == "optional_kinds" && slices.Contains(in.MandatoryKinds, kind) {
				c.Refuse(at, "%.80q is mandatory too: want it in one of both", kind)
			}
		}
	}
}
