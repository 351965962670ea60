// Package asynq runs trials on Asynq (hibiken/asynq), which keeps its queue in Redis.
// It looks for new tasks every millisecond. How durable it is decides the Redis it is given.
package asynq

import (
	"context"
	"errors"
	"time"

	"github.com/hibiken/asynq"

	"github.com/posthouse/posthouse/bench/trial"
)

// Queue is Asynq on one empty Redis.
type Queue struct {
	redis     asynq.RedisConnOpt
	client    *asynq.Client
	inspector *asynq.Inspector
	server    *asynq.Server
	started   bool
	handling  trial.Handling
}

// Open opens Asynq on redis://host:port.
func Open(_ context.Context, dsn string) (trial.Queue, error) {
	redis, err := asynq.ParseRedisURI(dsn)
	if err != nil {
		return nil, err
	}
	if client, ok := redis.(asynq.RedisClientOpt); ok {
		client.PoolSize = 80 // enough for 64 producers; its default is ten for each core
		redis = client
	}
	return &Queue{redis: redis, client: asynq.NewClient(redis), inspector: asynq.NewInspector(redis)}, nil
}

// Accept enqueues tasks one by one: Asynq has no call for many.
func (q *Queue) Accept(ctx context.Context, texts []string) error {
	for _, text := range texts {
		if _, err := q.client.EnqueueContext(ctx, asynq.NewTask("message", []byte(text))); err != nil {
			return err
		}
	}
	return nil
}

// Prepare makes the server, which is Asynq's word for its workers.
func (q *Queue) Prepare(_ context.Context, h trial.Handling) error {
	q.handling = h
	q.server = asynq.NewServer(q.redis, asynq.Config{
		Concurrency: h.Workers, TaskCheckInterval: time.Millisecond, LogLevel: asynq.ErrorLevel,
	})
	return nil
}

// Start starts the server.
func (q *Queue) Start(context.Context) error {
	q.started = true
	return q.server.Start(asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
		return q.handling.Handle(ctx, string(t.Payload()))
	}))
}

// Ended asks Redis once all were handled.
func (q *Queue) Ended(_ context.Context, accepted int) (int, error) {
	if n := q.handling.Handled(); n < accepted {
		return n, nil
	}
	found, err := q.inspector.GetQueueInfo("default")
	if err != nil {
		return 0, err
	}
	return accepted - found.Size, nil
}

// Close stops the server and closes the connections.
func (q *Queue) Close(context.Context) error {
	if q.started {
		q.server.Shutdown()
	}
	return errors.Join(q.client.Close(), q.inspector.Close())
}
