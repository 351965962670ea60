package wire

import "github.com/posthouse/posthouse"

// Key is a key to be made.
type Key struct {
	Name  string          `json:"name"`
	Scope posthouse.Scope `json:"scope"`
	Agent string          `json:"agent,omitempty" doc:"Whose key it is, of scope agent."`
}

// NewKey is a key with its secret, which is shown this once.
type NewKey struct {
	posthouse.Key
	Secret string `json:"secret" doc:"Goes behind \"Authorization: Bearer\". It is not kept."`
}
