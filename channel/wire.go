package channel

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"syscall"
	"time"
)

// wire speaks HTTP/1.1 over plain connections on the goroutine of its caller: it writes the request
// and reads the answer itself, where net/http has two more goroutines for each connection. So nothing
// but the caller can write, and it never sends anything twice.
//
//	pool ──take──▶ silent? ──yes──▶ write ──▶ read head ──▶ body ──read whole, kept open──▶ pool
//	  │               └──no──▶ closed                          └──any other end──▶ closed
//	  └──empty──▶ dial
//
// It takes what it can do as well as net/http, see fits: plain http, and a request so short that it
// leaves without anybody reading. TLS and the rest stay with net/http.
type wire struct {
	dialer dialer
	pool   pool
}

// newWire makes a wire, nil where a system has no way to look at an idle connection.
func newWire(d dialer) *wire {
	if !canPeek {
		return nil
	}
	return &wire{dialer: d}
}

// fits reports whether the wire may carry a request. A long one may have to be answered before it is
// written to its end, and a name that is not ASCII has to be translated: net/http does both.
func (w *wire) fits(r *Request) bool {
	return w != nil && r.URL.Scheme == "http" && len(r.Body) <= longBody && ascii(r.URL.Host)
}

// close closes the connections that are idle.
func (w *wire) close() {
	if w != nil {
		w.pool.close()
	}
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// roundTrip makes the call; t follows it to its connection. The answer's body must be closed.
func (w *wire) roundTrip(req *http.Request, t *track) (*http.Response, error) {
	ctx := req.Context()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if req.ContentLength == 0 {
		req.Body = nil // or it would be looked for on another goroutine
	}
	c, err := w.connect(ctx, hostPort(req), t)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, c.interrupt)
	response, err := c.exchange(req)
	if err != nil {
		stop()
		c.Close()
		return nil, ended(ctx, err)
	}
	response.Body = &wireBody{body: response.Body, conn: c, pool: &w.pool, ctx: ctx, stop: stop}
	return response, nil
}

// ended is the error of a call, or why it was ended.
func ended(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	if errors.Is(err, errSealed) {
		return context.DeadlineExceeded
	}
	return err
}

func hostPort(req *http.Request) string {
	port := req.URL.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(req.URL.Hostname(), port)
}

// connect takes a pooled connection, where one is still open and silent, or dials.
func (w *wire) connect(ctx context.Context, address string, t *track) (*wireConn, error) {
	until, _ := ctx.Deadline()
	for c := w.pool.take(address); c != nil; c = w.pool.take(address) {
		if c.SetDeadline(until) == nil && c.silent() {
			t.follow(&c.conn, true)
			return c, nil
		}
		c.Close()
	}
	raw, err := w.dialer.dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := newWireConn(raw, address)
	t.follow(&c.conn, false)
	return c, c.SetDeadline(until)
}

// wireConn is a plain connection of a wire.
type wireConn struct {
	conn
	address string
	r       *bufio.Reader
	w       *bufio.Writer
	room    int64     // how much more may be read of it
	failed  error     // why reading failed, but for its end; a parser says malformed
	spent   bool      // nothing more may be sent on it
	since   time.Time // when it became idle
	raw     syscall.RawConn
	quiet   bool // what peek found
}

func newWireConn(raw net.Conn, address string) *wireConn {
	c := &wireConn{conn: conn{Conn: raw}, address: address}
	c.r, c.w = bufio.NewReader(wireReader{c}), bufio.NewWriter(&c.conn)
	if s, ok := raw.(syscall.Conn); ok {
		c.raw, _ = s.SyscallConn()
	}
	return c
}

// silent reports whether nothing came on an idle connection, not even its end. What a provider says
// without being asked is never the answer to the next request.
func (c *wireConn) silent() bool {
	return c.raw != nil && c.raw.Read(c.peek) == nil && c.quiet
}

// interrupt ends what waits for the connection. It may be used no more.
func (c *wireConn) interrupt() { _ = c.SetDeadline(time.Unix(1, 0)) }

// exchange writes the request and reads the head of its answer. A provider may answer and hang up
// before it has read all, so an answer counts also where the request could not be written to its end.
func (c *wireConn) exchange(req *http.Request) (*http.Response, error) {
	c.spent = req.Header.Get("Connection") != ""
	err := req.Write(c.w)
	if err == nil {
		err = c.w.Flush()
	}
	if err != nil && c.state.Load() != wrote {
		return nil, err
	}
	response, unread := c.head(req)
	switch {
	case unread != nil && err != nil:
		return nil, err
	case unread != nil:
		return nil, cmp.Or(c.failed, unread)
	}
	c.spent = c.spent || err != nil || response.Close || response.StatusCode == http.StatusSwitchingProtocols
	return response, nil //nolint:nilerr // an answer counts also where the request could not be written to its end
}

// errLongHead is the fault of a provider that sends headers without end.
var errLongHead = errors.New("the head of the answer is too long")

// head reads the head of the final answer; those that only announce one are passed over. All of them
// together have the room of one.
func (c *wireConn) head(req *http.Request) (*http.Response, error) {
	c.room = maxHeader
	for {
		response, err := http.ReadResponse(c.r, req)
		if err != nil {
			return nil, err
		}
		if response.StatusCode/100 != 1 || response.StatusCode == http.StatusSwitchingProtocols {
			c.room = math.MaxInt64
			return response, nil
		}
	}
}

// wireReader reads a connection as far as there is room.
type wireReader struct{ c *wireConn }

func (r wireReader) Read(p []byte) (int, error) {
	if r.c.room <= 0 {
		return 0, errLongHead
	}
	n, err := r.c.Conn.Read(p[:min(int64(len(p)), r.c.room)])
	r.c.room -= int64(n)
	if err != nil && err != io.EOF { //nolint:errorlint // as io.Reader says
		r.c.failed = err
	}
	return n, err
}

// wireBody is the body of an answer. Its end frees the connection for the next request.
type wireBody struct {
	body  io.Reader
	conn  *wireConn
	pool  *pool
	ctx   context.Context //nolint:containedctx // a body lives as long as its request
	stop  func() bool
	whole bool
}

func (b *wireBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	switch {
	case err == io.EOF: //nolint:errorlint // as io.Reader says
		b.whole = true
	case err != nil:
		err = ended(b.ctx, cmp.Or(b.conn.failed, err))
	}
	return n, err
}

// Close gives the connection back where the answer was read to its end and nothing follows it. An
// unread rest is not read: it may have no end. It must be called once.
func (b *wireBody) Close() error {
	if free := b.stop(); free && b.whole && !b.conn.spent && b.conn.r.Buffered() == 0 {
		b.pool.put(b.conn)
		return nil
	}
	return b.conn.Close()
}
