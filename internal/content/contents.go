package content

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
)

// Store is what is read of the database.
type Store interface {
	Template(ctx context.Context, tenant, name string, version int) (posthouse.Template, error)
	// Sealed are the sealed contents of messages that are not forgotten.
	Sealed(ctx context.Context, tenant string, messages []string) (map[string]string, error)
	Message(ctx context.Context, tenant, id string) (posthouse.Message, int, error)
}

// Sealer encrypts what only its own place may decrypt, which aad names. A keyring does.
type Sealer interface {
	Seal(plain, aad string) (string, error)
	Open(text, aad string) (string, error)
}

// Contents fills, seals and opens.
type Contents struct {
	Store Store
	// Sealer defaults to none: then there can be no sensitive messages.
	Sealer Sealer
	// PlatformURL is put into payloads as platformUrl, where they have none. Defaults to none.
	PlatformURL string
	// Now is the time on the database's clock.
	Now func() time.Time

	known templates
}
