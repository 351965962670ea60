package api

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// health says that the process lives.
type health struct {
	Status   string    `json:"status"`
	Version  string    `json:"version"`
	Database string    `json:"database"`
	Unsafe   []Finding `json:"unsafe" doc:"Settings of the database that can lose accepted messages."`
}

// readiness says whether the server can do its work.
type readiness struct {
	Ready  bool    `json:"ready"`
	Checks []Check `json:"checks"`
}

func (a *api) health(c *call) (answer, error) {
	return ok(health{Status: "ok", Version: a.Version, Database: a.Database, Unsafe: a.unsafe.get(c.Context())})
}

func (a *api) ready(c *call) (answer, error) {
	out := readiness{Ready: true, Checks: append([]Check{}, a.Readiness(c.Context())...)}
	status := http.StatusOK
	for _, check := range out.Checks {
		if !check.OK && !check.Optional {
			out.Ready, status = false, http.StatusServiceUnavailable
		}
	}
	return answer{status: status, body: out}, nil
}

// memoFor is how long the database's settings are remembered: anybody may ask for /healthz.
const memoFor = time.Minute

// memo remembers the unsafe settings for a while.
type memo struct {
	ask  func(ctx context.Context) ([]Finding, error)
	mu   sync.Mutex
	at   time.Time
	list []Finding
}

func newMemo(ask func(ctx context.Context) ([]Finding, error)) *memo {
	if ask == nil {
		ask = func(context.Context) ([]Finding, error) { return nil, nil }
	}
	return &memo{ask: ask, list: []Finding{}}
}

// get never fails: a database that does not answer is /readyz's to say.
func (m *memo) get(ctx context.Context) []Finding {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.at) < memoFor {
		return m.list
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if list, err := m.ask(ctx); err == nil {
		m.at, m.list = time.Now(), append([]Finding{}, list...)
	}
	return m.list
}
