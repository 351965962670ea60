package sqldb

import (
	"context"
	"strconv"
)

// Room is how many connections a database server has for all its clients.
type Room struct {
	Used, Most int
	// Own is how many a process takes at most.
	Own int
}

// Tight reports whether another process could find none left.
func (r Room) Tight() bool { return r.Used+r.Own > r.Most }

// Room asks the server; it is zero where a file is the database.
func (s *DB) Room(ctx context.Context) (r Room, err error) {
	switch {
	case s.Dialect == MySQL:
		if r.Used, err = s.mysqlNumber(ctx, "SHOW GLOBAL STATUS LIKE 'Threads_connected'"); err == nil {
			r.Most, err = s.mysqlNumber(ctx, "SHOW GLOBAL VARIABLES LIKE 'max_connections'")
		}
	case s.SharedClock():
		err = s.Reader.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
			current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint`).Scan(&r.Used, &r.Most)
	default:
		return r, nil
	}
	r.Own = s.own
	return r, s.Coded(err, "ask how many connections the server has")
}

func (s *DB) mysqlNumber(ctx context.Context, query string) (n int, err error) {
	var name, value string
	if err = s.Reader.QueryRowContext(ctx, query).Scan(&name, &value); err == nil {
		n, err = strconv.Atoi(value)
	}
	return n, err
}
