package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/quota"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Keys keeps API keys.
type Keys interface {
	keyReads
	AddKey(ctx context.Context, now time.Time, key posthouse.Key, hash string) error
	RevokeKey(ctx context.Context, now time.Time, tenant, id string) error
	// ExpireKey ends a key after a while, unless it ends before.
	ExpireKey(ctx context.Context, now time.Time, tenant, id string, after time.Duration) error
	// SetKeyQuota bounds what a key may ask for.
	SetKeyQuota(ctx context.Context, now time.Time, tenant, id string, quota posthouse.Quota) (posthouse.Key, error)
}

type keyReads interface {
	Keys(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Key, next string, err error)
	// KeyHash reads a key of any tenant.
	KeyHash(ctx context.Context, id string) (key posthouse.Key, hash string, found bool, err error)
}

// AgentReader reads one agent. An error of code not_found says that there is none.
type AgentReader interface {
	Agent(ctx context.Context, tenant, id string) (posthouse.Agent, error)
}

// keys is the resource of API keys.
type keys struct {
	store  Keys
	agents AgentReader
	gate   *web.Gate
	// actions are the names of what keys can be narrowed to.
	actions func() []string
}

// Bounds of how long a key is valid beside the one that takes its place.
const (
	defaultOverlap = 24 * time.Hour
	maxOverlap     = 30 * 24 * time.Hour
)

var (
	keyBody    = web.BodyOf[wire.Key]().Loose()
	quotaBody  = web.BodyOf[posthouse.Quota]().Loose()
	rotateBody = web.BodyOf[wire.RotateKey]().Optional()
)

func (k keys) routes() []web.Route {
	return web.Tagged("keys",
		web.Get("/v1/keys", admin, "List API keys; secrets are not kept.", k.list).Paged().Whole(),
		web.Post("/v1/keys", admin, "Make a key; its secret is shown this once.", keyBody, k.add).Answers(http.StatusCreated).Whole(),
		web.Post("/v1/keys/{id}/rotate", admin, "Make another key like it, and let the old one end after an overlap; the new secret is shown this once.", rotateBody, k.rotate).Answers(http.StatusCreated).Whole(),
		web.Put("/v1/keys/{id}/quota", admin, "Bound what a key may ask for; an empty quota bounds nothing.", quotaBody, k.bound).Whole(),
		web.Delete("/v1/keys/{id}", admin, "Revoke a key.", k.revoke).Whole(),
	)
}

func (k keys) list(c *web.Call) (wire.Page[posthouse.Key], error) {
	return paged(c, func(cursor string, limit int) ([]posthouse.Key, string, error) {
		return k.store.Keys(c.Context(), c.Tenant(), cursor, limit)
	})
}

func (k keys) add(c *web.Call, in wire.Key) (wire.NewKey, error) { return k.create(c, c.Tenant(), in) }

// create makes a key of a tenant.
func (k keys) create(c *web.Call, tenant string, in wire.Key) (wire.NewKey, error) {
	if in.Name == "" {
		c.RefuseNew("name", "is required: who or what uses the key")
	}
	c.CheckWord("name", in.Name, 255)
	c.CheckWord("note", in.Note, 255)
	if !in.ExpiresAt.IsZero() && !in.ExpiresAt.After(time.Now()) {
		c.RefuseNew("expires_at", "is %s, which has passed", in.ExpiresAt.Format(time.RFC3339))
	}
	if !in.Scope.Allows(in.Scope) {
		c.RefuseNew("scope", "%s", channel.Want(in.Scope, []posthouse.Scope{posthouse.ScopeRead, posthouse.ScopeSend, posthouse.ScopeAdmin, posthouse.ScopeAgent}))
	}
	k.checkLimits(c, &in)
	checkGrants(c, &in)
	checkQuota(c, "quota.", in.Quota)
	if err := k.checkAgent(c, tenant, &in); err != nil {
		return wire.NewKey{}, err
	}
	made, err := k.make(c.Context(), posthouse.Key{Tenant: tenant, Name: in.Name, Scope: in.Scope, Agent: in.Agent, Note: in.Note, ExpiresAt: in.ExpiresAt.UTC(), KeyLimits: in.KeyLimits, Grants: in.Grants, Quota: in.Quota})
	c.Named(made.ID)
	c.Changed(nil, made.Key) // without its secret
	return made, err
}

// checkGrants checks what a key may do beyond its scope.
func checkGrants(c *web.Call, in *wire.Key) {
	for i, g := range in.Grants {
		at := fmt.Sprintf("grants[%d]", i)
		switch {
		case !slices.Contains(posthouse.Grants(), g):
			c.RefuseNew(at, "is %.60q: want %s", g, web.Words(posthouse.Grants()))
		case in.Scope != posthouse.ScopeSend && in.Scope != posthouse.ScopeAdmin:
			c.RefuseNew(at, "does not go with the scope %s, which hands in no messages", in.Scope)
		}
	}
}

// maxLimits bounds each list that a key is narrowed to.
const maxLimits = 50

