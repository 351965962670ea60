package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/posthouse/posthouse/bench/trial"
	"github.com/posthouse/posthouse/internal/dbtest"
)

// house is what the trials share: the databases, the sink and the programs.
type house struct {
	o       options
	dir     string // of SQLite files
	files   int
	program string
	sink    *sink
	nested  map[string]string // programs of nested modules, once built
	servers map[string]*dbtest.Server
}

// serverOptions are the database servers there are, by backend; sqlite has none.
var serverOptions = map[string]dbtest.Options{
	"postgres": {Kind: dbtest.KindPostgres, Durable: true},
	"mariadb":  {Kind: dbtest.KindMariaDB, Durable: true},
	// Redis as it comes: snapshots now and then, so that a crash loses minutes.
	"redis": {Kind: dbtest.KindRedis, Args: []string{"--save", "3600 1 300 100 60 10000"}},
	// Redis that syncs before it answers.
	"redis-aof": {Kind: dbtest.KindRedis, Durable: true},
}

func open(_ context.Context, o options) (*house, error) {
	for _, name := range o.databases {
		if _, ok := serverOptions[name]; !ok && name != "sqlite" {
			return nil, fmt.Errorf("there is no database %q: want sqlite, postgres, mariadb or redis", name)
		}
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	h := &house{o: o, program: program, sink: newSink(), servers: map[string]*dbtest.Server{}, nested: map[string]string{}}
	h.dir, err = os.MkdirTemp("", "posthouse-bench-")
	return h, err
}

func (h *house) close() error {
	h.sink.Close()
	var errs []error
	for _, s := range h.servers {
		errs = append(errs, s.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(h.dir))...) //nolint:gosec // the directory we made
}

// has reports whether a backend was asked for.
func (h *house) has(backend string) bool {
	if backend == "redis-aof" {
		backend = "redis"
	}
	return slices.Contains(h.o.databases, backend)
}

// server starts a database server when it is first needed.
func (h *house) server(backend string) (*dbtest.Server, error) {
	if s, ok := h.servers[backend]; ok {
		return s, nil
	}
	s, err := dbtest.Start(serverOptions[backend])
	if err == nil {
		h.servers[backend] = s
	}
	return s, err
}

// database makes an empty database, and returns its DSN, the process id of its server (0: none) and what removes it.
func (h *house) database(ctx context.Context, backend string) (dsn string, pid int, drop func() error, err error) {
	if backend == "sqlite" {
		h.files++
		dir := filepath.Join(h.dir, fmt.Sprint(h.files))
		err := os.Mkdir(dir, 0o700)                                                                          //nolint:gosec // in the directory we made
		return "sqlite:" + filepath.Join(dir, "queue.db"), 0, func() error { return os.RemoveAll(dir) }, err //nolint:gosec // in the directory we made
	}
	s, err := h.server(backend)
	if err != nil {
		return "", 0, nil, err
	}
	if serverOptions[backend].Kind == dbtest.KindRedis {
		return s.DSN, s.PID(), func() error { return flush(ctx, s.Addr) }, flush(ctx, s.Addr)
	}
	dsn, drop, err = s.Database()
	return dsn, s.PID(), drop, err
}

func flush(ctx context.Context, addr string) error {
	client := redis.NewClient(&redis.Options{Addr: addr})
	return errors.Join(client.FlushAll(ctx).Err(), client.Close())
}

// trial runs one contender through one cell on an empty database.
func (h *house) trial(ctx context.Context, c cell, of contender) (o trial.Outcome, err error) {
	program, err := h.programOf(ctx, of)
	if err != nil {
		return o, err
	}
	dsn, pid, drop, err := h.database(ctx, of.backend)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	h.sink.take()
	if o, err = runTrial(ctx, program, h.spec(c, of, dsn, pid)); err != nil {
		return o, fmt.Errorf("%s, %s: %w", c.name, of.name, err)
	}
	if ages := h.sink.take(); len(ages) > 0 {
		o.P50, o.P99 = ages[len(ages)/2], ages[len(ages)*99/100]
	}
	return o, nil
}

// inflight is how many of our sends may be under way at once where a cell does not say.
const inflight = 1000

func (h *house) spec(c cell, of contender, dsn string, server int) trial.Spec {
	s := c.spec
	s.Library, s.DSN, s.Server = of.library, dsn, server
	if s.Workers == 0 {
		s.Workers = cmp.Or(of.workers, inflight)
	}
	if of.single && s.Batch == 0 {
		s.Batch = 1
	}
	if c.post != "" {
		s.Post = h.sink.URL + c.post
	}
	if h.o.profiles != "" && of.ours {
		s.Profile = filepath.Join(h.o.profiles, slug(c.name+" "+of.name)+".pprof")
	}
	return s
}

// programOf is the program that runs a contender: this one, or that of a nested module, built when it is first needed.
func (h *house) programOf(ctx context.Context, of contender) (string, error) {
	if of.module == "" {
		return h.program, nil
	}
	if path, ok := h.nested[of.module]; ok {
		return path, nil
	}
	path := filepath.Join(h.dir, of.module)
	h.nested[of.module] = path
	return path, build(ctx, of.module, ".", path)
}
