// Package backlite runs trials on backlite (mikestefanello/backlite), a queue in SQLite.
// It is given the same driver, journal and durability as our own engine: modernc.org/sqlite,
// WAL, synchronous=FULL.
package backlite

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/mikestefanello/backlite"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/posthouse/posthouse/bench/trial"
)

// Queue is backlite on one empty file.
type Queue struct {
	db       *sql.DB
	client   *backlite.Client
	handling trial.Handling
}

// Open opens backlite on sqlite:PATH.
func Open(_ context.Context, dsn string) (trial.Queue, error) {
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(dsn, "sqlite:")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(30000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // writers that wait in Go are faster than writers that retry
	q := &Queue{db: db}
	if err := q.register(1, func(context.Context, string) error { return nil }); err != nil {
		return nil, err
	}
	return q, q.client.Install()
}

// message is a task.
type message struct {
	Text string `json:"text"`
}

// Config is that of the task's queue.
func (message) Config() backlite.QueueConfig {
	return backlite.QueueConfig{Name: "messages", MaxAttempts: 3, Timeout: 30 * time.Second, Backoff: time.Second}
}

func (q *Queue) register(workers int, handle func(context.Context, string) error) error {
	client, err := backlite.NewClient(backlite.ClientConfig{DB: q.db, NumWorkers: workers, ReleaseAfter: time.Hour})
	if err != nil {
		return err
	}
	client.Register(backlite.NewQueue(func(ctx context.Context, m message) error { return handle(ctx, m.Text) }))
	q.client = client
	return nil
}

// Accept adds the tasks of one call in one transaction.
func (q *Queue) Accept(ctx context.Context, texts []string) error {
	tasks := make([]backlite.Task, len(texts))
	for i, text := range texts {
		tasks[i] = message{Text: text}
	}
	_, err := q.client.Add(tasks...).Ctx(ctx).Save()
	return err
}

// Prepare makes the client that works.
func (q *Queue) Prepare(_ context.Context, h trial.Handling) error {
	q.handling = h
	return q.register(h.Workers, h.Handle)
}

// Start starts its dispatcher.
func (q *Queue) Start(ctx context.Context) error {
	q.client.Start(ctx)
	return nil
}

// Ended asks the database once all were handled: a finished task is deleted.
func (q *Queue) Ended(ctx context.Context, accepted int) (int, error) {
	if n := q.handling.Handled(); n < accepted {
		return n, nil
	}
	left := 0
	err := q.db.QueryRowContext(ctx, "SELECT count(*) FROM backlite_tasks").Scan(&left)
	return accepted - left, err
}

// Close stops the dispatcher and closes the file.
func (q *Queue) Close(ctx context.Context) error {
	if q.handling.Handle != nil {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		q.client.Stop(ctx)
	}
	return q.db.Close()
}
