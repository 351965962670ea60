package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

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
		return []finding{{name, false, fmt.Sprintf("%s: a server refuses to start with it", err)}}
	case errors.Is(err, errBehind):
		return []finding{{name, false, fmt.Sprintf("it has not come in %s to where the database was: beyond read_max_lag (%s) lists are read from the database itself", took, posthouse.Duration(most))}}
	case err != nil:
		return []finding{{name, false, fmt.Sprintf("it does not answer, and lists are read from the database itself: %s", err)}}
	}
	return []finding{{name, true, fmt.Sprintf("it follows this database, and had in %s what that had", took)}}
}
