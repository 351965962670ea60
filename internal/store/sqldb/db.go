package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/lockfile"
)

// DB is an open database: its connections, its clock and what differs between databases. It is safe for
// concurrent use.
type DB struct {
	Dialect   *Dialect
	dsn       string
	Writer    *sql.DB
	Reader    *sql.DB
	committer *committer     // SQLite's one writer; nil elsewhere
	ground    *ground        // what SQLite's file stands on, where it is written; nil elsewhere
	primary   *primary       // which of several servers takes the writes; nil for SQLite
	mysql     *mysqlPrimary  // the same with what MariaDB needs; nil elsewhere
	sole      *lockfile.Lock // keeps other servers off SQLite's file; nil elsewhere
	stands    bool           // the database tells on which timeline it stands
	Log       *slog.Logger
	lately    reading      // of the database's clock
	prepared  prepared     // look-ups that stay prepared
	replicaOf *DB          // the primary that it follows, and that answers in its place; nil for the database itself
	fellBack  atomic.Int64 // when the primary last answered in the place of this replica, in Unix microseconds; 0 where this one answers
	way       Way          // how connections come to PostgreSQL; empty elsewhere
	found     bool         // and nothing has said so
	own       int          // connections of a process at most; 0 where a file is the database
	pins      string       // goes before a statement that is a transaction by itself, where no session holds what it needs
	Texts     sync.Map     // query → query with the dialect's placeholders
	fullAt    atomic.Int64 // when a write last found no room, in Unix microseconds
	damaged   atomic.Bool  // something was read that the database has not written
	doubtedAt atomic.Int64 // when the idle connections were last given up, in Unix microseconds
}

// Options opens a store.
type Options struct {
	// DSN is sqlite:PATH, postgres://user:password@host:port/database or
	// mysql://user:password@host:port/database (MariaDB too). Required.
	DSN string
	// Log defaults to slog.Default().
	Log *slog.Logger
	// ReadOnly opens a file as it is, for look-ups alone: none is made, nothing in it or beside it is changed,
	// and no permission to write is needed. Defaults to false.
	ReadOnly bool
	// Standby lets the connections be to a standby of PostgreSQL or a replica of MariaDB, which is read and takes no writes. Defaults to the primary alone.
	Standby bool
	// MustExist refuses a DSN of SQLite whose file is not there or empty, instead of making it and its folder. Defaults to false.
	MustExist bool
	// Sole keeps every other process that asks the same off an SQLite file until Close, and refuses one that another
	// process keeps: a server works alone on it. Defaults to false.
	Sole bool
	// ReplicaOf opens a server that follows this database, for look-ups alone, and connects to it when the first one comes. What it does
	// not answer is looked up in this one. Defaults to none.
	ReplicaOf *DB
	// Databases are those that the DSN may name. Defaults to all that are known.
	Databases []*Dialect
}

// Open connects to the database and refuses one that cannot carry the work: too old,
// read-only, unreachable. It changes nothing but that it makes a missing SQLite file, or has one keep
// its log beside it, unless it is opened to read; Migrate does.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.ReplicaOf != nil {
		o.Log = cmp.Or(o.Log, o.ReplicaOf.Log)
		return openReplica(ctx, o)
	}
	among := o.Databases
	if among == nil {
		among = Known
	}
	d, dsn, err := DialectOf(o.DSN, among)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	open := d.open
	if none := MissingFile(dsn); none != nil && o.MustExist {
		return nil, none
	}
	if o.ReadOnly && d.openToRead != nil {
		open = d.openToRead
	}
	if o.Standby && d.openStandby != nil {
		open = d.openStandby
	}
	p, err := open(ctx, dsn, o.Log)
	if err != nil {
		return nil, fmt.Errorf("open the %s database: %w", d.Name, err)
	}
	s := &DB{Dialect: d, dsn: dsn, Writer: p.write, Reader: p.read, ground: p.ground, primary: p.primary, mysql: p.mysql, stands: p.mysql != nil, Log: o.Log, way: p.way, found: p.found, own: p.own, pins: p.pins}
	if _, err := d.check(ctx, s.Writer); err != nil && (!o.Standby || !errors.Is(err, errReplica)) {
		return nil, errors.Join(fmt.Errorf("check the %s database: %w", d.Name, err), s.Close())
	}
	if d.stand != "" {
		var text string
		s.stands = s.Writer.QueryRowContext(ctx, d.stand).Scan(&text) == nil // else it is behind something that is not PostgreSQL's own
	}
	if d.OneWriter && !o.ReadOnly {
		if o.Sole {
			if err := s.keepAlone(); err != nil {
				return nil, errors.Join(err, s.Close())
			}
		}
		if s.committer, err = startCommitter(ctx, s); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// keepAlone keeps other servers off the file: two that send on one SQLite file would not know of each other. A file with
// several names has a lock and a -wal for each of them.
func (s *DB) keepAlone() (err error) {
	if n := links(s.ground.file); n > 1 {
		return fmt.Errorf("the SQLite file %s has %d names (hard links), and by another one a second server would work on it unseen: remove all but one", s.ground.path, n)
	}
	s.sole, err = lockfile.Take(s.ground.real+lockEnding, lockfile.Self(time.Now()))
	var held *lockfile.Held
	if errors.As(err, &held) {
		return fmt.Errorf("another server works on the SQLite file %s: %s. Stop it first; for several processes use PostgreSQL or MariaDB",
			s.ground.path, cmp.Or(held.Holder, "it has just begun"))
	}
	if err != nil {
		return fmt.Errorf("keep the SQLite file for this server: %w", err)
	}
	return nil
}

// Close ends all connections. Writes that are under way finish first.
func (s *DB) Close() error {
	if s.committer != nil {
		s.committer.stop()
	}
	var errs []error
	if s.ground != nil && s.ground.check() != nil {
		// To close the last one would write the log into the file that is gone, and remove what has the log's name now.
		s.Log.Warn("the database's connections stay open until the process ends, so that nothing changes beside the file", "file", s.ground.path)
	} else {
		if s.ground != nil {
			s.ground.leave()
		}
		errs = append(errs, s.Writer.Close(), s.Reader.Close())
	}
	if s.mysql != nil {
		s.mysql.close()
	}
	if s.sole != nil {
		errs = append(errs, s.sole.Release())
	}
	return errors.Join(errs...)
}

// Database is the kind of database: sqlite, postgres or mysql.
func (s *DB) Database() string { return s.Dialect.Name }

// Way is how connections come to PostgreSQL, and whether that was found out rather than said in the DSN. Empty for the other databases.
func (s *DB) Way() (way Way, found bool) { return s.way, s.found }

// SharedClock reports whether many processes may share the database, so that leases go by
// the database's clock.
func (s *DB) SharedClock() bool { return s.Dialect.clock != "" }

// Ping reports whether the database answers, is the one that was opened, and nothing of it was found damaged.
func (s *DB) Ping(ctx context.Context) error {
	if err := s.Standing(); err != nil {
		return err
	}
	if s.damaged.Load() {
		return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: Damaged}
	}
	var one int
	return s.Reader.QueryRowContext(ctx, "SELECT 1").Scan(&one)
}

