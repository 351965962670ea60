package lksms

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
)

// caller is who asks: the shared pair, or a key.
type caller struct {
	tenant string
	shared bool
	key    posthouse.Key
}

// may says why the caller may not do something with the tasks of a channel. The shared pair may do everything.
func (c caller) may(r route, channel string) error {
	if c.shared {
		return nil
	}
	if err := web.Permit(c.key, web.Use{Scope: r.scope, Action: r.action, Sight: r.sight}); err != nil {
		return err
	}
	if !web.SightOf(c.key).Covers(channel, kind) {
		return refuse(http.StatusForbidden, "the key is for other channels or kinds than %s and %s", channel, kind)
	}
	return nil
}

// behalf is what the caller sees and pays by. The shared pair sees everything, and calls nobody but those it names.
func (c caller) behalf() work.Caller {
	if c.shared {
		return work.Caller{Sight: work.SeeAll()}
	}
	return web.CallerOf(c.key)
}

// viewer is the caller that reads.
func (c caller) viewer() work.Viewer { return work.Viewer{Tenant: c.tenant, Sight: c.behalf().Sight} }

// mayBe reports whether the caller may act as an app.
func (c caller) mayBe(app string) bool { return c.shared || c.key.Agent == app }

// errNobody says nothing about which part was wrong.
var errNobody = &refusal{http.StatusUnauthorized, "the user name or the password is wrong: HTTP Basic is wanted, with the shared pair or an API key as the password"}

// enter finds out who asks.
func (d *door) enter(r *http.Request) (caller, error) {
	user, password, ok := r.BasicAuth()
	if bearer, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); found {
		password, ok = strings.TrimSpace(bearer), true
		if _, _, isKey := secret.ParseKey(password); !isKey {
			return caller{}, errNobody
		}
	}
	if !ok {
		return caller{}, errNobody
	}
	if _, _, isKey := secret.ParseKey(password); isKey {
		return d.withKey(r, password)
	}
	right, err := d.Gate.Judge(web.Guess{Of: web.PeerOf(r), User: user, Password: password}, func() (bool, error) { return d.isShared(user, password), nil })
	if err != nil || !right {
		return caller{}, cmp.Or(err, error(errNobody))
	}
	return caller{tenant: posthouse.DefaultTenant, shared: true}, nil
}

// isShared reports whether these are the pair that all may share. Hashes have one length, so that the time does not tell how long the
// real ones are.
func (d *door) isShared(user, password string) bool {
	u, p := sha256.Sum256([]byte(user)), sha256.Sum256([]byte(password))
	return subtle.ConstantTimeCompare(u[:], d.user[:])&subtle.ConstantTimeCompare(p[:], d.password[:]) == 1
}

// withKey lets in who shows an API key.
func (d *door) withKey(r *http.Request, text string) (caller, error) {
	key, err := d.Gate.Key(r.Context(), text, web.AddressOf(r))
	if posthouse.CodeOf(err) == posthouse.CodeUnauthorized {
		return caller{}, errNobody
	}
	return caller{tenant: key.Tenant, key: key}, err
}

// pass lets a request of a caller pass whose quota has room for it. The shared pair counts for its tenant.
func (d *door) pass(c *call) error {
	if d.Rates == nil {
		return nil
	}
	key := c.who.key
	key.Tenant = c.who.tenant
	return d.Rates.Request(c.Context(), key)
}
