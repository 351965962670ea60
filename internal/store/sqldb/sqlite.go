package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLite is a file that one process writes.
var SQLite = &Dialect{
	Name:       "sqlite",
	Title:      "SQLite",
	Schemes:    []string{"sqlite"},
	tuple:      "VALUES ",
	OneWriter:  true,
	FoldsNames: true,
	Former: Former{
		Open: openFormerSQLite, Guard: guardFormerSQLite, Tables: "SELECT name FROM sqlite_master WHERE type = 'table'", Text: "TEXT",
		Moment: func(column string) string { return "CAST(" + column + " AS TEXT)" },
	},
	Goose:  goose.DialectSQLite3,
	Upsert: onConflict,
	Add:    addOnConflict,
	Pairs:  true,
	Blind:  "0 + ?",

	deleteByKey: "DELETE FROM %s",
	GiveBack:    giveBackPages,
	Fault:       sqliteFault,
	answered:    func(err error) bool { var said *sqlite.Error; return errors.As(err, &said) },
	unsent:      func(error) bool { return false },
	open:        openSQLite,
	openToRead:  openSQLiteToRead,
	check:       checkSQLite,
	Phrases:     sqlitePhrases,
	Concat:      concatByBars,
	Flown:       "posthouse_flights f, json_each(f.ids) j",
	Listed:      "json_each(?) j",
	Objects:     "SELECT name, type, '' FROM sqlite_master WHERE name NOT LIKE 'sqlite@_%' ESCAPE '@'",
	Catalogue:   sqliteCatalogue,
	ViewText:    "SELECT sql FROM sqlite_master WHERE ? = '' AND name = ? AND type = 'view'",
}

// sqliteCache is the page cache of each connection, in KiB. More costs time: when a page is split, SQLite
// swaps numbers by way of page 262145, the one that holds its locks, and then searches all of its cache at
// the commit for pages behind the end of the file. With 64 MiB that was a fifth of a small commit.
const sqliteCache = 16 << 10

// sqliteReadCache is that of each connection that only reads, in KiB. A commit of the writer empties it, so that more of it holds memory
// and little else: beside a list of 1.5 million people, eight look-ups at once left 236 MB with 16 MiB, 232 with 4 and 204 with 1.
const sqliteReadCache = 1 << 10

// walPages is how many pages the log may hold before a commit writes them into the file, where there is room enough.
const walPages = 4000

// openSQLite opens a write pool of one connection, which the committer keeps, and a read
// pool. synchronous=FULL: an answer of 202 must survive a power cut, and the shared
// commit makes it cheap.
func openSQLite(ctx context.Context, dsn string, log *slog.Logger) (p pools, err error) {
	path, err := sqlitePath(dsn)
	if err != nil {
		return pools{}, err
	}
	empty, err := makeSQLite(path)
	if err != nil {
		return pools{}, err
	}
	if p.ground, err = standOn(path, log); err != nil {
		return pools{}, err
	}
	pragmas := url.Values{"mode": {"rw"}, "_pragma": { // no connection makes a file: it would be in the place of one that somebody has moved
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "temp_store(MEMORY)",
		fmt.Sprintf("wal_autocheckpoint(%d)", walPages),
	}}
	pragmas.Set("_txlock", "immediate") // for the migrations: a transaction that only reads at first must not meet another writer later
	writing := maps.Clone(pragmas)
	writing["_pragma"] = append(slices.Clone(pragmas["_pragma"]), fmt.Sprintf("cache_size(-%d)", sqliteCache))
	if empty { // it is settled once for the file, and would take the write lock each time
		writing["_pragma"] = slices.Insert(writing["_pragma"], 1, "auto_vacuum(INCREMENTAL)")
	}
	p.write = p.ground.pool(sqliteURI(path, writing))
	p.write.SetMaxOpenConns(1)
	if err := p.write.PingContext(ctx); err != nil {
		p.write.Close()
		return pools{}, err
	}
	pragmas.Del("_txlock")
	pragmas.Add("_pragma", "query_only(1)")
	pragmas.Add("_pragma", fmt.Sprintf("cache_size(-%d)", sqliteReadCache))
	p.read = p.ground.pool(sqliteURI(path, pragmas))
	p.read.SetMaxOpenConns(sqliteReaders)
	p.read.SetMaxIdleConns(sqliteReaders)
	return p, nil
}

