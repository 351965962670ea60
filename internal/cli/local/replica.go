package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

const (
	usualLag    = 30 * time.Second // that a replica may be behind, where read_max_lag says nothing
	replicaLook = 50 * time.Millisecond
)

// shownBy is what a command reads that only looks: the replica of read_dsn as of now, and the database itself without one, or where that does
// not come as far within read_max_lag.
func shownBy(ctx context.Context, sh *shell.Shell, c config.Config, s *store.Store) (*store.Store, error) {
	if c.Server.ReadDSN == "" {
		return s, nil
	}
	copied, err := store.Open(ctx, store.Options{DSN: c.Server.ReadDSN, ReplicaOf: s.DB})
	if err != nil {
		return nil, shell.Hint(shell.Usagef("read_dsn: %w", err), "--read-dsn or POSTHOUSE_READ_DSN names a replica of the database")
	}
	most := cmp.Or(c.Server.ReadMaxLag, usualLag)
	err = awaited(ctx, s, copied, most)
	var none *sqldb.NoReplica
	switch {
	case err == nil:
		return copied, nil
	case errors.As(err, &none):
		return nil, errors.Join(shell.Hint(shell.Usagef("read_dsn: %w", err), "--read-dsn or POSTHOUSE_READ_DSN names a replica of the database"), copied.Close())
	case ctx.Err() != nil:
		return nil, errors.Join(err, copied.Close())
	}
	sh.Notef("The replica is not read, but the database itself: %s\n", err)
	return s, copied.Close()
}

// errBehind says that a replica has not come as far in time as the database was when it was waited for.
var errBehind = errors.New("the replica is too far behind")

// awaited waits until a replica has all that the database had when it was asked. It is a *sqldb.NoReplica where it is none of it.
func awaited(ctx context.Context, s, copied *store.Store, most time.Duration) error {
	position, err := s.DB.Position(ctx)
	if err != nil {
		return err
	}
	tick := time.NewTicker(replicaLook)
	defer tick.Stop()
	late := time.NewTimer(most)
	defer late.Stop()
	for {
		if err := copied.DB.Follows(ctx); err != nil {
			return err
		}
		reached, err := copied.DB.Reached(ctx, position)
		if err != nil {
			return err
		}
		if reached {
			return sameAs(ctx, s, copied)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return fmt.Errorf("%w: more than read_max_lag, %s", errBehind, posthouse.Duration(most))
		case <-tick.C:
		}
	}
}

// sameAs is a *sqldb.NoReplica where a server follows another installation.
func sameAs(ctx context.Context, s, copied *store.Store) error {
	here, _, err := s.Tides.Watermark(ctx)
	if err != nil {
		return err
	}
	there, found, err := copied.Tides.OwnWatermark(ctx)
	if err == nil && (!found && here != (schema.Watermark{}) || there.History != here.History) {
		err = &sqldb.NoReplica{Why: "the replica is of another installation than the database"}
	}
	return err
}
