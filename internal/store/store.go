package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/posthouse/posthouse"
)

//go:embed schema
var schema embed.FS

// Store is an open database. It is safe for concurrent use.
type Store struct {
	dialect   *dialect
	write     *sql.DB
	read      *sql.DB
	committer *committer // SQLite's one writer; nil elsewhere
	log       *slog.Logger
	texts     sync.Map // query → query with the dialect's placeholders
}

// Options opens a store.
type Options struct {
	// DSN is sqlite:PATH, postgres://user:password@host:port/database or
	// mysql://user:password@host:port/database (MariaDB too). Required.
	DSN string
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Finding is one setting of the database that is unsafe.
type Finding struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	Why     string `json:"why"`
}

// dialectOf is the table of databases, by the DSN's scheme.
func dialectOf(dsn string) (*dialect, error) {
	scheme, _, _ := strings.Cut(dsn, ":")
	switch scheme {
	case "sqlite":
		return sqliteDialect, nil
	case "postgres", "postgresql":
		return postgresDialect, nil
	case "mysql", "mariadb":
		return mysqlDialect, nil
	}
	return nil, errors.New("the DSN names no database we know: want sqlite:PATH, postgres://… or mysql://…")
}

// Open connects to the database and refuses one that can not carry the work: too old,
// read-only, unreachable. It changes nothing; Migrate does.
func Open(ctx context.Context, o Options) (*Store, error) {
	d, err := dialectOf(o.DSN)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	dsn := o.DSN
	if rest, ok := strings.CutPrefix(dsn, "mariadb:"); ok {
		dsn = "mysql:" + rest
	}
	write, read, err := d.open(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("open the %s database: %w", d.name, err)
	}
	s := &Store{dialect: d, write: write, read: read, log: o.Log}
	if _, err := d.check(ctx, write); err != nil {
		s.Close()
		return nil, fmt.Errorf("check the %s database: %w", d.name, err)
	}
	if d == sqliteDialect {
		if s.committer, err = startCommitter(ctx, s); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// Close ends all connections. Writes that are under way finish first.
func (s *Store) Close() error {
	if s.committer != nil {
		s.committer.stop()
	}
	return errors.Join(s.write.Close(), s.read.Close())
}

// Database is the kind of database: sqlite, postgres or mysql.
func (s *Store) Database() string { return s.dialect.name }

// SharedClock reports whether many processes may share the database, so that leases go by
// the database's clock.
func (s *Store) SharedClock() bool { return s.dialect.clock != "" }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	return s.read.QueryRowContext(ctx, "SELECT 1").Scan(&one)
}

// Doctor names the settings that are unsafe.
func (s *Store) Doctor(ctx context.Context) ([]Finding, error) {
	return s.dialect.check(ctx, s.read)
}

// migrations is the library's provider over this dialect's folder. Processes that start at
// once wait for each other; on SQLite the file's write lock does that.
func (s *Store) migrations() (*goose.Provider, error) {
	files, err := fs.Sub(schema, "schema/"+s.dialect.name)
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{goose.WithLogger(goose.NopLogger()), goose.WithTableName("schema_version")}
	if s.dialect == postgresDialect {
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	return goose.NewProvider(s.dialect.goose, s.write, files, options...)
}

// Migrate brings the schema up to this binary's version and returns how many steps that
// took.
func (s *Store) Migrate(ctx context.Context) (int, error) {
	steps := 0
	migrate := func() error {
		p, err := s.migrations()
		if err != nil {
			return err
		}
		done, err := p.Up(ctx)
		steps = len(done)
		return err
	}
	if s.committer != nil {
		return steps, s.committer.alone(migrate)
	}
	return steps, migrate()
}

// Schema is the database's schema version and this binary's.
func (s *Store) Schema(ctx context.Context) (have, want int64, err error) {
	read := func() error {
		p, err := s.migrations()
		if err != nil {
			return err
		}
		have, want, err = p.GetVersions(ctx)
		return err
	}
	if s.committer != nil {
		return have, want, s.committer.alone(read)
	}
	return have, want, read()
}

// micros is a time as the database keeps it: UTC microseconds, 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// timeOf is the time that micros wrote.
func timeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// toError gives a database's error the code a caller acts on.
func (s *Store) toError(err error, doing string) error {
	if err == nil {
		return nil
	}
	var coded *posthouse.Error
	if errors.As(err, &coded) {
		return err
	}
	wrapped := fmt.Errorf("%s: %w", doing, err)
	switch s.dialect.fault(err) {
	case faultFull:
		return &posthouse.Error{Code: posthouse.CodeStorageFull, Message: "the database has no room", Cause: wrapped}
	case faultConnection, faultBusy:
		return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the database does not answer", Cause: wrapped}
	}
	return wrapped
}