// fullFor is how long a refused write says that there is no room. A small one may still find some,
// so no probe can say more than the writes that are really asked for.
const fullFor = 30 * time.Second

// Full reports whether a write was refused of late because the database had no room: such a
// database can still be read.
func (s *DB) Full(now time.Time) bool {
	return now.Sub(time.UnixMicro(s.fullAt.Load())) < fullFor
}

// doubt gives up the idle connections after one has failed: what has forgotten one, such as a firewall,
// may have forgotten all, and each would be found out by a time-out of its own. Once in a while is
// enough, since a database that is only slow must not be asked for new ones all the time.
func (s *DB) doubt(err error) {
	if err == nil || s.Dialect.giveUp == nil || s.Dialect.Fault(err) != faultConnection {
		return
	}
	now, last := time.Now().UnixMicro(), s.doubtedAt.Load()
	if now-last < silence.Microseconds() || !s.doubtedAt.CompareAndSwap(last, now) {
		return
	}
	s.Dialect.giveUp(s.Writer)
	s.Dialect.giveUp(s.Reader)
}

// Micros is a time as the database keeps it: UTC microseconds, 0 for the zero time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// The first and the last microsecond that can be written as JSON.
const (
	firstMicro = -62135596800000000 // the year 1
	lastMicro  = 253402300799999999 // the year 9999
)

// TimeOf is the time that micros wrote. One beyond what JSON has words for, which only a stranger's hand writes, is
// the last that has some: a single row must not keep anybody from reading the others.
func TimeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(min(max(us, firstMicro+1), lastMicro)).UTC()
}

// Damaged is the message of errors that say that an SQLite file holds what SQLite has not written. What is elsewhere in the file
// can still be read, so it is remembered until the process ends.
const Damaged = "the database's file is damaged"

// NoAnswer is the message of errors that say that the database cannot be reached, or is too busy.
const NoAnswer = "the database does not answer"

// Coded gives a database's error the code a caller acts on.
func (s *DB) Coded(err error, doing string) error {
	if err == nil {
		return nil
	}
	var coded *posthouse.Error
	if errors.As(err, &coded) {
		return err
	}
	wrapped := fmt.Errorf("%s: %w", doing, err)
	switch s.Dialect.Fault(err) {
	case faultFull:
		s.fullAt.Store(time.Now().UnixMicro())
		return &posthouse.Error{Code: posthouse.CodeStorageFull, Message: "the database has no room", Cause: wrapped}
	case faultDamaged:
		if !s.damaged.Swap(true) {
			s.Log.Error(Damaged+": stop, and restore a backup; posthouse doctor --full names all that is wrong", "error", wrapped)
		}
		return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: Damaged, Cause: wrapped}
	case faultConnection, faultBusy:
		return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: NoAnswer, Cause: wrapped}
	}
	return wrapped
}

// Taken reports whether a write found its key in use.
func (s *DB) Taken(err error) bool { return err != nil && s.Dialect.Fault(err) == faultTaken }
