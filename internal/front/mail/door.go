package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/posthouse/posthouse/internal/inbound"
)

// Desk takes what came.
type Desk interface {
	Knows(ctx context.Context, c inbound.Call) (bool, error)
	Take(ctx context.Context, c inbound.Call) inbound.Result
	Limit(kind string) int64
}

// Options makes a Door. Desk is required.
type Options struct {
	Desk Desk
	// Domain is what the door calls itself. Defaults to posthouse.
	Domain string
	// TLS is by what STARTTLS is answered. Defaults to none.
	TLS *tls.Config
	// AllowPlain takes tokens and mails of other machines without TLS. Defaults to false.
	AllowPlain bool
	// MaxConnections bounds the connections. Defaults to 256.
	MaxConnections int
	// Changed is told how connections stand, as those of HTTP. Defaults to nobody.
	Changed func(net.Conn, http.ConnState)
	// CommandWait is how long a sender may be silent between commands, MailWait how long a mail may take, and Life how long a
	// connection lasts. Default to one minute, 5 minutes and 15 minutes.
	CommandWait, MailWait, Life time.Duration
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Bounds of what one connection may do. A line of a mail may be longer than the 998 bytes of RFC 5322, since scripts send such.
const (
	maxLine       = 32 << 10
	maxRecipients = 100
	maxWrong      = 10 // tokens and recipients that are nobody's, until the door hangs up
	commitWait    = 2 * time.Minute
	writeWait     = 30 * time.Second
)

// Door takes mail by SMTP (RFC 5321), with STARTTLS and AUTH. It is served and shut as an http.Server is.
type Door struct {
	o    Options
	smtp *smtp.Server
	life context.Context //nolint:containedctx // of the door: what it hands in ends with it
	end  context.CancelFunc

	mu       sync.Mutex
	conns    map[*conn]struct{}
	stopping bool
}

// New makes a door.
func New(o Options) *Door {
	o.Domain, o.MaxConnections, o.Log = cmp.Or(o.Domain, "posthouse"), cmp.Or(o.MaxConnections, 256), cmp.Or(o.Log, slog.Default())
	o.CommandWait, o.MailWait, o.Life = cmp.Or(o.CommandWait, time.Minute), cmp.Or(o.MailWait, 5*time.Minute), cmp.Or(o.Life, 15*time.Minute)
	if o.Changed == nil {
		o.Changed = func(net.Conn, http.ConnState) {}
	}
	d := &Door{o: o, conns: map[*conn]struct{}{}}
	d.life, d.end = context.WithCancel(context.Background())
	s := smtp.NewServer(smtp.BackendFunc(d.begin))
	s.Domain, s.TLSConfig, s.MaxMessageBytes, s.MaxRecipients, s.MaxLineLength = o.Domain, o.TLS, o.Desk.Limit(Kind), maxRecipients, maxLine
	s.ReadTimeout, s.WriteTimeout, s.EnableSMTPUTF8 = o.CommandWait, writeWait, true
	s.AllowInsecureAuth = true // the session says where
	s.ErrorLog = slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug)
	d.smtp = s
	return d
}

// Serve takes mail at a listener until the door is shut. Its error is then nil.
func (d *Door) Serve(at net.Listener) error { return d.smtp.Serve(listener{at, d}) }

// Shutdown takes no more mail, tells those who are silent to come again, and waits for what is being handed in.
func (d *Door) Shutdown(ctx context.Context) error {
	d.mu.Lock()
	d.stopping = true
	for c := range d.conns {
		c.hangUp()
	}
	d.mu.Unlock()
	return d.smtp.Shutdown(ctx)
}

// Close cuts all connections.
func (d *Door) Close() error {
	d.end()
	d.mu.Lock()
	d.stopping = true
	var open []*conn
	for c := range d.conns {
		open = append(open, c)
	}
	d.mu.Unlock()
	for _, c := range open {
		_ = c.Close() // it may be gone already
	}
	_ = d.smtp.Close() // it says so where it was shut before
	return nil
}

// listener admits connections.
type listener struct {
	net.Listener
	door *Door
}

// Accept returns the next connection that there is room for. The others are told to come again.
func (l listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.door.admit(raw); c != nil {
			return c, nil
		}
		_ = raw.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = raw.Write([]byte("421 4.3.2 too many connections, or the server stops: come again later\r\n")) // who does not hear it sees the end
		l.door.o.Changed(raw, http.StateClosed)
		_ = raw.Close()
	}
}

// admit takes in a connection, nil where there is no room.
func (d *Door) admit(raw net.Conn) *conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopping || len(d.conns) >= d.o.MaxConnections {
		return nil
	}
	c := &conn{Conn: raw, door: d, end: time.Now().Add(d.o.Life)}
	d.conns[c] = struct{}{}
	return c
}

// conn is a connection that ends at a time, whatever its sender says until then.
type conn struct {
	net.Conn
	door  *Door
	wrong int // of one goroutine

	mu   sync.Mutex
	end  time.Time
	busy bool // with a mail, which is let through
}

// SetReadDeadline bounds the next reads, by the connection's end at the latest.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.IsZero() || t.After(c.end) {
		t = c.end
	}
	return c.Conn.SetReadDeadline(t)
}

// hangUp ends the connection before its next command. Its sender is told to come again.
func (c *conn) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = time.Now()
	if !c.busy {
		_ = c.Conn.SetReadDeadline(c.end) // of one that is gone
	}
}

// enter begins with a mail, and reports whether there is time for one.
func (c *conn) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if !now.Before(c.end) {
		return false
	}
	c.busy = true
	c.door.o.Changed(c.Conn, http.StateActive)
	return c.Conn.SetReadDeadline(now.Add(c.door.o.MailWait)) == nil
}

// leave ends with a mail.
func (c *conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		c.busy = false
		c.door.o.Changed(c.Conn, http.StateIdle)
	}
}

// Close ends the connection.
func (c *conn) Close() error {
	c.door.mu.Lock()
	delete(c.door.conns, c)
	c.door.mu.Unlock()
	c.door.o.Changed(c.Conn, http.StateClosed)
	return c.Conn.Close()
}
