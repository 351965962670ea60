// Package posthouse runs trials on our own engine, inside of the whole server: with its
// limits, its leases, its events and its attempts, which it always records.
package posthouse

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/bench/trial"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/server"
)

// Queue is Posthouse on one empty database.
type Queue struct {
	dsn      string
	key      string
	limits   []posthouse.Limit
	handling trial.Handling
	sent     atomic.Int64
	followed bool
	fleet    bool // sends by many accounts
	follower sync.WaitGroup
	server   *server.Server
	registry *prometheus.Registry
	accept   func(ctx context.Context, drafts []posthouse.Draft) error
	client   http.Client
}

// channelName is the one channel of a trial.
const channelName = "bench"

// Open opens Posthouse as a Go program embeds it: messages go through Server.Accept.
func Open(ctx context.Context, dsn string) (trial.Queue, error) {
	q, err := open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	q.accept = q.acceptGo
	return q, nil
}

// OpenHTTP opens it as everybody else reaches it: messages come through POST /v1/messages.
func OpenHTTP(ctx context.Context, dsn string) (trial.Queue, error) {
	q, err := open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	q.accept = q.acceptHTTP
	return q, nil
}

// OpenLimited is Open with a limit on the channel that never holds it up: the limiter is asked for every send.
func OpenLimited(ctx context.Context, dsn string) (trial.Queue, error) {
	q, err := open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	q.accept, q.limits = q.acceptGo, []posthouse.Limit{{Max: 100_000, Per: posthouse.Duration(time.Second)}}
	return q, nil
}

// OpenFollowed is Open with a follower of all that happens, which does nothing with it.
func OpenFollowed(ctx context.Context, dsn string) (trial.Queue, error) {
	q, err := open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	q.accept, q.followed = q.acceptGo, true
	return q, nil
}

func open(ctx context.Context, dsn string) (*Queue, error) {
	q := &Queue{dsn: dsn, key: secret.FormatKey(secret.NewKey())}
	q.client.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	if err := q.serve(ctx, true); err != nil {
		return nil, err
	}
	return q, q.server.Start(ctx)
}

// keyring is a fixed key: nothing of a benchmark is secret.
const keyring = "bench:cG9zdGhvdXNlLWJlbmNobWFyay1rZXlyaW5nLTAwMDE=" //nolint:gosec // not a secret

// serve makes the server and its channel; the first one only accepts.
func (q *Queue) serve(ctx context.Context, acceptOnly bool) error {
	if err := q.make(ctx, acceptOnly); err != nil {
		return err
	}
	_, err := q.server.PutChannel(ctx, posthouse.DefaultTenant, q.channel())
	return err
}

func (q *Queue) make(ctx context.Context, acceptOnly bool) (err error) {
	q.registry = prometheus.NewRegistry()
	q.server, err = server.New(ctx, server.Options{
		DSN: q.dsn, AcceptOnly: acceptOnly, AdminKey: q.key, Addr: "127.0.0.1:0", Registry: q.registry, AllowPrivate: true, MaxSenders: 1024,
		Keyring: keyring, Drivers: q.drivers(), Output: io.Discard,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	return err
}

// channel sends by the trial's handler; where that posts, by our own driver for HTTP providers.
func (q *Queue) channel() posthouse.Channel {
	ch := posthouse.Channel{Name: channelName, Driver: handlerDriver}
	ch.MaxInflight, ch.Limits = max(1, q.handling.Workers), q.limits
	if q.fleet {
		asFleet(&ch)
	}
	if q.handling.Post != "" {
		ch.Driver = httpDriver
		ch.Config = map[string]any{"url": q.handling.Post, "body": `{"to":"${address}","text":"${text}"}`}
	}
	return ch
}

func (q *Queue) draft(text string) posthouse.Draft {
	return posthouse.Draft{
		Channel: channelName, To: []posthouse.Recipient{{User: "u1", Address: "a1"}}, Content: &posthouse.Content{Text: text},
	}
}

// Accept hands messages in, those of one call as one request.
func (q *Queue) Accept(ctx context.Context, texts []string) error {
	drafts := make([]posthouse.Draft, len(texts))
	for i, text := range texts {
		drafts[i] = q.draft(text)
	}
	return q.accept(ctx, drafts)
}

func (q *Queue) acceptGo(ctx context.Context, drafts []posthouse.Draft) error {
	_, err := q.server.Accept(ctx, posthouse.DefaultTenant, drafts...)
	return err
}

func (q *Queue) acceptHTTP(ctx context.Context, drafts []posthouse.Draft) error {
	for i := range drafts {
		if err := q.postMessage(ctx, &drafts[i]); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue) postMessage(ctx context.Context, d *posthouse.Draft) error {
	return q.call(ctx, http.MethodPost, "/v1/messages", d, http.StatusAccepted)
}

// Prepare replaces the server that only accepts by one that sends.
func (q *Queue) Prepare(ctx context.Context, h trial.Handling) error {
	q.handling = h
	if err := q.server.Stop(ctx); err != nil {
		return err
	}
	return q.serve(ctx, false)
}

// Start starts it.
func (q *Queue) Start(ctx context.Context) error {
	if err := q.server.Start(ctx); err != nil || !q.followed {
		return err
	}
	q.follower.Go(func() {
		_ = q.server.Follow(ctx, "", func([]posthouse.FeedEvent) error { return nil }) // until the server stops
	})
	return nil
}

// Ended counts the attempts that are recorded, once all were made: reading the metrics costs as
// much as some sends.
func (q *Queue) Ended(_ context.Context, accepted int) (int, error) {
	if n := int(q.sent.Load()); n < accepted {
		return n, nil
	}
	families, err := q.registry.Gather()
	if err != nil {
		return 0, err
	}
	n := 0.0
	for _, f := range families {
		if f.GetName() == "posthouse_message_send_total" {
			for _, m := range f.GetMetric() {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return int(n), nil
}

// Close stops the server. What a cut trial left in the queue stays there.
func (q *Queue) Close(ctx context.Context) error {
	q.client.CloseIdleConnections()
	err := q.server.Stop(ctx)
	q.follower.Wait()
	return err
}
