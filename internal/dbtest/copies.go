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
// SQLite and PostgreSQL are filled once and copied for each test, which takes a twentieth of the time. MariaDB cannot copy, and is filled
// for each.
type Copies struct {
	// Fill fills the empty database of a DSN, and leaves nobody connected to it.
	Fill func(ctx context.Context, dsn string) error

	sqlite, postgres sync.Once
	file             []byte // of SQLite
	dsn              string // of the PostgreSQL database that is copied
	errs             [2]error
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
	return pooled(t, database(t, sharedPostgres, func(s *Server) (string, func() error, error) { return s.copyOf(c.dsn) }))
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
	dsn := MariaDB(t)
	require(t, c.Fill(t.Context(), dsn))
	return dsn
}
