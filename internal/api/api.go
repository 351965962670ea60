package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/rule"
	"github.com/posthouse/posthouse/workflow"
)

// Options makes the API. Engine, Store, Channels, Jobs and Tasks are required.
type Options struct {
	Engine   Engine
	Store    Store
	Channels Channels
	// Gate is the one that other front doors share. Defaults to a new one.
	Gate *Gate
	// Jobs are the notification document's functions, for one request.
	Jobs func(Once) workflow.Jobs
	// Tasks takes the events of workflows.
	Tasks Tasks
	// Readiness says what /readyz answers. Defaults to no checks.
	Readiness func(ctx context.Context) []Check
	// Unsafe names the database's unsafe settings for /healthz. Defaults to none.
	Unsafe func(ctx context.Context) ([]Finding, error)
	// Metrics serves /metrics. Defaults to an empty page.
	Metrics http.Handler
	// Log defaults to slog.Default().
	Log *slog.Logger
	// MaxBody bounds a request's body, in bytes. Defaults to 4 MiB.
	MaxBody int64
	// Version and Database are shown by /healthz.
	Version, Database string
	// TimeZone is the IANA zone of rosters that name none. Defaults to rule.DefaultTimeZone.
	TimeZone string
}

// Check is one part of readiness.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
	// Optional parts are named when they fail, but the server stays ready: the others go on.
	Optional bool `json:"optional,omitempty"`
}

// Finding is one setting of the database that is unsafe.
type Finding struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	Why     string `json:"why"`
}

// api is what handlers share.
type api struct {
	Options
	drivers []channel.Type
	gate    *Gate
	unsafe  *memo
	spec    []byte
	routes  []route
	zone    *time.Location // of times that name none
	mux     *http.ServeMux
}

// New makes the API's handler. It serves at once; it starts and stops nothing.
func New(o Options) (http.Handler, error) {
	if o.Engine == nil || o.Store == nil || o.Channels == nil || o.Jobs == nil || o.Tasks == nil {
		return nil, errors.New("api: Engine, Store, Channels, Jobs and Tasks are required")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 4 << 20
	}
	if o.Readiness == nil {
		o.Readiness = func(context.Context) []Check { return nil }
	}
	if o.Metrics == nil {
		o.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	}
	a := &api{Options: o, gate: cmp.Or(o.Gate, NewGate(o.Store)), unsafe: newMemo(o.Unsafe), drivers: o.Channels.Types(), routes: table(), mux: http.NewServeMux()}
	zone, err := time.LoadLocation(cmp.Or(o.TimeZone, rule.DefaultTimeZone))
	if err != nil {
		return nil, fmt.Errorf("read the time zone: %w", err)
	}
	a.zone = zone
	spec, err := describe(a.routes)
	if err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	a.spec = spec
	for _, r := range a.routes {
		a.mux.Handle(r.method+" "+r.path, a.handler(r))
	}
	a.mux.Handle("/", a.handler(route{serve: (*api).nowhere}))
	return a.mux, nil
}

// nowhere answers addresses that are not in the table: 405 where another method is.
func (a *api) nowhere(c *call) (answer, error) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		probe := c.Clone(c.Context())
		probe.Method = method
		if _, pattern := a.mux.Handler(probe); pattern != "/" && pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return answer{}, faultf(http.StatusNotFound, "not_found", "there is no address %.200q; /openapi.json lists all there are", c.URL.Path)
	}
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(allowed, http.MethodHead)
	}
	for _, method := range allowed {
		c.writer.Header().Add("Allow", method)
	}
	return answer{}, faultf(http.StatusMethodNotAllowed, "invalid", "the method %.20q is not allowed here: want one of %s", c.Method, words(allowed))
}
