package channel

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
)

// Stream opens connections for drivers that do not speak HTTP, such as mail's, under the rules of a [Client]: only what Network allows is
// dialled, and nothing leaves once the time of a call is over.
type Stream struct {
	network  Network
	timeout  time.Duration
	redactor *Redactor
}

// NewStream makes one for a driver that runs in env. ports are the protocol's own, which no call of HTTP may reach; secrets are masked in
// what the driver reports.
func NewStream(env Env, ports []uint16, secrets ...string) *Stream {
	env.Network.ports = ports
	return &Stream{network: env.Network, timeout: 5 * time.Second, redactor: NewRedactor(secrets...)}
}

// Redactor is the stream's redactor, which knows its secrets.
func (s *Stream) Redactor() *Redactor { return s.redactor }

// Dial connects to a host and port.
func (s *Stream) Dial(ctx context.Context, address string) (*StreamConn, error) {
	raw, err := dialer{network: s.network, timeout: s.timeout}.dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &StreamConn{Conn: raw}, nil
}

// Unsent is the result of a delivery for which no connection could be had: nothing of it has left.
func (s *Stream) Unsent(host string, err error) Result {
	r := Reply{Err: err, Code: cmp.Or(localCode(err, false), codeOf(err)), redactor: s.redactor, host: host}
	return r.Result(Verdict{Class: r.Class()})
}

// StreamConn is a connection on which nothing leaves after the time that a call has. A process may stand still for as long as it likes
// between two of its instructions: by then another worker may hold the delivery, so the time is looked at before each write.
type StreamConn struct {
	net.Conn
	until  atomic.Int64 // in Unix nanoseconds, 0 for ever
	over   atomic.Value // <-chan struct{}: closed when the call is given up
	sealed atomic.Bool
}

// ErrTooLate is the cause of a write after the end of a call's time.
var ErrTooLate = errors.New("the time of the call was over before it was written")

// Begin bounds what is read and written from now on, for one call. The caller calls end when the call is over.
func (c *StreamConn) Begin(ctx context.Context) (end func() bool) {
	until, bounded := ctx.Deadline()
	c.until.Store(0)
	if bounded {
		c.until.Store(until.UnixNano())
	}
	c.over.Store(ctx.Done())
	_ = c.Conn.SetDeadline(until) // a connection that is closed says so when it is used
	return context.AfterFunc(ctx, func() {
		c.sealed.Store(true)
		_ = c.Conn.SetDeadline(time.Unix(1, 0)) // as above
	})
}

// SetDeadline never allows more than the call's time.
func (c *StreamConn) SetDeadline(t time.Time) error {
	if until := c.until.Load(); until != 0 && (t.IsZero() || t.UnixNano() > until) {
		t = time.Unix(0, until)
	}
	return c.Conn.SetDeadline(t)
}

// Write writes while there is time. What is refused for that has not left, and neither does anything after it. A call that was given up is
// looked for here: what ends its reading (Begin) comes a moment later, on a goroutine of its own.
func (c *StreamConn) Write(p []byte) (int, error) {
	until := c.until.Load()
	if c.sealed.Load() || until != 0 && time.Now().UnixNano() >= until || c.givenUp() {
		c.sealed.Store(true)
		return 0, ErrTooLate
	}
	return c.Conn.Write(p)
}

// givenUp reports whether the call's context has ended.
func (c *StreamConn) givenUp() bool {
	over, _ := c.over.Load().(<-chan struct{})
	select {
	case <-over: // nil, and so never, before the first call
		return true
	default:
		return false
	}
}

// anyPort are the ports that a protocol of its own may use beside those of HTTP's.
func (n Network) anyPort(port uint16) bool {
	return !slices.Contains(otherPorts, port) || slices.Contains(n.ports, port)
}

// InCodes is the class that a channel's own table gives to the first of some codes that it lists.
func InCodes(codes map[string]posthouse.Class, of ...string) (posthouse.Class, bool) {
	for _, code := range of {
		if class, listed := codes[code]; listed && code != "" {
			return class, true
		}
	}
	return "", false
}
