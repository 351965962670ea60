package server

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store"
)

// tokens keeps the access tokens of all drivers: in this process's memory, and below it sealed in the
// database for all processes.
type tokens struct {
	memory  channel.MemoryTokens
	store   *store.Store
	keyring *secret.Keyring
}

// Token is channel.Tokens'.
func (t *tokens) Token(ctx context.Context, name, stale string, fetch func(context.Context) (string, time.Duration, error)) (string, error) {
	return t.memory.Token(ctx, name, stale, func(ctx context.Context) (token string, lasts time.Duration, err error) {
		aad := secret.AAD("token", name)
		fits := func(sealed string) bool {
			token, err = t.keyring.Open(sealed, aad) // one of a key that is gone is fetched anew
			return err == nil && token != stale
		}
		_, lasts, err = t.store.Token(ctx, name, fits, func(ctx context.Context) (sealed string, lasts time.Duration, err error) {
			if token, lasts, err = fetch(ctx); err != nil {
				return "", 0, err
			}
			sealed, err = t.keyring.Seal(token, aad)
			return sealed, lasts, err
		})
		return token, lasts, err
	})
}
