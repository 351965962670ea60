package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// doors are the addresses at which the server is reached.
type doors struct {
	list   []*address
	crowd  *crowd
	secure *tls.Config // nil for plain HTTP
	log    *slog.Logger
	failed chan error // the end of a listener, if it was not ours
}

// address is served by one server. A nil one is served nowhere.
type address struct {
	what, addr string // what is served, for errors; empty for the API
	server     answerer
	at         net.Listener
}

// answerer answers at a listener until it is shut, which is no error or http.ErrServerClosed.
type answerer interface {
	Serve(at net.Listener) error
	Shutdown(ctx context.Context) error
	Close() error
}

// overTLS answers HTTP over TLS.
type overTLS struct{ *http.Server }

// Serve answers at a listener.
func (s overTLS) Serve(at net.Listener) error { return s.ServeTLS(at, "", "") }

// open has a handler served at an address, from listen on.
func (d *doors) open(what, addr string, h http.Handler) *address {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 60 * time.Second, WriteTimeout: 120 * time.Second,
		IdleTimeout: 120 * time.Second, MaxHeaderBytes: 32 << 10, ConnState: d.crowd.changed, ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
	}
	if d.secure == nil {
		return d.add(what, addr, s)
	}
	s.TLSConfig = d.secure.Clone()
	return d.add(what, addr, overTLS{s})
}

// add has an address served, from listen on.
func (d *doors) add(what, addr string, by answerer) *address {
	a := &address{what: what, addr: addr, server: by}
	d.list = append(d.list, a)
	return a
}

// listen takes the addresses, so that what is wrong with them is known before anything is sent.
func (d *doors) listen() error {
	for _, a := range d.list {
		at, err := net.Listen("tcp", a.addr)
		if err != nil {
			d.close()
			return fmt.Errorf("%slisten on %s: %w", a.what, a.addr, err)
		}
		a.at = crowded{at, d.crowd}
	}
	return nil
}

// close gives the addresses back.
func (d *doors) close() {
	for _, a := range d.list {
		if a.at != nil {
			a.at.Close()
		}
	}
}

// serve answers at all addresses until they are shut.
func (d *doors) serve(done *sync.WaitGroup) {
	for _, a := range d.list {
		done.Go(func() {
			if err := a.server.Serve(a.at); err != nil && !errors.Is(err, http.ErrServerClosed) {
				select {
				case d.failed <- err:
				default: // another one has failed already
				}
			}
		})
	}
}

// url is where an address is for this machine, once it listens; else empty.
func (d *doors) url(a *address) string {
	switch {
	case a == nil || a.at == nil:
		return ""
	case d.secure != nil:
		return "https://" + dialable(a.at.Addr().String())
	}
	return "http://" + dialable(a.at.Addr().String())
}

// dialable is an address that a browser on this machine finds, where all addresses are listened at: [::]:8080 leads it nowhere.
func dialable(addr string) string {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().IsUnspecified() {
		return addr
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
}

// shut takes no more requests, and lets those finish that are being answered, at all addresses at once.
func (d *doors) shut(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var all sync.WaitGroup
	errs := make([]error, len(d.list))
	for i, a := range d.list {
		all.Go(func() {
			if a.server.Shutdown(ctx) != nil {
				errs[i] = a.server.Close()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
