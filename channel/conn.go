package channel

import (
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// conn is a connection that knows whether a request has left on it. HTTP/1 uses a connection for
// one request at a time, so one mark is enough.
//
//	clean ──Write──▶ writing ──n > 0──▶ wrote
//	  ▲                 └──n = 0, error──▶ clean
//	  └── reset for the next request;  clean ──seal──▶ sealed: nothing leaves any more
//
// It wraps the TLS connection, not the one below, so a handshake does not count: as long as the
// peer cannot decrypt a first byte, it has seen nothing.
//
// A process may stand still for as long as it likes between two of its instructions. So the end of the
// request's time is looked at right before each write: by then another worker may hold the delivery.
type conn struct {
	net.Conn
	gate
}

// gate is what a request's bytes leave through: until its time is over, or it is sealed.
type gate struct {
	until time.Time // of the request; zero for ever
	state atomic.Int32
}

const (
	clean int32 = iota
	writing
	wrote
	sealed
)

var errSealed = errors.New("the request was given up before it was written")

func (c *conn) Write(p []byte) (int, error) {
	if !c.open() {
		return 0, errSealed
	}
	n, err := c.Conn.Write(p)
	if n > 0 || err != nil {
		c.passed(n > 0)
	}
	return n, err
}

// open reports whether something may leave now.
func (g *gate) open() bool {
	if !g.until.IsZero() && !time.Now().Before(g.until) {
		g.seal()
		return false
	}
	return g.state.CompareAndSwap(clean, writing) || g.state.Load() != sealed
}

// passed notes whether something has left, after open.
func (g *gate) passed(left bool) {
	if left {
		g.state.Store(wrote)
	} else {
		g.state.CompareAndSwap(writing, clean)
	}
}

// seal makes sure that nothing leaves from now on if nothing has left so far, and reports whether
// something has, or may have.
func (g *gate) seal() bool {
	return !g.state.CompareAndSwap(clean, sealed) && g.state.Load() != sealed
}

// track follows one request to the connection it goes out on.
type track struct {
	until  time.Time
	conn   *conn
	reused bool
}

// gotConn is follow for net/http.
func (t *track) gotConn(got httptrace.GotConnInfo) {
	if c, ok := got.Conn.(*conn); ok {
		t.follow(c, got.Reused)
	}
}

// follow notes the connection that the request goes out on.
func (t *track) follow(c *conn, reused bool) {
	c.state.Store(clean)
	c.until, t.conn, t.reused = t.until, c, reused
}

// left reports whether a byte of the request left, or may have. Without a connection none did.
func (t *track) left() bool { return t.conn != nil && t.conn.seal() }
