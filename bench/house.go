package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
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
	sink    *httptest.Server
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
	h := &house{o: o, program: program, sink: newSink(), servers: map[string]*dbtest.Server{}}
	h.dir, err = os.MkdirTemp("", "posthouse-bench-")
	return h, err
}

func (h *house) close() error {
	h.sink.Close()
	var errs []error
	for _, s := range h.servers {
		errs = append(errs, s.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(h.dir))...)
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
		err := os.Mkdir(dir, 0o700)
		return "sqlite:" + filepath.Join(dir, "queue.db"), 0, func() error { return os.RemoveAll(dir) }, err
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
	defer client.Close()
	return client.FlushAll(ctx).Err()
}

// trial runs one contender through one cell on an empty database.
func (h *house) trial(ctx context.Context, c cell, of contender) (o trial.Outcome, err error) {
	dsn, pid, drop, err := h.database(ctx, of.backend)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	s := c.spec
	s.Library, s.DSN, s.Server = of.library, dsn, pid
	if of.workers != 0 && c.spec.Workers == inflight {
		s.Workers = of.workers
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
	if o, err = runTrial(ctx, h.program, s); err != nil {
		err = fmt.Errorf("%s, %s: %w", c.name, of.name, err)
	}
	return o, err
}
