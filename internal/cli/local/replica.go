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
	fmt.Fprintf(sh.Err, "The replica is not read, but the database itself: %s\n", config.Printable(err.Error()))
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

// examineReplica says whether the replica of read_dsn is one of this database, and how far it is behind.
func examineReplica(ctx context.Context, s *store.Store, c config.Config) []finding {
	const name = "read replica"
	if c.Server.ReadDSN == "" {
		return nil
	}
	copied, err := store.Open(ctx, store.Options{DSN: c.Server.ReadDSN, ReplicaOf: s.DB})
	if err != nil {
		return []finding{{name, false, err.Error()}}
	}
	defer copied.Close() //nolint:errcheck // it was only read
	most := cmp.Or(c.Server.ReadMaxLag, usualLag)
	began := time.Now()
	err = awaited(ctx, s, copied, min(most, mostLag))
	took := time.Since(began).Round(time.Millisecond)
	var none *sqldb.NoReplica
	switch {
	case errors.As(err, &none):
		return []finding{{name, false, err.Error() + ": a server refuses to start with it"}}
	case errors.Is(err, errBehind):
		return []finding{{name, false, fmt.Sprintf("it has not come in %s to where the database was: beyond read_max_lag (%s) lists are read from the database itself", took, posthouse.Duration(most))}}
	case err != nil:
		return []finding{{name, false, "it does not answer, and lists are read from the database itself: " + err.Error()}}
	}
	return []finding{{name, true, fmt.Sprintf("it follows this database, and had in %s what that had", took)}}
}
