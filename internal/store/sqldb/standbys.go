package sqldb

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// HostSaid is what one of several hosts of a DSN says of itself.
type HostSaid struct {
	Name     string
	Err      error // it did not answer
	Standby  bool
	Timeline int64         // of a primary
	Ahead    time.Duration // of its clock before this machine's, as far as the way lets one tell
	Behind   int64         // transactions that a replica of MariaDB has not applied
	Node     string        // its name in a Galera cluster
}

// Hosts asks each host of a DSN that names several. Of others there is nothing to ask.
func (s *DB) Hosts(ctx context.Context) []HostSaid {
	if s.mysql != nil {
		return s.mysql.hostsSaid(ctx)
	}
	if s.primary == nil || len(s.primary.hosts) < 2 {
		return nil
	}
	list := make([]HostSaid, len(s.primary.hosts))
	for i, h := range s.primary.hosts {
		list[i] = s.primary.hear(ctx, h)
	}
	return list
}

func (p *primary) hear(ctx context.Context, h host) HostSaid {
	out := HostSaid{Name: h.name}
	ctx, cancel := context.WithTimeout(ctx, 2*primaryPatient)
	defer cancel()
	config := p.probe.Copy()
	inOrder(config, []host{h})
	c, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		out.Err = err
		return out
	}
	defer shutPostgres(c)
	said, err := ask(ctx, c)
	if err != nil {
		out.Err = err
		return out
	}
	out.Standby, out.Timeline = said.readOnly, said.timeline
	asked := time.Now()
	results, err := c.Exec(ctx, postgresClock).ReadAll()
	if err != nil {
		out.Err = err
		return out
	}
	at, err := strconv.ParseInt(string(results[0].Rows[0][0]), 10, 64)
	out.Err, out.Ahead = err, TimeOf(at).Sub(asked.Add(time.Since(asked)/2))
	return out
}

// Standby is one that follows a PostgreSQL server. A user without the right pg_monitor is told its name alone.
type Standby struct {
	Name, State string
	Waited      bool  // commits wait for it
	Behind      int64 // bytes of the log that it has not replayed; -1 where that is not told
	Lag         time.Duration
}

// Standbys are they, and for whom commits wait: synchronous_standby_names, empty for nobody.
func (s *DB) Standbys(ctx context.Context) (waits string, list []Standby, err error) {
	if s.primary == nil || s.Dialect == MySQL {
		return "", nil, nil
	}
	waits, _, err = First(s.Reads(ctx), Word, "SELECT CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN '' ELSE current_setting('synchronous_standby_names') END")
	if err != nil {
		return "", nil, s.Coded(err, "ask for whom commits wait")
	}
	list, err = All(s.Reads(ctx), func(scan Scanner) (y Standby, err error) {
		var sync string
		var lag int64
		err = scan(&y.Name, &y.State, &sync, &y.Behind, &lag)
		y.Waited, y.Lag = sync == "sync" || sync == "quorum", time.Duration(lag)*time.Microsecond
		return y, err
	}, `SELECT application_name, COALESCE(state, ''), COALESCE(sync_state, ''), COALESCE(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), -1)::bigint,
		COALESCE(extract(epoch FROM replay_lag) * 1000000, 0)::bigint FROM pg_stat_replication ORDER BY application_name`)
	var refused *pgconn.PgError
	if errors.As(err, &refused) { // it is not PostgreSQL's own
		return waits, nil, nil
	}
	return waits, list, s.Coded(err, "ask for the standbys")
}
