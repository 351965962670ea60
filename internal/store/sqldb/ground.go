package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/posthouse/posthouse"
)

// FileGone is the message of errors that say that an SQLite file is no longer where it was opened.
const FileGone = "the database's file was removed or replaced under this process"

// ground is what an SQLite database stands on: the file, and the log and the index beside it. A process that has them
// open goes on with them when somebody removes them or puts others in their place. What it commits then is gone with it,
// so it looks before each commit that they stand where they stood.
type ground struct {
	path string // as it was given
	real string // without links: the log stands beside the file itself
	log  *slog.Logger
	free func(path string) (bytes int64, known bool) // what room its volume has

	mu     sync.Mutex
	file   os.FileInfo
	beside map[string]os.FileInfo // what SQLite has made beside the file, by its ending
	lost   error                  // why writes are refused now
	left   bool                   // the connections are closed: SQLite itself takes away what stands beside the file
}

// The endings of what SQLite keeps beside a file.
const (
	walEnding = "-wal"
	shmEnding = "-shm"
	// lockEnding is that of the file by which a server keeps others off.
	lockEnding = ".lock"
)

// pool is a pool of connections that are opened only while the database stands where it stood: SQLite goes by names, and takes away
// the log of a file that somebody has put an empty one in the place of.
func (g *ground) pool(uri string) *sql.DB { return sql.OpenDB(standing{g, uri}) }

type standing struct {
	ground *ground
	uri    string
}

func (s standing) Connect(context.Context) (driver.Conn, error) {
	if err := s.ground.check(); err != nil {
		return nil, err
	}
	return s.Driver().Open(s.uri)
}

func (standing) Driver() driver.Driver { return &sqlite.Driver{} }

// standOn notes where a file that is open stands.
func standOn(path string, log *slog.Logger) (g *ground, err error) {
	g = &ground{log: log, free: freeRoom, beside: map[string]os.FileInfo{}}
	if g.path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if g.real, err = filepath.EvalSymlinks(g.path); err != nil {
		return nil, fmt.Errorf("find the database's file: %w", err)
	}
	g.file, err = os.Stat(g.real)
	return g, err
}

// check is an error of code unavailable where the database no longer stands where it stood. It asks the system three
// times, which takes some microseconds. It is told to the log once.
func (g *ground) check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left {
		return nil
	}
	was := g.lost
	why := g.look()
	switch {
	case why == nil:
		if g.lost = nil; was != nil {
			g.log.Warn("the database's file is back: writes go on", "file", g.path)
		}
		return nil
	case was == nil:
		g.log.Error(FileGone+": nothing is accepted or sent any more. Put back the very same file if it was moved; else restore a backup and restart, "+
			"but first copy what this process still has open, see the guide of operations",
			"file", g.path, "found", why.Error())
	}
	g.lost = &posthouse.Error{Code: posthouse.CodeUnavailable, Message: FileGone, Cause: why}
	return g.lost
}

func (g *ground) look() error {
	if err := same(g.path, g.file); err != nil {
		return err
	}
	for _, ending := range []string{walEnding, shmEnding} {
		if g.beside[ending] != nil {
			if err := same(g.real+ending, g.beside[ending]); err != nil {
				return err
			}
			continue
		}
		if at, err := os.Stat(g.real + ending); err == nil { // SQLite has made it since
			g.beside[ending] = at
		}
	}
	return nil
}

// same reports what stands at a path instead of a file.
func same(path string, file os.FileInfo) error {
	at, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not there", path)
	case err != nil:
		return err
	case !os.SameFile(at, file):
		return fmt.Errorf("%s is another file", path)
	}
	return nil
}

// forget has what stands beside the file noted anew, after a connection was closed and another opened.
func (g *ground) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.beside)
}

// leave ends the looks.
func (g *ground) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left = true
}

// onlyLog reports whether the file stands and its log is away: then what the log held can be written into the file.
func (g *ground) onlyLog() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, err := os.Stat(g.real + walEnding)
	return g.lost != nil && same(g.path, g.file) == nil && errors.Is(err, fs.ErrNotExist)
}

// Standing is an error of code unavailable where the file of an SQLite database is no longer where it was opened.
func (s *DB) Standing() error {
	if s.ground == nil {
		return nil
	}
	return s.ground.check()
}

// groundLook is how often Watch looks.
const groundLook = time.Second

// Watch looks once a second whether the file of an SQLite database stands where it stood, until ctx ends: a process that
// has nothing to write finds it out too. Of PostgreSQL and MariaDB it watches which server is the primary.
func (s *DB) Watch(ctx context.Context) {
	if s.mysql != nil {
		s.mysql.watch(ctx)
		return
	}
	if s.primary != nil {
		s.primary.watch(ctx)
		return
	}
	if s.ground == nil {
		return
	}
	tick := time.NewTicker(groundLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.Standing() != nil { // the writer saves what it can, and refuses the write
				_ = s.Change(ctx, time.Now(), "look at the file", func(*Tx) error { return nil })
			}
		}
	}
}

// stands refuses a transaction where the database's file is gone. What was committed before into a log that was removed is
// written into the file that still stands, once: else it would be lost with the process.
func (c *committer) stands(ctx context.Context) error {
	err := c.db.ground.check()
	if err == nil || c.saved || !c.db.ground.onlyLog() {
		c.saved = c.saved && err != nil
		return err
	}
	emptied, e := c.empty(ctx)
	c.saved = emptied // else a reader was in the way: the next one tries again
	switch {
	case e != nil:
		c.db.Log.Error("what the removed log held could not be written into the database's file", "error", e)
	case c.saved:
		c.db.Log.Warn("what the removed log held was written into the database's file: restart")
	}
	return err
}
