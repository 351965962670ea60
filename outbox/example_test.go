package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/outbox"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/workflow"
)

// An order and the message that tells of it are one transaction.
func ExampleBox_Enqueue() {
	dir, err := os.MkdirTemp("", "outbox")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "shop.db")
	ctx := context.Background()

	// Posthouse on the shop's database; as a rule it is a program of its own.
	sent := make(chan string)
	house, err := server.New(ctx, server.Options{
		DSN: "sqlite:" + file, Addr: "127.0.0.1:0", Drivers: []channel.Type{paper(sent)},
		Log: slog.New(slog.DiscardHandler), Output: io.Discard,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer house.Stop(ctx)
	if err := house.Start(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := house.PutChannel(ctx, posthouse.DefaultTenant, posthouse.Channel{Name: "letters", Driver: "paper"}); err != nil {
		log.Fatal(err)
	}

	// The shop, with a driver of its own choice.
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE orders (number INTEGER PRIMARY KEY)"); err != nil {
		log.Fatal(err)
	}
	box, err := outbox.New(outbox.Options{Database: outbox.SQLite})
	if err != nil {
		log.Fatal(err)
	}
	order := func(number int, paid bool) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // without effect after a commit
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (number) VALUES (?)", number); err != nil {
			return err
		}
		_, err = box.Enqueue(ctx, tx, posthouse.Draft{
			Channel: "letters",
			To:      []posthouse.Recipient{{User: "ann"}},
			Content: &posthouse.Content{Text: fmt.Sprintf("order %d is on its way", number)},
		})
		if err != nil || !paid {
			return err
		}
		return tx.Commit()
	}

	fmt.Println("order 1:", order(1, false)) // rolled back: nobody is told
	fmt.Println("order 2:", order(2, true))
	fmt.Println(<-sent)
	// Output:
	// order 1: <nil>
	// order 2: <nil>
	// to ann: order 2 is on its way
}

// A program that was interrupted starts over, and nobody is told twice.
func ExampleBox_Enqueue_twice() {
	db, box, end := shop()
	defer end()
	ctx := context.Background()
	shipped := posthouse.Draft{
		Channel: "letters", To: []posthouse.Recipient{{User: "ann"}}, Content: &posthouse.Content{Text: "order 7 is on its way"},
		DedupKey: "order 7 shipped",
	}
	first, err := box.Enqueue(ctx, db, shipped)
	if err != nil {
		log.Fatal(err)
	}
	again, err := box.Enqueue(ctx, db, shipped)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the same message:", first[0] == again[0])
	fmt.Println("rows:", rows(db))
	// Output:
	// the same message: true
	// rows: 1
}

// What happened to a task belongs to the transaction that changed the task.
func ExampleBox_Report() {
	db, box, end := shop()
	defer end()
	ctx := context.Background()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback() // without effect after a commit
	err = box.Report(ctx, tx,
		workflow.Event{Type: workflow.NodeDone, Task: "t1", Node: "review"},
		workflow.Event{Type: workflow.NodeActivated, Task: "t1", Node: "approve", WorkItems: []workflow.WorkItem{{Assignee: "ann", PhaseStatus: 1}}})
	if err != nil {
		log.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("rows:", rows(db))
	// Output:
	// rows: 2
}

// A library of its own kind needs a method around it.
func ExampleExecer() {
	db, box, end := shop()
	defer end()
	orm := ownTx{db}
	_, err := box.Enqueue(context.Background(), orm, posthouse.Draft{
		Channel: "letters", To: []posthouse.Recipient{{User: "ann"}}, Content: &posthouse.Content{Text: "hello"},
	})
	fmt.Println(err, rows(db))
	// Output:
	// <nil> 1
}

// ownTx lets a library take part that is called in another way.
type ownTx struct{ lib *sql.DB }

func (t ownTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.lib.ExecContext(ctx, query, args...)
}

// shop is a database with Posthouse's tables, while no Posthouse runs.
func shop() (*sql.DB, *outbox.Box, func()) {
	dir, err := os.MkdirTemp("", "outbox")
	if err != nil {
		log.Fatal(err)
	}
	file := filepath.Join(dir, "shop.db")
	house, err := server.New(context.Background(), server.Options{DSN: "sqlite:" + file, Log: slog.New(slog.DiscardHandler), Output: io.Discard})
	if err != nil {
		log.Fatal(err)
	}
	if err := house.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		log.Fatal(err)
	}
	box, err := outbox.New(outbox.Options{Database: outbox.SQLite})
	if err != nil {
		log.Fatal(err)
	}
	return db, box, func() {
		db.Close()
		os.RemoveAll(dir)
	}
}

func rows(db *sql.DB) (n int) {
	if err := db.QueryRow("SELECT COUNT(*) FROM posthouse_outbox").Scan(&n); err != nil {
		log.Fatal(err)
	}
	return n
}

// paper is a driver that hands each message to a channel.
func paper(sent chan<- string) channel.Type {
	return channel.Type{
		Name: "paper",
		Open: func(channel.Config, channel.Env) (channel.Driver, error) { return postman(sent), nil },
	}
}

type postman chan<- string

func (p postman) Send(_ context.Context, out channel.Outgoing) channel.Result {
	p <- fmt.Sprintf("to %s: %s", out.Recipient.User, out.Content.Text)
	return channel.Result{Class: posthouse.ClassOK}
}
