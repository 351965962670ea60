package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var sqliteDialect = &dialect{
	name:   "sqlite",
	goose:  goose.DialectSQLite3,
	upsert: onConflict,
	sum:    sumOnConflict,
	limit:  "0 + ?",

	deleteByKey: "DELETE FROM %s",
	fault:       sqliteFault,
	open:        openSQLite,
	check:       checkSQLite,
}

// sqliteCache is the page cache of each connection, in KiB. More costs time: when a page is split, SQLite
// swaps numbers by way of page 262145, the one that holds its locks, and then searches all of its cache at
// the commit for pages behind the end of the file. With 64 MiB that was a fifth of a small commit.
const sqliteCache = 16 << 10

// openSQLite opens a write pool of one connection, which the committer keeps, and a read
// pool. synchronous=FULL: an answer of 202 must survive a power cut, and the shared
// commit makes it cheap.
func openSQLite(ctx context.Context, dsn string) (write, read *sql.DB, err error) {
	path := strings.TrimPrefix(strings.TrimPrefix(dsn, "sqlite:"), "//")
	if path == "" {
		return nil, nil, errors.New(`the DSN names no file: want "sqlite:PATH"`)
	}
	if strings.Contains(path, ":memory:") {
		return nil, nil, errors.New(`a database in memory is lost with the process: want "sqlite:PATH"`)
	}
	if dir := filepath.Dir(path); dir != "." {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return nil, nil, fmt.Errorf("make the database's folder: %w", err)
		}
	}
	// The file holds message texts: only its owner may read it. SQLite gives its side files the same mode.
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, nil, fmt.Errorf("open the database's file: %w", err)
	} else if err := f.Close(); err != nil {
		return nil, nil, err
	}
	pragmas := url.Values{"_pragma": {
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
		"temp_store(MEMORY)", fmt.Sprintf("cache_size(-%d)", sqliteCache), "wal_autocheckpoint(4000)",
	}}
	pragmas.Set("_txlock", "immediate") // for the migrations: a transaction that only reads at first must not meet another writer later
	escaped := (&url.URL{Path: path}).EscapedPath()
	write, err = sql.Open("sqlite", "file:"+escaped+"?"+pragmas.Encode())
	if err != nil {
		return nil, nil, err
	}
	write.SetMaxOpenConns(1)
	if err := write.PingContext(ctx); err != nil {
		write.Close()
		return nil, nil, err
	}
	pragmas.Del("_txlock")
	pragmas.Add("_pragma", "query_only(1)")
	read, err = sql.Open("sqlite", "file:"+escaped+"?"+pragmas.Encode())
	if err != nil {
		write.Close()
		return nil, nil, err
	}
	read.SetMaxOpenConns(8)
	read.SetMaxIdleConns(8)
	return write, read, nil
}

func sqliteFault(err error) fault {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return faultOther
	}
	if e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY {
		return faultTaken
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return faultBusy
	case sqlite3.SQLITE_FULL:
		return faultFull
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return faultConnection
	}
	return faultOther
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
	if mode != "wal" {
		found = append(found, Finding{"journal_mode", mode, "the file system does not support WAL (a network file system?): readers will block the writer"})
	}
	if synchronous < 2 {
		found = append(found, Finding{"synchronous", fmt.Sprint(synchronous), "accepted messages can be lost in a power cut: want FULL"})
	}
	var seq int
	var name, path string
	if err := db.QueryRowContext(ctx, "PRAGMA database_list").Scan(&seq, &name, &path); err != nil {
		return nil, err
	}
	if kind := networkFS(path); kind != "" {
		found = append(found, Finding{"file system", kind, "SQLite's locks are not safe on a network file system, and another machine would corrupt the database: want a local disk"})
	}
	return found, nil
}
