// Command riversqlite runs one trial on River over SQLite, as bench starts it. It is a
// module of its own because the newest driver for SQLite that the module proxy has given
// us, v0.31.0, does not fit River's newest version, which bench measures on PostgreSQL.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/riverqueue/river/riverdriver/riversqlite"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/posthouse/posthouse/bench/peers/river"
	"github.com/posthouse/posthouse/bench/trial"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := trial.Serve(ctx, map[string]trial.Open{"river-sqlite": open}, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "riversqlite:", err)
		os.Exit(1)
	}
}

// open opens River on sqlite:PATH with the journal and the durability of our own engine,
// WAL and synchronous=FULL. River asks for one connection at most.
func open(ctx context.Context, dsn string) (trial.Queue, error) {
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(dsn, "sqlite:")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(30000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return river.Open(ctx, riversqlite.New(db), file{db})
}

type file struct{ db *sql.DB }

// Settle does what ANALYZE does on PostgreSQL.
func (f file) Settle(ctx context.Context) error {
	_, err := f.db.ExecContext(ctx, "ANALYZE")
	return err
}

// Left is how many jobs are not completed.
func (f file) Left(ctx context.Context) (n int, err error) {
	err = f.db.QueryRowContext(ctx, river.LeftStatement).Scan(&n)
	return n, err
}

// Close closes the file.
func (f file) Close() error { return f.db.Close() }
