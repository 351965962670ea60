package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/server"
)

// bench is a started server with the channels that are measured.
type bench struct {
	*server.Server
	key      string
	registry *prometheus.Registry
	clock    *clockDriver
	sink     *httptest.Server
}

// withServer starts a server, makes the channels and stops everything after use.
func withServer(ctx context.Context, o server.Options, use func(*bench) (string, error)) (value string, err error) {
	b := &bench{registry: prometheus.NewRegistry(), clock: &clockDriver{}}
	b.sink = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"code":0}`)
	}))
	defer b.sink.Close()
	b.key = secret.FormatKey(secret.NewKey())
	o.AdminKey, o.Addr, o.Registry, o.AllowPrivate = b.key, "127.0.0.1:0", b.registry, true
	o.Keyring = benchKeyring
	o.Drivers = append(builtin.Types(), b.clock.describe())
	if b.Server, err = server.New(ctx, o); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, b.Stop(context.WithoutCancel(ctx))) }()
	if err := b.Start(ctx); err != nil {
		return "", err
	}
	for name, config := range map[string]struct {
		driver string
		config map[string]any
	}{
		"noop":  {"discard", nil},
		"http":  {"httpapi", map[string]any{"url": b.sink.URL, "body": `{"to":"${address}","text":"${text}"}`}},
		"clock": {"clock", nil},
	} {
		ch := posthouse.Channel{Name: name, Driver: config.driver, Config: config.config}
		ch.MaxInflight = 1000
		if _, err := b.PutChannel(ctx, posthouse.DefaultTenant, ch); err != nil {
			return "", err
		}
	}
	return use(b)
}

// benchKeyring is a fixed key: nothing of a benchmark is secret.
const benchKeyring = "bench:cG9zdGhvdXNlLWJlbmNobWFyay1rZXlyaW5nLTAwMDE=" //nolint:gosec // not a secret

// ended is how many attempts have been recorded.
func (b *bench) ended() (int, error) {
	families, err := b.registry.Gather()
	if err != nil {
		return 0, err
	}
	n := 0.0
	for _, f := range families {
		if f.GetName() == "posthouse_sends_total" {
			for _, m := range f.GetMetric() {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return int(n), nil
}

func drainNoop(ctx context.Context, dsn string, o options) (string, error) {
	return drain(ctx, dsn, o, "noop")
}

func drainHTTP(ctx context.Context, dsn string, o options) (string, error) {
	return drain(ctx, dsn, o, "http")
}

// drain fills a queue first and then measures how fast it empties, results recorded.
func drain(ctx context.Context, dsn string, o options, name string) (string, error) {
	_, err := withServer(ctx, server.Options{DSN: dsn, AcceptOnly: true}, func(b *bench) (string, error) {
		for left := o.drain; left > 0; {
			n := min(left, 1000)
			drafts := make([]posthouse.Draft, n)
			for i := range drafts {
				drafts[i] = draft(name)
			}
			if _, err := b.Engine().Accept(ctx, engine.Request{Tenant: posthouse.DefaultTenant, Drafts: drafts}); err != nil {
				return "", err
			}
			left -= n
		}
		return "", nil
	})
	if err != nil {
		return "", err
	}
	start := time.Now()
	return withServer(ctx, server.Options{DSN: dsn}, func(b *bench) (string, error) {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			n, err := b.ended()
			if err != nil {
				return "", err
			}
			if n >= o.drain {
				return perSecond(n, time.Since(start)), nil
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	})
}

// clockDriver notes how long ago a message was handed in: its text says when.
type clockDriver struct {
	mu    sync.Mutex
	waits []time.Duration
}

func (c *clockDriver) describe() channel.Type {
	return channel.Type{
		Name: "clock", Title: "Clock", Doc: "Measures the way from accept to driver.", MaxBatch: 1, Window: channel.Forever,
		Open: func(channel.Config, channel.Env) (channel.Driver, error) { return c, nil },
	}
}

// Send notes the wait.
func (c *clockDriver) Send(_ context.Context, out channel.Outgoing) channel.Result {
	now := time.Now().UnixNano()
	at, err := strconv.ParseInt(strings.TrimSpace(out.Content.Text), 10, 64)
	if err != nil {
		return channel.Result{Class: posthouse.ClassContent, Error: err.Error()}
	}
	c.mu.Lock()
	c.waits = append(c.waits, time.Duration(now-at))
	c.mu.Unlock()
	return channel.Result{Class: posthouse.ClassOK}
}

// latency accepts at a steady rate and says how long each took to reach the driver.
func latency(ctx context.Context, dsn string, o options) (string, error) {
	return withServer(ctx, server.Options{DSN: dsn}, func(b *bench) (string, error) {
		tick := time.NewTicker(time.Second / time.Duration(o.rate))
		defer tick.Stop()
		var wg sync.WaitGroup
		total := int(o.seconds.Seconds()) * o.rate
		for range total {
			<-tick.C
			wg.Go(func() {
				d := draft("clock")
				d.Content = &posthouse.Content{Text: strconv.FormatInt(time.Now().UnixNano(), 10)}
				_, _ = b.Engine().Accept(ctx, engine.Request{Tenant: posthouse.DefaultTenant, Drafts: []posthouse.Draft{d}})
			})
		}
		wg.Wait()
		for n := 0; n < total; {
			<-tick.C
			b.clock.mu.Lock()
			n = len(b.clock.waits)
			b.clock.mu.Unlock()
		}
		waits := b.clock.waits
		slices.Sort(waits)
		return fmt.Sprintf("p50 %s, p99 %s", round(waits[len(waits)/2]), round(waits[len(waits)*99/100])), nil
	})
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
