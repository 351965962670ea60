package api

import (
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
)

// keyBody is a key to be made.
type keyBody struct {
	Name  string          `json:"name"`
	Scope posthouse.Scope `json:"scope"`
}

// newKey is a key with its secret, which is shown this once.
type newKey struct {
	posthouse.Key
	Secret string `json:"secret" doc:"Goes behind \"Authorization: Bearer\". It is not kept."`
}

var keyReader = bodyOf[keyBody]()

func (a *api) keys(c *call) (answer, error) {
	list, err := a.Store.Keys(c.Context(), c.key.Tenant)
	if err != nil {
		return answer{}, err
	}
	return pageOf(list, "")
}

func (a *api) createKey(c *call) (answer, error) {
	in, err := loose(c, keyReader)
	if err != nil {
		return answer{}, err
	}
	if in.Name == "" && !c.concerns("name") {
		c.refuse("name", "is required: who or what uses the key")
	}
	checkWord(c, "name", in.Name, 255)
	if !in.Scope.Allows(in.Scope) && !c.concerns("scope") {
		c.refuse("scope", "is %.60q: want read, send or admin", in.Scope)
	}
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	id, text := secret.NewKey()
	key := posthouse.Key{ID: id, Tenant: c.key.Tenant, Name: in.Name, Scope: in.Scope, CreatedAt: time.Now().UTC()}
	if err := a.Store.AddKey(c.Context(), time.Now(), key, secret.HashKey(text)); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: newKey{key, secret.FormatKey(id, text)}}, nil
}

func (a *api) revokeKey(c *call) (answer, error) {
	id := c.PathValue("id")
	err := a.Store.RevokeKey(c.Context(), time.Now(), c.key.Tenant, id)
	a.gate.forget(id)
	return none(err)
}
