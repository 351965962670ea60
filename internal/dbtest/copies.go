package dbtest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Copies are databases that begin with what Fill makes of an empty one, such as its tables. The zero value is not ready: fill in Fill, and
// keep one for all tests of a binary.
//
// Each is filled once and copied for each test, which takes a twentieth of the time. MariaDB copies no database: its tables are made
// like those of the one that was filled.
type Copies struct {
	// Fill fills the empty database of a DSN, and leaves nobody connected to it.
	Fill func(ctx context.Context, dsn string) error

	sqlite, postgres, mariadb sync.Once

	file   []byte   // of SQLite
	dsn    string   // of the PostgreSQL database that is copied
	tables []string // the statements that make a MariaDB database
	errs   [3]error
}

// SQLite is SQLite, filled.
func (c *Copies) SQLite(t testing.TB) string {
	t.Helper()
	c.sqlite.Do(func() { c.file, c.errs[0] = c.filledFile() })
	dsn := SQLite(t)
	require(t, c.errs[0])
	require(t, os.WriteFile(strings.TrimPrefix(dsn, "sqlite:"), c.file, 0o600))
	return dsn
}

// filledFile is a database file that was filled and closed.
func (c *Copies) filledFile() ([]byte, error) {
	dir, err := os.MkdirTemp("", "dbtest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "posthouse.db")
	if err := c.Fill(context.Background(), "sqlite:"+file); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// Postgres is Postgres, filled.
func (c *Copies) Postgres(t testing.TB) string {
	t.Helper()
	c.postgres.Do(func() { c.dsn, c.errs[1] = c.filledPostgres() })
	require(t, c.errs[1])
	return pooled(t, database(t, sharedPostgres, func(s *Server) (string, func() error, error) { return s.copyOf(c.dsn) })) + few
}

// filledPostgres is a database that goes with its server.
func (c *Copies) filledPostgres() (string, error) {
	s, err := sharedPostgres()
	if err != nil {
		return "", err
	}
	dsn, _, err := s.Database()
	if err != nil {
		return "", err
	}
	return dsn, c.Fill(context.Background(), dsn)
}

// MariaDB is MariaDB, filled.
func (c *Copies) MariaDB(t testing.TB) string {
	t.Helper()
	c.mariadb.Do(func() { c.tables, c.errs[2] = c.filledMariaDB() })
	require(t, c.errs[2])
	dsn := MariaDB(t)
	db := SQL(t, dsn)
	for _, statement := range c.tables {
		_, err := db.ExecContext(t.Context(), statement)
		require(t, err)
	}
	require(t, db.Close())
	return dsn
}

// filledMariaDB is what makes the tables, views and rows of a database that goes with its server.
func (c *Copies) filledMariaDB() (statements []string, err error) {
	s, err := sharedMariaDB()
	if err != nil {
		return nil, err
	}
	dsn, _, err := s.Database()
	if err != nil {
		return nil, err
	}
	if err := c.Fill(context.Background(), dsn); err != nil {
		return nil, err
	}
	return mariadbStatements(s, dsn[strings.LastIndexByte(dsn, '/')+1:])
}