// checkLimits checks what a key is narrowed to. A channel may come later; an action that there is not would be a mistake
// that nobody sees.
func (k keys) checkLimits(c *web.Call, in *wire.Key) {
	for _, l := range []struct {
		name string
		list []string
	}{{"channels", in.Channels}, {"kinds", in.Kinds}, {"actions", in.Actions}} {
		if len(l.list) > 0 && in.Scope == posthouse.ScopeAgent {
			c.RefuseNew(l.name, "does not go with the scope agent: the agent has channels of its own")
		}
		if len(l.list) > maxLimits {
			c.RefuseNew(l.name, "has %d entries: at most %d are allowed", len(l.list), maxLimits)
		}
		c.CheckOnce(l.name, l.list)
		for i, word := range l.list {
			at := fmt.Sprintf("%s[%d]", l.name, i)
			if word == "" && l.name != "kinds" {
				c.RefuseNew(at, "is empty")
			}
			c.CheckWord(at, word, 128)
		}
	}
	for i, pattern := range in.Actions {
		if !slices.ContainsFunc(k.actions(), func(a string) bool { return web.Matches([]string{pattern}, a) }) {
			c.RefuseNew(fmt.Sprintf("actions[%d]", i), "is %.60q: there is no such action; want some of %s, with * for a part", pattern, web.Words(k.actions()))
		}
	}
}

// checkAgent checks that a key of scope agent names one that there is, and no other key does.
func (k keys) checkAgent(c *web.Call, tenant string, in *wire.Key) error {
	switch {
	case c.Concerns("agent") || c.Concerns("scope"):
	case in.Scope != posthouse.ScopeAgent && in.Agent != "":
		c.Refuse("agent", "goes with the scope agent")
	case in.Scope == posthouse.ScopeAgent && in.Agent == "":
		c.Refuse("agent", "is required: whose key it is")
	case in.Agent != "":
		_, err := k.agents.Agent(c.Context(), tenant, in.Agent)
		if posthouse.CodeOf(err) == posthouse.CodeNotFound {
			c.Refuse("agent", "there is no agent %.80q", in.Agent)
		} else if err != nil {
			return err
		}
	}
	return c.Wrong()
}

// make draws a key and stores it.
func (k keys) make(ctx context.Context, key posthouse.Key) (wire.NewKey, error) {
	var text string
	key.ID, text = secret.NewKey()
	key.CreatedAt = time.Now().UTC()
	err := k.store.AddKey(ctx, key.CreatedAt, key, secret.HashKey(text))
	return wire.NewKey{Key: key, Secret: secret.FormatKey(key.ID, text)}, err
}

// rotate makes a key like another one, which goes on for a while.
func (k keys) rotate(c *web.Call, in wire.RotateKey) (wire.NewKey, error) {
	overlap := defaultOverlap
	if in.Overlap != nil {
		overlap = in.Overlap.Std()
	}
	if overlap < 0 || overlap > maxOverlap {
		c.Refuse("overlap", "is %s: want 0s to %s", posthouse.Duration(overlap), posthouse.Duration(maxOverlap))
		return wire.NewKey{}, c.Wrong()
	}
	old, err := k.valid(c, c.PathValue("id"))
	if err != nil {
		return wire.NewKey{}, err
	}
	made, err := k.make(c.Context(), posthouse.Key{Tenant: old.Tenant, Name: old.Name, Scope: old.Scope, Agent: old.Agent, Note: old.Note, ExpiresAt: old.ExpiresAt, KeyLimits: old.KeyLimits, Grants: old.Grants, Quota: old.Quota})
	if err == nil {
		err = k.store.ExpireKey(c.Context(), time.Now(), old.Tenant, old.ID, overlap)
	}
	k.gate.Forget(old.ID)
	c.Changed(old, made.Key)
	return made, err
}

// valid is a key of the caller's tenant that has not ended.
func (k keys) valid(c *web.Call, id string) (posthouse.Key, error) {
	key, _, found, err := k.store.KeyHash(c.Context(), id)
	if err != nil {
		return posthouse.Key{}, err
	}
	if !found || key.Tenant != c.Tenant() || !key.RevokedAt.IsZero() || !key.ExpiresAt.IsZero() && !key.ExpiresAt.After(time.Now()) {
		return posthouse.Key{}, posthouse.Errorf(posthouse.CodeNotFound, "there is no key %.80q that is valid", id)
	}
	return key, nil
}

// bound sets a key's quota.
func (k keys) bound(c *web.Call, in posthouse.Quota) (posthouse.Key, error) {
	checkQuota(c, "", in)
	if err := c.Wrong(); err != nil {
		return posthouse.Key{}, err
	}
	old, err := k.valid(c, c.PathValue("id"))
	if err != nil {
		return old, err
	}
	changed, err := k.store.SetKeyQuota(c.Context(), time.Now(), old.Tenant, old.ID, in)
	k.gate.Forget(old.ID)
	c.Changed(old, changed)
	return changed, err
}

func (k keys) revoke(c *web.Call) error {
	id := c.PathValue("id")
	before, err := k.valid(c, id)
	deletes(c, before, err)
	err = k.store.RevokeKey(c.Context(), time.Now(), c.Tenant(), id)
	k.gate.Forget(id)
	return err
}

// revokeOf ends every key of an agent but those named.
func (k keys) revokeOf(ctx context.Context, tenant, agent string, but ...string) error {
	part := func(cursor string) ([]posthouse.Key, string, error) {
		return k.store.Keys(ctx, tenant, cursor, web.MaxPage)
	}
	return everyOf(part, func(key *posthouse.Key) error {
		if key.Agent != agent || !key.RevokedAt.IsZero() || slices.Contains(but, key.ID) {
			return nil
		}
		if err := k.store.RevokeKey(ctx, time.Now(), tenant, key.ID); err != nil {
			return err
		}
		k.gate.Forget(key.ID)
		return nil
	})
}

// checkQuota checks a quota whose fields' paths begin so.
func checkQuota(c *web.Call, at string, q posthouse.Quota) {
	for _, p := range quota.Check(q) {
		c.RefuseNew(at+p.Path, "%s", p.Message)
	}
}
