package channels

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/secret"
)

// Tokens keeps the access tokens of all drivers: in this process's memory, and below it sealed in the
// database for all processes.
type Tokens struct {
	Rows    TokenRows
	Keyring Keyring

	memory channel.MemoryTokens
}

// Token is channel.Tokens'.
func (t *Tokens) Token(ctx context.Context, name, stale string, fetch func(context.Context) (string, time.Duration, error)) (string, error) {
	return t.memory.Token(ctx, name, stale, func(ctx context.Context) (token string, lasts time.Duration, err error) {
		aad := secret.AAD("token", name)
		fits := func(sealed string) bool {
			token, err = t.Keyring.Open(sealed, aad) // one of a key that is gone is fetched anew
			return err == nil && token != stale
		}
		_, lasts, err = t.Rows.Token(ctx, name, fits, func(ctx context.Context) (sealed string, lasts time.Duration, err error) {
			if token, lasts, err = fetch(ctx); err != nil {
				return "", 0, err
			}
			sealed, err = t.Keyring.Seal(token, aad)
			return sealed, lasts, err
		})
		return token, lasts, err
	})
}
