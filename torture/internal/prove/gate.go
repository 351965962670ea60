package prove

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse/internal/store/storetest"
)

// gate stands between a store and its server, and holds back what the store sends until it is let through: a statement, or what
// travels as one.
type gate struct {
	listener net.Listener
	target   string
	shut     atomic.Bool // else all passes
	knocks   chan chan struct{}
	done     chan struct{}
	running  sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	ports []string // of the connections to the server
}

func openGate(target string) (*gate, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &gate{listener: listener, target: target, knocks: make(chan chan struct{}, 16), done: make(chan struct{})}
	g.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			g.running.Go(func() { g.serve(client) })
		}
	})
	return g, nil
}

func (g *gate) addr() string { return g.listener.Addr().String() }

// close ends all connections.
func (g *gate) close() {
	close(g.done)
	g.listener.Close()
	g.mu.Lock()
	for _, c := range g.conns {
		c.Close()
	}
	g.mu.Unlock()
	g.running.Wait()
}

func (g *gate) serve(client net.Conn) {
	server, err := net.Dial("tcp", g.target)
	if err != nil {
		client.Close()
		return
	}
	_, port, _ := net.SplitHostPort(server.LocalAddr().String())
	g.mu.Lock()
	g.conns, g.ports = append(g.conns, client, server), append(g.ports, port)
	g.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { pump(client, server, g.wait) })
	both.Go(func() { pump(server, client, func() bool { return true }) })
	both.Wait()
}

// pump carries pieces one way, each when it may go.
func pump(from, to net.Conn, may func() bool) {
	defer from.Close()
	defer to.Close()
	piece := make([]byte, 64<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			if !may() {
				return
			}
			if _, err := to.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait knocks, and returns when it is let through.
func (g *gate) wait() bool {
	if !g.shut.Load() {
		return true
	}
	opened := make(chan struct{})
	select {
	case g.knocks <- opened:
	case <-g.done:
		return false
	}
	select {
	case <-opened:
		return true
	case <-g.done:
		return false
	}
}

// blocked reports whether the server has a connection of the gate wait for a lock.
func (g *gate) blocked(ctx context.Context, db *database) (bool, error) {
	found, err := storetest.LockWaits(ctx, db.DB)
	if err != nil {
		return false, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(found, func(port string) bool { return slices.Contains(g.ports, strings.TrimSpace(port)) }), nil
}

// glance is how long a session is waited for before the server is asked whether it waits for another, and patience how long in
// all: what takes longer is taken for one that waits. A mistake there changes the order that is tried, and no verdict.
const (
	glance   = 20 * time.Millisecond
	patience = 3 * time.Second
)

// through puts a gate's address in the place of the server's in a DSN.
func through(dsn, addr string) (target, by string) {
	rest := dsn[strings.LastIndex(dsn, "@")+1:]
	target, _, _ = strings.Cut(rest, "/")
	return target, strings.Replace(dsn, "@"+target+"/", "@"+addr+"/", 1)
}