// makeSQLite makes the file where there is none, and reports whether it is empty. An empty one, or none, where a server has worked
// before was lost by somebody: SQLite would take away the log beside it, and with it what was accepted last.
func makeSQLite(path string) (empty bool, err error) {
	if dir := filepath.Dir(path); dir != "." {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return false, fmt.Errorf("make the database's folder: %w", err)
		}
	}
	if none := lookFor(path); none != nil && none.Trace != "" {
		return false, none
	}
	// The file holds message texts: only its owner may read it. SQLite gives its side files the same mode.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, fmt.Errorf("open the database's file: %w", err)
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	return info.Size() == 0, nil
}

// HasWorkedOn reports whether a server has worked on the SQLite file that a DSN names, or on one that stood in its place.
func HasWorkedOn(dsn string) bool {
	path, ok := SQLiteFile(dsn)
	if !ok {
		return false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return stands(path + lockEnding)
}

// traceOf is a file beside an SQLite file that says that a server has worked on it, empty where there is none.
func traceOf(real string) string {
	if at, err := os.Stat(real + walEnding); err == nil && at.Size() > 0 {
		return real + walEnding
	}
	if stands(real + lockEnding) {
		return real + lockEnding
	}
	return ""
}

// sqliteReaders bounds the read pool.
const sqliteReaders = 8

// SQLiteFile is the file that a DSN names: PATH of "sqlite:PATH", which may have // before it as URLs do. It is not ok
// where the DSN is of another database.
func SQLiteFile(dsn string) (path string, ok bool) {
	path, ok = strings.CutPrefix(dsn, "sqlite:")
	return strings.TrimPrefix(path, "//"), ok
}

// MissingFile says of the SQLite file that a DSN names that nobody has made it yet, or that it is empty. It is nil for any other.
func MissingFile(dsn string) *NoFile {
	path, ok := SQLiteFile(dsn)
	if !ok || path == "" || strings.Contains(path, ":memory:") {
		return nil
	}
	return lookFor(path)
}

// NotMade reports whether nobody has made the SQLite file that a DSN names, or it is empty.
func NotMade(dsn string) bool { return MissingFile(dsn) != nil }

// lookFor is nil where there is something in the file.
func lookFor(path string) *NoFile {
	real := path
	if at, err := filepath.EvalSymlinks(path); err == nil { // else there is no file yet
		real = at
	}
	none := &NoFile{Path: path, Trace: traceOf(real)} // before the size: who has made a file makes these when there is something in it
	at, err := os.Stat(path)
	if none.Empty = err == nil && at.Size() == 0; none.Empty || errors.Is(err, fs.ErrNotExist) {
		return none
	}
	return nil // any other error is that of the opening
}

// NoFile says that there is no database in an SQLite file, and that none is made there.
type NoFile struct {
	Path  string
	Empty bool   // the file is there, with nothing in it
	Trace string // a file beside it that says that a server has worked on it, empty for none
}

// Error is for people.
func (e *NoFile) Error() string {
	found := "is not there"
	if e.Empty {
		found = "is empty"
	}
	switch {
	case e.Trace != "":
		return fmt.Sprintf("the SQLite file %s %s, and %s beside it says that a server has worked on it: nothing is begun anew in its place. "+
			"Put the file back, or restore a backup; to begin a new installation, move %s away too", e.Path, found, e.Trace, e.Trace)
	case e.Empty:
		return "the SQLite file " + e.Path + " is empty"
	}
	return "there is no file " + e.Path
}

func sqlitePath(dsn string) (string, error) {
	path, _ := SQLiteFile(dsn)
	if path == "" {
		return "", errors.New(`the DSN names no file: want "sqlite:PATH"`)
	}
	if strings.Contains(path, ":memory:") {
		return "", errors.New(`a database in memory is lost with the process: want "sqlite:PATH"`)
	}
	return path, nil
}

func sqliteURI(path string, options url.Values) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + options.Encode()
}

// openSQLiteToRead opens one pool twice, and leaves the file and its folder as they are.
//
// Where a log stands beside the file, somebody has it open or was killed: SQLite reads both then, and writes
// neither. Where none does, a reader makes an empty one, and takes it away only if it may write. So such a
// reader is one that may and does not. What may not even make it reads the file as one that nobody changes.
func openSQLiteToRead(ctx context.Context, dsn string, _ *slog.Logger) (p pools, err error) {
	path, err := sqlitePath(dsn)
	if err != nil {
		return pools{}, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil { // the log stands beside the file itself
		return pools{}, fmt.Errorf("open the database's file: %w", err)
	}
	if at, err := os.Stat(path); err != nil || !at.Mode().IsRegular() {
		return pools{}, errors.Join(fmt.Errorf("%s is no file", path), err)
	}
	if log, err := os.Open(path + "-wal"); err == nil {
		log.Close()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return pools{}, fmt.Errorf("open the log beside the database's file: %w", err)
	}
	const still = "immutable"
	mode := still
	if stands(path+"-wal") || stands(path+"-journal") {
		mode = "ro"
	} else if file, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
		mode = "rw"
		if err := file.Close(); err != nil {
			return pools{}, err
		}
	}
	read, err := sqliteReader(ctx, path, mode)
	if mode == "rw" && noSideFile(err) && !stands(path+"-wal") {
		read, err = sqliteReader(ctx, path, still)
	}
	if mode == "ro" && noSideFile(err) {
		err = fmt.Errorf("it has a log beside it that cannot be opened here: copy both, PATH and PATH-wal, into a folder that can be written: %w", err)
	}
	return pools{write: read, read: read}, err
}

