package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/posthouse/posthouse/internal/lockfile"
)

// Backup writes what an SQLite file holds at one moment into an empty file, beside a server that goes on. It reads within one
// transaction, so that no write disturbs it, and the log beside the file grows meanwhile.
func (s *DB) Backup(ctx context.Context, to *os.File) error {
	conn, err := s.Reader.Conn(ctx)
	if err != nil {
		return s.Coded(err, "open the database's file")
	}
	defer conn.Close()
	// A connection that may only query may not write another file either. This one writes nothing else.
	_, err = conn.ExecContext(ctx, "PRAGMA query_only = 0")
	if err == nil {
		_, err = conn.ExecContext(ctx, "VACUUM INTO ?", to.Name())
	}
	_, again := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA query_only = 1")
	if err = errors.Join(err, again); err != nil {
		return s.Coded(err, "copy the database")
	}
	return to.Sync() // SQLite itself syncs nothing of such a copy
}

// Place is where an SQLite file is to stand, kept from servers until Leave.
type Place struct {
	path string // without links
	lock *lockfile.Lock
	made bool // the lock's file was not there before: no server has worked here
}

// TakePlace keeps servers off the place of an SQLite file, which need not be there. The error is a *lockfile.Held where one works on it.
func TakePlace(dsn string, now time.Time) (*Place, error) {
	path, err := sqlitePath(dsn)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	p := &Place{path: path, made: !stands(path + lockEnding)}
	p.lock, err = lockfile.Take(path+lockEnding, lockfile.Self(now))
	return p, err
}

// Path is where the file is to stand.
func (p *Place) Path() string { return p.path }

// Stands is what stands there: the file, its log or its index.
func (p *Place) Stands() (found []string) {
	for _, ending := range []string{"", walEnding, shmEnding} {
		if stands(p.path + ending) {
			found = append(found, p.path+ending)
		}
	}
	return found
}

// Put gives a file the place. What stood there is moved aside first, with the log that belongs to it; aside is its name then, empty
// where nothing stood there.
func (p *Place) Put(file string, now time.Time) (aside string, err error) {
	if stands(file + walEnding) {
		return "", fmt.Errorf("%s has a log beside it: some process has it open", file)
	}
	if len(p.Stands()) > 0 {
		aside = p.path + ".before-" + now.UTC().Format("20060102T150405Z")
		// The log goes first: a process that is killed in between leaves a file that lacks its newest commits under no name but its own.
		for _, ending := range []string{walEnding, shmEnding, ""} {
			if err := os.Rename(p.path+ending, aside+ending); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
	}
	return aside, os.Rename(file, p.path)
}

// Leave lets servers in again. The lock's file stays only where the database does.
func (p *Place) Leave() error {
	if p.made && !stands(p.path) {
		_ = os.Remove(p.path + lockEnding) // else the next start would take the missing file for a lost one
	}
	return p.lock.Release()
}
