package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/internal/api"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/workflow"
)

// Server is a running Posthouse: New, Start, Stop.
type Server struct {
	o        Options
	store    *store.Store
	engine   *engine.Engine
	keyring  *secret.Keyring
	network  channel.Network
	channels *channels
	flow     *workflow.Flow
	redis    *limit.Redis // nil without
	gate     *api.Gate
	http     *http.Server
	listener net.Listener
	sms      *http.Server // the SMS front door on an address of its own; nil without
	smsAt    net.Listener

	follow  context.CancelFunc
	done    sync.WaitGroup
	failed  chan error // the listener's end, if it was not ours
	stopped sync.Once
	stopErr error
}

// New opens the database, brings its schema up and makes all parts; nothing is served or sent
// until Start. A server that was made must be stopped.
func New(ctx context.Context, o Options) (_ *Server, err error) {
	o = o.withDefaults()
	s := &Server{o: o, failed: make(chan error, 1), network: channel.Network{Allow: o.AllowNetworks, AllowPrivate: o.AllowPrivate}}
	if err := o.SMS.check(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && s.store != nil {
			err = errors.Join(err, s.store.Close())
		}
	}()
	zone, err := time.LoadLocation(o.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("the time zone %q is not an IANA time zone such as Asia/Shanghai", o.TimeZone)
	}
	if s.store, err = store.Open(ctx, store.Options{DSN: o.DSN, Log: o.Log}); err != nil {
		return nil, err
	}
	if err := s.prepareSchema(ctx); err != nil {
		return nil, err
	}
	if s.keyring, err = openKeyring(o); err != nil {
		return nil, err
	}
	if err := s.prepareKey(ctx); err != nil {
		return nil, err
	}
	limiter, err := s.limiter()
	if err != nil {
		return nil, err
	}
	if err := s.openFlow(zone); err != nil {
		return nil, err
	}
	s.engine, err = engine.New(engine.Options{
		Store: s.store, Rosters: s.store, Limiter: limiter, Log: o.Log, Metrics: o.Registry, Tracer: o.Tracer, Location: zone,
		Poll: o.Poll, RescueEvery: o.RescueEvery, LeaseMargin: o.LeaseMargin, Clock: s.store.Now, Keep: o.Keep, KeepLogs: o.SMS.LogKeep, AcceptOnly: o.AcceptOnly, Accepters: s.accepters(),
		Sealer: s.keyring, PlatformURL: o.PlatformURL, Composers: s.composers(), TaskEvents: s.takeEvent,
		Refresh: func(ctx context.Context) error { return s.channels.refresh(ctx) },
		Broken:  func(tenant, name string) bool { return s.channels.isBroken(tenant, name) },
	})
	if err != nil {
		return nil, err
	}
	if s.channels, err = newChannels(s, o.Drivers); err != nil {
		return nil, err
	}
	if err := s.openDoors(); err != nil {
		return nil, err
	}
	return s, nil
}

// openDoors makes what serves HTTP.
func (s *Server) openDoors() error {
	s.gate = api.NewGate(s.store)
	handler, err := s.handler()
	if err != nil || !s.o.SMS.on() {
		s.http = s.httpServer(handler)
		return err
	}
	door, err := s.smsHandler()
	if err != nil {
		return err
	}
	both := http.NewServeMux()
	both.Handle("/", handler)
	both.Handle("/api/v1/", door)
	both.Handle("/health", door)
	s.http = s.httpServer(both)
	if s.o.SMS.Addr != "" {
		s.sms = s.httpServer(door) // and nothing else: its address is often open to phones
	}
	return nil
}

func (s *Server) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 60 * time.Second, WriteTimeout: 120 * time.Second,
		IdleTimeout: 120 * time.Second, MaxHeaderBytes: 32 << 10, ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
	}
}

