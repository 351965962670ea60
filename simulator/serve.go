package simulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// OpenJournal opens a file that keeps what it has and gets each arrival as a line
// of JSON. The caller closes it, after Stop.
func OpenJournal(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the journal of arrivals: %w", err)
	}
	return f, nil
}

// Start listens on an address such as 127.0.0.1:9090 and serves until Stop; an
// empty one means a free port of 127.0.0.1. The context bounds the start only.
// A simulator starts once.
func (s *Simulator) Start(ctx context.Context, addr string) error {
	s.serving.Lock()
	defer s.serving.Unlock()
	if s.server != nil || s.gone.Err() != nil {
		return errors.New("simulator: it was started before")
	}
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("simulator: listen on %s: %w", addr, err)
	}
	s.server = s.newServer()
	url := "http://" + reachable(listener.Addr())
	s.url.Store(&url)
	go s.serve(s.server, listener)
	return nil
}

func (s *Simulator) newServer() *http.Server {
	return &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second, // a fault that waits lifts it
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}

func (s *Simulator) serve(server *http.Server, listener net.Listener) {
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		s.log.Error("the simulator no longer listens", "error", err)
	}
}

// reachable is an address a client on this machine can use: a listener on all
// interfaces is reached through the loopback one.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", tcp.Port)
	}
	return addr.String()
}

// URL is where a started simulator is reached, such as http://127.0.0.1:9090; it
// is empty before Start.
func (s *Simulator) URL() string {
	if url := s.url.Load(); url != nil {
		return *url
	}
	return ""
}

// Stop lets go of what hangs, finishes what is under way and closes the
// listener. When the context ends first it cuts what is left and returns the
// context's error. It may be called often, and without Start.
func (s *Simulator) Stop(ctx context.Context) error {
	s.leave()
	s.serving.Lock()
	defer s.serving.Unlock()
	if s.server == nil {
		return nil
	}
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.server.Close())
	}
	for _, f := range s.fakes {
		if f.more != nil && f.more.back != nil {
			f.more.back.under.Wait() // their context has ended
		}
	}
	return err
}
