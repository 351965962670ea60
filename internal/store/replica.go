package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/store/partition"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/internal/store/registry"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Replica is a copy of the database that follows it, as far as it may be read: what only shows something. It has no claim, no
// limit, no key and no write, so nothing that decides can be given it. Where it does not answer, the database does.
type Replica struct {
	DB       *sqldb.DB
	Messages reading.Messages
	History  reading.History
	Logs     reading.Logs
	Minutes  Minutes
	Audit    Audit

	tides schema.Tides
}

// Minutes are counts that are kept beside the deliveries.
type Minutes interface {
	MinutesOf(ctx context.Context, tenant string, since time.Time) ([]work.Minute, error)
	HoursOf(ctx context.Context, tenant string, since time.Time) ([]work.Minute, error)
	RatesOf(ctx context.Context, tenant, channel, account string, since time.Time) ([]work.RateMinute, error)
}

// Audit is who changed what.
type Audit interface {
	AuditLog(ctx context.Context, f work.AuditFilter) (list []wire.AuditEntry, next string, err error)
}

// OpenReplica opens a copy of the database that follows it. It connects when it is first read; one that cannot be a replica of this
// database, such as another kind of database, is refused at once, by a *sqldb.NoReplica.
func (s *Store) OpenReplica(ctx context.Context, dsn string) (*Replica, error) {
	db, err := sqldb.Open(ctx, Options{DSN: dsn, ReplicaOf: s.DB})
	if err != nil {
		return nil, err
	}
	read, beside := reading.Of(db, partition.Of(db)), registry.Of(db, nil)
	return &Replica{DB: db, Messages: read.Messages, History: read.History, Logs: read.Logs, Minutes: beside.Minutes, Audit: beside.Audit, tides: schema.TidesOf(db)}, nil
}

// Close ends all connections.
func (r *Replica) Close() error { return r.DB.Close() }

// AsOf is the time, by the clock of the database, up to which the replica has all that was written: the mark that servers raise there each
// second. It is a *sqldb.NoReplica where what answers takes writes, or is of another installation than the one that history names.
func (r *Replica) AsOf(ctx context.Context, history string) (time.Time, error) {
	if err := r.DB.Follows(ctx); err != nil {
		return time.Time{}, err
	}
	w, found, err := r.tides.OwnWatermark(ctx)
	switch {
	case err != nil && r.DB.Dialect.Fault(err) != sqldb.FaultNoTable:
		return time.Time{}, err
	case !found:
		return time.Time{}, &sqldb.NoReplica{Why: "no server has ever worked on the database that this replica follows: it is of another installation"}
	case history != "" && w.History != history:
		return time.Time{}, &sqldb.NoReplica{Why: "the replica is of another installation, or of this one before its last new epoch: its history is " + w.History + ", that of the database " + history}
	}
	return w.At, nil
}
