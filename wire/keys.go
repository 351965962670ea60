package wire

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Key is a key to be made.
type Key struct {
	Name  string          `json:"name"`
	Scope posthouse.Scope `json:"scope"`
	Agent string          `json:"agent,omitempty" doc:"Whose key it is, of scope agent."`
	Note  string          `json:"note,omitempty" doc:"For people, up to 255 bytes."`
	// ExpiresAt ends the key by itself. Defaults to never.
	ExpiresAt time.Time `json:"expires_at,omitzero" doc:"When the key ends by itself. Defaults to never."`
	// KeyLimits narrow what it may do within its scope. Defaults to nothing.
	posthouse.KeyLimits
	// Grants are what it may do beyond its scope. Defaults to nothing.
	Grants []posthouse.Grant `json:"grants,omitempty" doc:"What it may do beyond its scope. mention_all is to call everybody in a group; keys of scope admin may."`
	// Quota bounds how much it may ask for. Defaults to no bounds.
	Quota posthouse.Quota `json:"quota,omitzero" doc:"How much may be asked for with it. Defaults to no bounds."`
}

// RotateKey makes a key anew.
type RotateKey struct {
	Overlap *posthouse.Duration `json:"overlap,omitempty" doc:"How long the old key stays valid beside the new one, at most 30d. Defaults to 24h; 0s ends it at once."`
}

// NewKey is a key with its secret, which is shown this once.
type NewKey struct {
	posthouse.Key
	Secret string `json:"secret" doc:"Goes behind \"Authorization: Bearer\". It is not kept."`
}