func (o Options) withDefaults() Options {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:8080"
	}
	if o.TimeZone == "" {
		o.TimeZone = "Asia/Shanghai"
	}
	if o.Drain == 0 {
		o.Drain = 15 * time.Second
	}
	if o.MaxBody == 0 {
		o.MaxBody = 4 << 20
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.Output == nil {
		o.Output = os.Stdout
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Drivers == nil {
		o.Drivers = builtin.Types()
	}
	if o.KeyringFile == "" {
		o.KeyringFile = "posthouse.keys"
		if path, ok := store.SQLiteFile(o.DSN); ok {
			o.KeyringFile = filepath.Join(filepath.Dir(path), o.KeyringFile)
		}
	}
	if o.Announce == nil {
		out := o.Output
		o.Announce = func(key string) {
			fmt.Fprintf(out, "The first API key, shown once: %s\n", key)
		}
	}
	return o
}

// accepters: a database with several writers can commit two groups at once.
func (s *Server) accepters() int {
	if s.store.SharedClock() {
		return 2
	}
	return 1
}

func (s *Server) prepareSchema(ctx context.Context) error {
	have, want, err := s.store.Schema(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	switch {
	case have > want:
		return fmt.Errorf("the database's schema has version %d, newer than this binary's %d: use a newer posthouse", have, want)
	case have < want && s.o.NoMigrate:
		return fmt.Errorf("the database's schema has version %d, this binary wants %d: run posthouse migrate", have, want)
	case have < want:
		steps, err := s.store.Migrate(ctx)
		if err != nil {
			return fmt.Errorf("bring the schema from version %d to %d: %w", have, want, err)
		}
		s.o.Log.Info("schema brought up", "from", have, "to", want, "steps", steps)
	}
	return nil
}

// openKeyring reads the keyring from its text or its file, and makes the file where there is none.
func openKeyring(o Options) (*secret.Keyring, error) {
	if o.Keyring != "" {
		return secret.Parse(o.Keyring)
	}
	ring, err := secret.Load(o.KeyringFile)
	if errors.Is(err, os.ErrNotExist) {
		ring, err = secret.Create(o.KeyringFile)
	}
	if errors.Is(err, os.ErrExist) { // another process that starts at the same moment made it
		return secret.Load(o.KeyringFile)
	}
	return ring, err
}

// prepareKey stores the given admin key, or makes the first one.
func (s *Server) prepareKey(ctx context.Context) error {
	if s.o.AdminKey != "" {
		id, text, ok := secret.ParseKey(s.o.AdminKey)
		if !ok {
			return errors.New("the API key given at start has not the form ph_<id>_<secret>: `posthouse key new` prints one")
		}
		return s.addKey(ctx, id, text, "given at start")
	}
	any, err := s.store.AnyKey(ctx)
	if err != nil || any {
		return err
	}
	id, text := secret.NewKey()
	if err := s.addKey(ctx, id, text, "first"); err != nil {
		return err
	}
	s.o.Announce(secret.FormatKey(id, text))
	return nil
}

func (s *Server) addKey(ctx context.Context, id, text, name string) error {
	if found, err := s.hasKey(ctx, id, text); found || err != nil {
		return err
	}
	key := posthouse.Key{ID: id, Tenant: posthouse.DefaultTenant, Name: name, Scope: posthouse.ScopeAdmin}
	err := s.store.AddKey(ctx, time.Now(), key, secret.HashKey(text))
	if err == nil {
		return nil
	}
	if found, _ := s.hasKey(ctx, id, text); found { // another process that starts at the same moment stored it
		return nil
	}
	return err
}

// hasKey reports whether the key is stored; it is an error if its id is that of another.
func (s *Server) hasKey(ctx context.Context, id, text string) (bool, error) {
	_, hash, found, err := s.store.KeyHash(ctx, id)
	if err == nil && found && !secret.Equal(hash, secret.HashKey(text)) {
		return false, fmt.Errorf("the API key given at start has the id %s of another key: use a fresh one", id)
	}
	return found && err == nil, err
}

// limiter keeps limits in the database, and in Redis first where one is configured.
func (s *Server) limiter() (engine.Limiter, error) {
	shared := limit.SQL{Rows: s.store}
	if s.o.Redis == "" {
		return shared, nil
	}
	redis, err := limit.OpenRedis(limit.RedisOptions{URL: s.o.Redis})
	if err != nil {
		return nil, fmt.Errorf("the Redis address can not be used: %w", err)
	}
	s.redis = redis
	return &limit.Fallback{Primary: redis, Secondary: shared, Report: func(err error) {
		if err == nil {
			s.o.Log.Info("Redis answers again")
			return
		}
		s.o.Log.Warn("Redis does not answer: the database alone holds the limits", "error", err)
	}}, nil
}

func (s *Server) handler() (http.Handler, error) {
	s.o.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return api.New(api.Options{
		Engine: s.engine, Store: s.store, Channels: s.channels, Gate: s.gate, Jobs: s.jobsOf, Tasks: s.flow, Readiness: s.Readiness, Unsafe: s.unsafe,
		Metrics: promhttp.HandlerFor(s.o.Registry, promhttp.HandlerOpts{}), Log: s.o.Log, MaxBody: s.o.MaxBody, Version: s.o.Version, Database: s.store.Database(),
		TimeZone: s.o.TimeZone,
	})
}

// unsafe names the database's unsafe settings.
func (s *Server) unsafe(ctx context.Context) ([]api.Finding, error) {
	found, err := s.store.Doctor(ctx)
	out := make([]api.Finding, len(found))
	for i, f := range found {
		out[i] = api.Finding(f)
	}
	return out, err
}

// Start listens and begins to send.
func (s *Server) Start(ctx context.Context) error {
	if findings, err := s.store.Doctor(ctx); err == nil {
		for _, f := range findings {
			s.o.Log.Warn("unsafe database setting", "setting", f.Setting, "value", f.Value, "why", f.Why)
		}
	}
	if err := s.listen(); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		s.closeListeners()
		return err
	}
	following, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.follow = cancel
	s.done.Go(func() { s.channels.follow(following) })
	s.done.Go(func() { s.serve(s.http, s.listener) })
	if s.sms != nil {
		s.done.Go(func() { s.serve(s.sms, s.smsAt) })
	}
	s.o.Log.Info("posthouse serves", "url", s.URL(), "database", s.store.Database(), "version", s.o.Version)
	if s.o.SMS.on() {
		s.o.Log.Info("the SMS front door is open", "channel", s.o.SMS.channel(), "also_at", s.SMSURL())
	}
	return nil
}

// listen takes the addresses, so that what is wrong with them is known before anything is sent.
func (s *Server) listen() (err error) {
	if s.listener, err = net.Listen("tcp", s.o.Addr); err != nil {
		return fmt.Errorf("listen on %s: %w", s.o.Addr, err)
	}
	if s.sms == nil {
		return nil
	}
	if s.smsAt, err = net.Listen("tcp", s.o.SMS.Addr); err != nil {
		s.closeListeners()
		return fmt.Errorf("listen on %s for SMS: %w", s.o.SMS.Addr, err)
	}
	return nil
}

func (s *Server) closeListeners() {
	for _, l := range []net.Listener{s.listener, s.smsAt} {
		if l != nil {
			l.Close()
		}
	}
}

// begin starts the engine with its channels.
func (s *Server) begin(ctx context.Context) error {
	if err := s.engine.Start(ctx); err != nil {
		return err
	}
	if err := s.channels.reload(ctx); err != nil {
		return fmt.Errorf("read the channels: %w", err)
	}
	if s.o.SMS.on() {
		return s.prepareSMS(ctx)
	}
	return nil
}

func (s *Server) serve(h *http.Server, at net.Listener) {
	if err := h.Serve(at); !errors.Is(err, http.ErrServerClosed) {
		select {
		case s.failed <- err:
		default: // the other one has failed already
		}
	}
}

// URL is where the API is served, once started.
func (s *Server) URL() string {
	if s.listener == nil {
		return ""
	}
	return "http://" + s.listener.Addr().String()
}

// SMSURL is where the SMS front door is served on an address of its own, once started; else empty.
func (s *Server) SMSURL() string {
	if s.smsAt == nil {
		return ""
	}
	return "http://" + s.smsAt.Addr().String()
}

// Failed receives the error that ended the listener, if it was not Stop.
func (s *Server) Failed() <-chan error { return s.failed }

// Engine is the running engine, for a program that embeds the server and accepts without HTTP.
func (s *Server) Engine() *engine.Engine { return s.engine }

// Stop ends the server: requests finish within a third of Options.Drain, sends under way within all of it or until
// ctx ends, results are recorded. It is idempotent.
func (s *Server) Stop(ctx context.Context) error {
	s.stopped.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, s.o.Drain)
		defer cancel()
		if s.follow != nil {
			s.follow()
		}
		// From here on nothing more is sent, so that what is under way has all of the drain. The engine itself stops
		// when the doors are shut: accepts and agents' reports that are being answered are committed by it.
		s.engine.Rest()
		s.engine.Dismiss()
		errs := []error{s.shutDoors(ctx), s.engine.Stop(ctx)}
		s.closeListeners()
		s.done.Wait()
		if s.redis != nil {
			errs = append(errs, s.redis.Close())
		}
		errs = append(errs, s.store.Close())
		s.stopErr = errors.Join(errs...)
	})
	return s.stopErr
}

