package server

import (
	"container/list"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// crowd bounds the connections of all listeners together, in all and by address, so that what callers hold open leaves
// files for the database and the providers. Where there is no more room the connection that has been idle for longest
// makes some; where none is idle, the new one is closed.
type crowd struct {
	most, mostEach int            // 0 for no bound
	exempt         []netip.Prefix // proxies
	log            *slog.Logger

	mu     sync.Mutex
	conns  map[net.Conn]*list.Element // of guests, in idle or busy
	idle   *list.List                 // the one that has been idle for longest first
	busy   *list.List
	each   map[string]int
	warned time.Time

	open   prometheus.Gauge
	closed *prometheus.CounterVec
}

// guest is a connection that is open.
type guest struct {
	conn    net.Conn
	address string // empty for one that is not bounded by its address
	idle    bool
}

func newCrowd(most, each int, exempt []netip.Prefix, log *slog.Logger, reg prometheus.Registerer) *crowd {
	c := &crowd{
		most: max(most, 0), mostEach: max(each, 0), exempt: exempt, log: log,
		conns: map[net.Conn]*list.Element{}, idle: list.New(), busy: list.New(), each: map[string]int{},
		open: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "posthouse", Name: "connections", Help: "Connections of callers that are open."}),
		closed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "posthouse", Name: "connections_closed_total", Help: "Connections of callers that were closed for want of room: new ones, or idle ones in favour of a new one.",
		}, []string{"which"}),
	}
	c.closed.WithLabelValues("new")
	c.closed.WithLabelValues("idle")
	reg.MustRegister(c.open, c.closed)
	return c
}

// admit takes in a new connection, and reports whether there is room for it.
func (c *crowd) admit(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := &guest{conn: conn, address: c.addressOf(conn), idle: true}
	if g.address != "" && c.mostEach > 0 && c.each[g.address] >= c.mostEach && !c.makeRoom(g.address) ||
		c.most > 0 && len(c.conns) >= c.most && !c.makeRoom("") {
		c.closed.WithLabelValues("new").Inc()
		c.warn(conn)
		return false
	}
	c.each[g.address]++
	c.conns[conn] = c.idle.PushBack(g) // until it asks for something
	c.open.Set(float64(len(c.conns)))
	return true
}

// makeRoom closes the connection that has been idle for longest, of an address or of all.
func (c *crowd) makeRoom(address string) bool {
	for e := c.idle.Front(); e != nil; e = e.Next() {
		if g := e.Value.(*guest); address == "" || g.address == address {
			c.forget(g.conn)
			g.conn.Close()
			c.closed.WithLabelValues("idle").Inc()
			return true
		}
	}
	return false
}

// forget takes a connection out of the count. One that is out already stays so.
func (c *crowd) forget(conn net.Conn) {
	e := c.conns[conn]
	if e == nil {
		return
	}
	g := e.Value.(*guest)
	c.listOf(g).Remove(e)
	delete(c.conns, conn)
	if c.each[g.address]--; c.each[g.address] == 0 {
		delete(c.each, g.address)
	}
	c.open.Set(float64(len(c.conns)))
}

func (c *crowd) listOf(g *guest) *list.List {
	if g.idle {
		return c.idle
	}
	return c.busy
}

// changed is an http.Server's ConnState.
func (c *crowd) changed(conn net.Conn, state http.ConnState) {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.conns[conn]
	if e == nil {
		return
	}
	switch state {
	case http.StateClosed, http.StateHijacked:
		c.forget(conn)
	case http.StateActive, http.StateIdle:
		g := e.Value.(*guest)
		c.listOf(g).Remove(e)
		g.idle = state == http.StateIdle
		c.conns[conn] = c.listOf(g).PushBack(g)
	}
}

// warn says that there is no room, once a minute.
func (c *crowd) warn(conn net.Conn) {
	if now := time.Now(); now.Sub(c.warned) >= time.Minute {
		c.warned = now
		c.log.Warn("no room for a new connection: max_connections or max_connections_per_address is reached, and none is idle",
			"from", conn.RemoteAddr().String(), "open", len(c.conns))
	}
}

// addressOf is what a connection is counted by: of IPv6 the first 64 bits. Behind this machine's own addresses, as behind
// a proxy, may be many.
func (c *crowd) addressOf(conn net.Conn) string {
	at, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return ""
	}
	a := at.Addr().Unmap().WithZone("")
	if a.IsLoopback() || slices.ContainsFunc(c.exempt, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return ""
	}
	if a.Is6() {
		return netip.PrefixFrom(a, 64).Masked().String()
	}
	return a.String()
}

// crowded is a listener whose connections are bounded.
type crowded struct {
	net.Listener
	crowd *crowd
}

// Accept returns the next connection there is room for.
func (l crowded) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || l.crowd.admit(conn) {
			return conn, err
		}
		conn.Close()
	}
}
