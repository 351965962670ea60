package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/posthouse/posthouse/internal/api"
	"github.com/posthouse/posthouse/internal/web"
)

// openDoors makes what serves HTTP.
func (s *Server) openDoors(context.Context) (err error) {
	if s.secure, err = s.secured(); err != nil {
		return err
	}
	s.crowd = newCrowd(s.o.MaxConnections, s.o.MaxConnectionsPerAddress, s.o.TrustedProxies, s.o.Log, s.o.Registry)
	s.gate = web.NewGate(web.GateOptions{Keys: s.store, Log: s.o.Log, Metrics: s.o.Registry})
	if s.handler, err = s.apiHandler(); err != nil {
		return err
	}
	if s.o.SMS.on() {
		door, err := s.smsHandler()
		if err != nil {
			return err
		}
		both := http.NewServeMux()
		both.Handle("/", s.handler)
		both.Handle("/api/v1/", door)
		both.Handle("/health", door)
		s.handler = both
		if s.o.SMS.Addr != "" {
			s.sms = s.httpServer(web.Forwarded(s.o.TrustedProxies, s.o.Log, door)) // and nothing else: its address is often open to phones
		}
	}
	s.handler = web.Forwarded(s.o.TrustedProxies, s.o.Log, s.handler)
	s.scrapes = s.metricsServer()
	if !s.o.NoListen {
		s.http = s.httpServer(s.handler)
	}
	return nil
}

func (s *Server) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 60 * time.Second, WriteTimeout: 120 * time.Second,
		IdleTimeout: 120 * time.Second, MaxHeaderBytes: 32 << 10, ConnState: s.crowd.changed, ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
	}
}

func (s *Server) apiHandler() (http.Handler, error) {
	if err := s.measure(); err != nil {
		return nil, err
	}
	routes, err := s.routes()
	if err != nil {
		return nil, err
	}
	return web.New(web.Options{Gate: s.gate, Log: s.o.Log, MaxBody: s.o.MaxBody, Version: s.o.Version, Audit: s.store, AuditKeep: s.o.AuditKeep, Terms: api.Terms()}, routes)
}

// measureProcess registers the process's own metrics. The registry of a program that embeds the server may have them
// already.
func (s *Server) measureProcess() error {
	for _, c := range []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := s.o.Registry.Register(c); err != nil && !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
			return fmt.Errorf("register the metrics of the process: %w", err)
		}
	}
	return nil
}

// listen takes the addresses, so that what is wrong with them is known before anything is sent.
func (s *Server) listen() (err error) {
	if s.http != nil {
		if s.listener, err = s.listenAt(s.o.Addr); err != nil {
			return err
		}
	}
	if s.scrapes != nil {
		if s.scrapesAt, err = s.listenAt(s.o.MetricsAddr); err != nil {
			s.closeListeners()
			return fmt.Errorf("the metrics: %w", err)
		}
	}
	if s.sms == nil {
		return nil
	}
	if s.smsAt, err = s.listenAt(s.o.SMS.Addr); err != nil {
		s.closeListeners()
		return fmt.Errorf("the SMS front door: %w", err)
	}
	return nil
}

func (s *Server) listenAt(addr string) (net.Listener, error) {
	at, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return crowded{at, s.crowd}, nil
}

func (s *Server) closeListeners() {
	for _, l := range []net.Listener{s.listener, s.smsAt, s.scrapesAt} {
		if l != nil {
			l.Close()
		}
	}
}

func (s *Server) serve(h *http.Server, at net.Listener) {
	begin := h.Serve
	if s.secure != nil {
		h.TLSConfig = s.secure.Clone()
		begin = func(at net.Listener) error { return h.ServeTLS(at, "", "") }
	}
	if err := begin(at); !errors.Is(err, http.ErrServerClosed) {
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
	return s.scheme() + s.listener.Addr().String()
}

// SMSURL is where the SMS front door is served on an address of its own, once started; else empty.
func (s *Server) SMSURL() string {
	if s.smsAt == nil {
		return ""
	}
	return s.scheme() + s.smsAt.Addr().String()
}

// MetricsURL is where the metrics are served, once started; empty where they are not.
func (s *Server) MetricsURL() string {
	switch {
	case s.scrapesAt != nil:
		return s.scheme() + s.scrapesAt.Addr().String() + "/metrics"
	case s.o.MetricsAddr == "" && s.listener != nil:
		return s.URL() + "/metrics"
	}
	return ""
}

func (s *Server) scheme() string {
	if s.secure != nil {
		return "https://"
	}
	return "http://"
}

// doorShare is the part of the drain that requests have. A client that lost its network in the middle of its request
// would else hold up the stop for all of it, and cut sends that end late.
const doorShare = 3

// shutDoors takes no more requests, and lets those finish that are being answered, at all addresses at once.
func (s *Server) shutDoors(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Drain/doorShare)
	defer cancel()
	var both sync.WaitGroup
	var errs [3]error
	for i, h := range []*http.Server{s.http, s.sms, s.scrapes} {
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