func stands(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// noSideFile reports whether SQLite could not open or make what it needs beside the file.
func noSideFile(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == sqlite3.SQLITE_READONLY_DIRECTORY || e.Code()&0xff == sqlite3.SQLITE_CANTOPEN)
}

// keepsLog reports whether a file's header says that it is to be written by way of a log: what is opened as a file
// that nobody changes says no journal mode of its own.
func keepsLog(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	const reads, writes, byLog = 18, 19, 2 // places in the header, https://sqlite.org/fileformat.html
	var header [writes + 1]byte
	_, err = io.ReadFull(f, header[:])
	return err == nil && header[reads] == byLog && header[writes] == byLog
}

// sqliteReader opens a pool that writes nothing, and reads from it: only then does SQLite open its files.
func sqliteReader(ctx context.Context, path, mode string) (*sql.DB, error) {
	options := url.Values{"mode": {mode}, "_pragma": {
		"busy_timeout(10000)", "query_only(1)", "temp_store(MEMORY)", fmt.Sprintf("cache_size(-%d)", sqliteReadCache),
	}}
	if mode == "immutable" {
		options.Set("mode", "ro")
		options.Set("immutable", "1")
	}
	db, err := sql.Open("sqlite", sqliteURI(path, options))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(sqliteReaders)
	db.SetMaxIdleConns(sqliteReaders)
	var version int64
	if err := db.QueryRowContext(ctx, "PRAGMA schema_version").Scan(&version); err != nil {
		db.Close()
		return nil, whyClosed(path, err)
	}
	return db, nil
}

// whyClosed is what the system says of a file that SQLite could not open, if it says more.
func whyClosed(path string, err error) error {
	file, why := os.Open(path)
	if why != nil {
		return why
	}
	return errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
}

func sqliteFault(err error) Fault {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return FaultOther
	}
	if e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY {
		return faultTaken
	}
	if e.Code() == sqlite3.SQLITE_ERROR && strings.Contains(e.Error(), "no such table") {
		return FaultNoTable
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return faultBusy
	case sqlite3.SQLITE_FULL:
		return faultFull
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return faultDamaged
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return faultConnection
	}
	return FaultOther
}

func checkSQLite(ctx context.Context, db *sql.DB) ([]Finding, error) {
	var mode string
	var synchronous int
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return nil, err
	}
	if err := db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&synchronous); err != nil {
		return nil, err
	}
	var found []Finding
	var seq int
	var name, path string
	if err := db.QueryRowContext(ctx, "PRAGMA database_list").Scan(&seq, &name, &path); err != nil {
		return nil, err
	}
	if mode != "wal" && !keepsLog(path) {
		found = append(found, Finding{"journal_mode", mode, "readers block the writer. posthouse serve asks for wal: if this stays, the file system cannot do it (a network file system?)"})
	}
	if synchronous < 2 {
		found = append(found, Finding{"synchronous", fmt.Sprint(synchronous), "accepted messages can be lost in a power cut: want FULL"})
	}
	if kind := networkFS(path); kind != "" {
		found = append(found, Finding{"file system", kind, "SQLite's locks are not safe on a network file system, and another machine would corrupt the database: want a local disk"})
	}
	return found, nil
}

// Free pages are used again, so a few stay: the file is made smaller only where they are many, and a tenth of it.
const (
	freeLeast = 1000
	freeShare = 10
)

func giveBackPages(t *Tx) (bool, error) {
	free, _, err := First(t.Query, Number, "PRAGMA freelist_count")
	if err != nil {
		return false, err
	}
	pages, _, err := First(t.Query, Number, "PRAGMA page_count")
	if err != nil || free < freeLeast || free*freeShare < pages {
		return false, err
	}
	return true, t.Query(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", BulkStep), nil, func(Scanner) error { return nil })
}
