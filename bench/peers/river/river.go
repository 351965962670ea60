// Package river runs trials on River (riverqueue/river), over whichever of its drivers
// it is given. It is tuned for throughput and latency as its documentation allows: a
// fetch every millisecond, and a poll every 50 where no notification came.
package river

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/posthouse/posthouse/bench/trial"
)

// Queue is River on one database.
type Queue[TTx any] struct {
	driver   riverdriver.Driver[TTx]
	store    Store
	client   *river.Client[TTx] // the one that works, once there is one
	inserter *river.Client[TTx]
	handling trial.Handling
	started  bool
}

// Store is the database beside River.
type Store interface {
	// Settle brings the planner's statistics up to what is stored.
	Settle(ctx context.Context) error
	// Left is how many jobs are not completed.
	Left(ctx context.Context) (int, error)
	Close() error
}

// LeftStatement counts the jobs that are not completed.
const LeftStatement = "SELECT count(*) FROM river_job WHERE state IN ('available', 'running', 'retryable', 'scheduled', 'pending', 'cancelled', 'discarded')"

// Open makes River's tables and a client that inserts.
func Open[TTx any](ctx context.Context, driver riverdriver.Driver[TTx], store Store) (*Queue[TTx], error) {
	q := &Queue[TTx]{driver: driver, store: store}
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	if q.inserter, err = river.NewClient(driver, &river.Config{Logger: quiet()}); err != nil {
		return nil, err
	}
	return q, nil
}

func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

// job is a message.
type job struct {
	Text string `json:"text"`
}

// Kind names the job.
func (job) Kind() string { return "message" }

type worker struct {
	river.WorkerDefaults[job]
	handle func(context.Context, string) error
}

// Work handles a message.
func (w *worker) Work(ctx context.Context, j *river.Job[job]) error {
	return w.handle(ctx, j.Args.Text)
}

// Accept inserts one job, or many by River's fastest way.
func (q *Queue[TTx]) Accept(ctx context.Context, texts []string) error {
	if len(texts) == 1 {
		_, err := q.inserter.Insert(ctx, job{Text: texts[0]}, nil)
		return err
	}
	many := make([]river.InsertManyParams, len(texts))
	for i, text := range texts {
		many[i].Args = job{Text: text}
	}
	_, err := q.inserter.InsertManyFast(ctx, many)
	return err
}

// Prepare makes the client that works.
func (q *Queue[TTx]) Prepare(ctx context.Context, h trial.Handling) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{handle: h.Handle})
	var err error
	q.handling = h
	q.client, err = river.NewClient(q.driver, &river.Config{
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: h.Workers}},
		FetchCooldown: time.Millisecond, FetchPollInterval: 50 * time.Millisecond,
		Workers: workers, Logger: quiet(),
	})
	if err != nil {
		return err
	}
	q.inserter = q.client // it wakes itself when it inserts
	return q.store.Settle(ctx)
}

// Start starts the client.
func (q *Queue[TTx]) Start(ctx context.Context) error {
	q.started = true
	return q.client.Start(ctx)
}

// Ended asks the database once all were handled: River completes them a moment later.
func (q *Queue[TTx]) Ended(ctx context.Context, accepted int) (int, error) {
	if n := q.handling.Handled(); n < accepted {
		return n, nil
	}
	left, err := q.store.Left(ctx)
	return accepted - left, err
}

// Close stops the client and closes the database.
func (q *Queue[TTx]) Close(ctx context.Context) error {
	if q.started {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_ = q.client.StopAndCancel(ctx) // a trial that was cut has jobs left
	}
	return q.store.Close()
}
