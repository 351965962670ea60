package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// DuePins lists the lanes of a channel in which something is due that is pinned to certain accounts. It reads an entry or two of
// the index for each pin, however much waits there.
func (s Queue) DuePins(ctx context.Context, now time.Time, tenant, channel string) ([]work.Lane, error) {
	var list []work.Lane
	for _, p := range posthouse.Priorities() {
		pins, err := s.duePins(ctx, now, tenant, channel, p)
		if err != nil {
			return nil, s.db.Coded(err, "look for what is pinned to accounts")
		}
		for _, pin := range pins {
			list = append(list, work.Lane{Tenant: tenant, Channel: channel, Priority: p, Pin: work.Pin(pin)})
		}
	}
	return list, nil
}

func (s Queue) duePins(ctx context.Context, now time.Time, tenant, channel string, p posthouse.Priority) ([]string, error) {
	due, at := s.db.Instant(now)
	lane := []any{tenant, channel, sqldb.PriorityNumber(p)}
	from := "FROM posthouse_queue" + s.db.Dialect.By("posthouse_queue_due") + " WHERE tenant = ? AND channel = ? AND priority = ? AND state = 'pending'"
	if s.db.Dialect.Skips {
		return sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT pin FROM (SELECT pin, MIN(due_at) AS first "+from+" AND pin >= '"+string(work.FirstOfAccounts)+"' GROUP BY pin) pins WHERE first <= "+due, append(lane, at...)...)
	}
	args := append(append([]any{}, lane...), lane...)
	args = append(append(args, at...), lane...)
	return sqldb.All(s.db.Reads(ctx), sqldb.Word, `WITH RECURSIVE pins(pin) AS (
			SELECT (SELECT pin `+from+` AND pin >= '`+string(work.FirstOfAccounts)+`' ORDER BY pin LIMIT 1)
			UNION ALL SELECT (SELECT q.pin FROM posthouse_queue q WHERE q.tenant = ? AND q.channel = ? AND q.priority = ? AND q.state = 'pending' AND q.pin > pins.pin ORDER BY q.pin LIMIT 1)
				FROM pins WHERE pins.pin IS NOT NULL)
		SELECT pin FROM pins WHERE pin IS NOT NULL AND (SELECT q.due_at FROM posthouse_queue q WHERE q.pin = pins.pin AND q.state = 'pending' AND q.due_at <= `+due+
		` AND q.tenant = ? AND q.channel = ? AND q.priority = ? ORDER BY q.due_at LIMIT 1) IS NOT NULL`, args...)
}
