package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// operation is the resource of how the server itself is.
type operation struct {
	Operation
	unsafe *memo
}

func (o operation) routes() []web.Route {
	if o.Metrics == nil {
		o.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	}
	return web.Tagged("operation",
		web.Get("/healthz", "", "The process lives; names unsafe database settings.", o.health),
		web.Get("/readyz", "", "Whether it can do its work, part by part; 503 where not. With a key it names the channels of its tenant that do not send now, and why; without one it counts those of all.", o.ready).Answers(http.StatusOK, http.StatusServiceUnavailable).Greets(),
		web.Plain(http.MethodGet, "/metrics", "Metrics for Prometheus.", o.Metrics),
	)
}

func (o operation) health(c *web.Call) (wire.Health, error) {
	return wire.Health{Status: "ok", Version: o.Version, Database: o.Database, TimeZone: o.Zone.String(), Unsafe: o.unsafe.get(c.Context())}, nil
}

func (o operation) ready(c *web.Call) (wire.Readiness, error) {
	out := wire.Readiness{Ready: true, Checks: []wire.Check{}}
	if o.Place != nil {
		out.Place = o.Place()
	}
	if o.Readiness != nil {
		out.Checks = append(out.Checks, o.Readiness(c.Context(), c.Key)...)
	}
	for _, check := range out.Checks {
		if !check.OK && !check.Optional {
			out.Ready, c.Status = false, http.StatusServiceUnavailable
		}
	}
	return out, nil
}

// memoFor is how long the database's settings are remembered: anybody may ask for /healthz.
const memoFor = time.Minute

// memo remembers the unsafe settings for a while.
type memo struct {
	ask  func(ctx context.Context) ([]wire.Setting, error)
	mu   sync.Mutex
	at   time.Time
	list []wire.Setting
}

func newMemo(ask func(ctx context.Context) ([]wire.Setting, error)) *memo {
	if ask == nil {
		ask = func(context.Context) ([]wire.Setting, error) { return nil, nil }
	}
	return &memo{ask: ask, list: []wire.Setting{}}
}

// get never fails: a database that does not answer is /readyz's to say.
func (m *memo) get(ctx context.Context) []wire.Setting {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.at) < memoFor {
		return m.list
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if list, err := m.ask(ctx); err == nil {
		m.at, m.list = time.Now(), append([]wire.Setting{}, list...)
	}
	return m.list
}

// Operation is what the server says of itself.
type Operation struct {
	// Readiness says what /readyz answers to somebody; to a stranger, whose key is empty, nothing of any tenant. Defaults to no checks.
	Readiness func(ctx context.Context, who posthouse.Key) []wire.Check
	// Place says which place the server stands at, and whether it sends. Defaults to none.
	Place func() *wire.PlaceStance
	// Unsafe names the database's unsafe settings for /healthz. Defaults to none.
	Unsafe func(ctx context.Context) ([]wire.Setting, error)
	// Metrics serves /metrics. Defaults to an empty page.
	Metrics http.Handler
	// Version and Database are shown by /healthz.
	Version, Database string
	// Zone is that of rosters that name none. Defaults to UTC.
	Zone *time.Location
}