// doorShare is the part of the drain that requests have. A client that lost its network in the middle of its request
// would else hold up the stop for all of it, and cut sends that end late.
const doorShare = 3

// shutDoors takes no more requests, and lets those finish that are being answered, at all addresses at once.
func (s *Server) shutDoors(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Drain/doorShare)
	defer cancel()
	var both sync.WaitGroup
	var errs [2]error
	for i, h := range []*http.Server{s.http, s.sms} {
		if h == nil {
			continue
		}
		both.Go(func() {
			if h.Shutdown(ctx) != nil {
				errs[i] = h.Close()
			}
		})
	}
	both.Wait()
	return errors.Join(errs[:]...)
}

// Readiness says whether the server can do its work, part by part.
func (s *Server) Readiness(ctx context.Context) []api.Check {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	checks := []api.Check{{Name: "database", OK: true, Detail: s.store.Database()}}
	if err := s.store.Ping(ctx); err != nil {
		checks[0].OK, checks[0].Detail = false, "the database does not answer"
	} else if s.store.Full(time.Now()) {
		checks[0].OK, checks[0].Detail = false, "the database has no room"
	}
	if s.engine.Stale() {
		checks = append(checks, api.Check{Name: "epoch", Detail: "the database was restored under this process: restart it"})
	}
	if n := s.engine.Unreadable(); n > 0 {
		checks = append(checks, api.Check{Name: "queue", Optional: true, Detail: fmt.Sprintf("%d deliveries have a state or priority that is not known: the log names their channels", n)})
	}
	for name, err := range s.channels.Broken() {
		checks = append(checks, api.Check{Name: "channel " + name, Detail: err.Error(), Optional: true})
	}
	return checks
}

// PutChannel creates a channel or replaces it, as PUT /v1/channels/{name} does.
func (s *Server) PutChannel(ctx context.Context, tenant string, ch posthouse.Channel) (posthouse.Channel, error) {
	stored, _, err := s.channels.Put(ctx, tenant, ch)
	return stored, err
}
