package api

import (
	"context"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
)

// keyBody is a key to be made.
type keyBody struct {
	Name  string          `json:"name"`
	Scope posthouse.Scope `json:"scope"`
	Agent string          `json:"agent,omitempty" doc:"Whose key it is, of scope agent."`
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
		c.refuse("scope", "is %.60q: want read, send, admin or agent", in.Scope)
	}
	if err := a.checkKeyAgent(c, &in); err != nil {
		return answer{}, err
	}
	key, err := a.makeKey(c.Context(), posthouse.Key{Tenant: c.key.Tenant, Name: in.Name, Scope: in.Scope, Agent: in.Agent})
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: key}, nil
}

// checkKeyAgent checks that a key of scope agent names one that there is, and no other key does.
func (a *api) checkKeyAgent(c *call, in *keyBody) error {
	switch {
	case c.concerns("agent") || c.concerns("scope"):
	case in.Scope != posthouse.ScopeAgent && in.Agent != "":
		c.refuse("agent", "goes with the scope agent")
	case in.Scope == posthouse.ScopeAgent && in.Agent == "":
		c.refuse("agent", "is required: whose key it is")
	case in.Agent != "":
		_, err := a.Store.Agent(c.Context(), c.key.Tenant, in.Agent)
		if posthouse.CodeOf(err) == posthouse.CodeNotFound {
			c.refuse("agent", "there is no agent %.80q", in.Agent)
		} else if err != nil {
			return err
		}
	}
	return c.wrong()
}

// makeKey draws a key and stores it.
func (a *api) makeKey(ctx context.Context, key posthouse.Key) (newKey, error) {
	var text string
	key.ID, text = secret.NewKey()
	key.CreatedAt = time.Now().UTC()
	err := a.Store.AddKey(ctx, key.CreatedAt, key, secret.HashKey(text))
	return newKey{key, secret.FormatKey(key.ID, text)}, err
}

func (a *api) revokeKey(c *call) (answer, error) {
	id := c.PathValue("id")
	err := a.Store.RevokeKey(c.Context(), time.Now(), c.key.Tenant, id)
	a.gate.forget(id)
	return none(err)
}
