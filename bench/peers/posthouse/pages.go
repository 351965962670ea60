package posthouse

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/server"
)

// Pages is a whole server on a database, which listens nowhere: what it answers is measured at its handler. It returns the key of its API too.
func Pages(ctx context.Context, dsn string) (*server.Server, string, error) {
	key := secret.FormatKey(secret.NewKey())
	s, err := server.New(ctx, server.Options{
		DSN: dsn, NoListen: true, AdminKey: key, Keyring: keyring, Output: io.Discard, Keep: -1,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err == nil {
		err = s.Start(ctx)
	}
	return s, key, err
}
