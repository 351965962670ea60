package store

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Depths counts the open deliveries of all tenants by lane and state. It reads the whole
// queue: not for every request.
func (s Queue) Depths(ctx context.Context) ([]work.Depth, error) {
	list, err := sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (work.Depth, error) {
		var d work.Depth
		var lane, oldest int64
		err := scan(&d.Tenant, &d.Channel, &lane, &d.State, &d.Count, &oldest)
		d.Priority, d.Pulled, d.Again = layout.ReadLane(lane)
		d.Oldest, d.Unreadable = sqldb.TimeOf(oldest), !d.State.Open() || lane != layout.NumberOf(d.Lane)
		return d, err
	}, `SELECT tenant, channel, priority, state, SUM(n), COALESCE(MIN(oldest), 0) FROM (
		SELECT tenant, channel, priority, state, COUNT(*) AS n, MIN(CASE WHEN due_at > 0 THEN due_at END) AS oldest
			FROM posthouse_queue GROUP BY tenant, channel, priority, state
		UNION ALL SELECT tenant, channel, priority, 'pending', COUNT(*), MIN(due_at) FROM posthouse_due GROUP BY tenant, channel, priority
		UNION ALL SELECT m.tenant, m.channel, m.priority, 'sending', COUNT(*), MIN(m.due_at) FROM `+layout.StillFlying(s.db.Dialect)+` GROUP BY m.tenant, m.channel, m.priority
		) lanes GROUP BY tenant, channel, priority, state ORDER BY tenant, channel, priority, state`)
	return list, s.db.Coded(err, "count the queue")
}

// Counts counts a tenant's settled deliveries by channel and state, of the messages that were
// handed in since a time.
func (s Queue) Counts(ctx context.Context, tenant string, since time.Time) ([]work.Settled, error) {
	there, args, err := s.parted.NotLeaving(ctx)
	if err != nil {
		return nil, s.db.Coded(err, "count the settled deliveries")
	}
	args = append([]any{tenant, layout.IDAt(since)}, args...)
	list, err := sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (work.Settled, error) {
		var c work.Settled
		return c, scan(&c.Channel, &c.State, &c.Count)
	}, `SELECT channel, state, SUM(n) FROM (
		SELECT channel, state, COUNT(*) AS n FROM posthouse_settled d WHERE tenant = ? AND id >= ?`+there+` GROUP BY channel, state
		UNION ALL SELECT channel, 'sent', COUNT(*) FROM posthouse_sent d WHERE tenant = ? AND id >= ?`+there+` GROUP BY channel
		) channels GROUP BY channel, state ORDER BY channel, state`, slices.Concat(args, args)...)
	return list, s.db.Coded(err, "count the settled deliveries")
}

// openOf counts the open deliveries of a channel.
func openOf(t *sqldb.Tx, tenant, channel string) (int64, error) {
	n, _, err := sqldb.First(t.Query, sqldb.Number, "SELECT (SELECT COUNT(*) FROM posthouse_queue WHERE tenant = ? AND channel = ?) + (SELECT COUNT(*) FROM posthouse_due WHERE tenant = ? AND channel = ?)"+
		" + (SELECT COUNT(*) FROM "+layout.StillFlying(t.DB.Dialect)+" AND m.tenant = ? AND m.channel = ?)", tenant, channel, tenant, channel, tenant, channel)
	return n, err
}

// Ahead counts what waits in a lane and comes before a place in it, up to max.
func (s Queue) Ahead(ctx context.Context, l work.Lane, due time.Time, id string, max int) (n int, err error) {
	for _, table := range []string{"posthouse_queue", "posthouse_due"} {
		where, args := " WHERE tenant = ? AND channel = ? AND priority = ? AND due_at <= ? AND (due_at < ? OR id < ?)", []any{l.Tenant, l.Channel, layout.NumberOf(l), sqldb.Micros(due), sqldb.Micros(due), id}
		if table == "posthouse_queue" {
			where, args = where+" AND pin = ? AND state = 'pending'", append(args, string(l.Pin))
		} else if l.Pin != "" {
			break // nothing that is pinned is clean
		}
		some, _, err := sqldb.First(s.db.Reads(ctx), sqldb.Number, "SELECT COUNT(*) FROM (SELECT 1 FROM "+table+where+" LIMIT ?) ahead", append(args, max-n)...)
		if n += int(some); err != nil || n >= max {
			return n, s.db.Coded(err, "count what stands before a delivery")
		}
	}
	return n, nil
}
