package sqldb

import "context"

// InRecovery reports whether the database is a standby of PostgreSQL or a replica of MariaDB, which follows its primary and takes no
// writes until it is promoted. SQLite has none.
func (s *DB) InRecovery(ctx context.Context) (is bool, err error) {
	if s.Dialect.follows == "" {
		return false, nil
	}
	err = s.Reader.QueryRowContext(ctx, s.Dialect.follows).Scan(&is)
	return is, s.Coded(err, "ask whether the database is a standby")
}
