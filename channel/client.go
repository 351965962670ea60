package channel

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"
)

// ClientOptions configures a Client.
type ClientOptions struct {
	// Timeout bounds one call from the look-up of the name to the last byte of the answer.
	// Defaults to the channel's, 10s.
	Timeout time.Duration
	// ConnectTimeout bounds connecting and the TLS handshake, each. Defaults to 5s.
	ConnectTimeout time.Duration
	// MaxBody is how many bytes of an answer are read. Defaults to 1 MiB.
	MaxBody int64
	// Excerpt is how many bytes of request and answer go to the log. Defaults to 2 KiB.
	Excerpt int
	// Secrets are masked wherever they occur in what the client reports. Defaults to none.
	Secrets []string
	// HTTP2 has requests with a body leave over HTTP/2 where the URL is one of https and the provider speaks it: for one that speaks
	// nothing else, such as Apple's. Defaults to HTTP/1.1.
	HTTP2 bool
}

// Client makes HTTP calls to a provider, each at most once. It follows no redirect, uses no
// proxy, calls only what the Egress allows, dials only what the Network allows, bounds time and size, and knows after a failure
// whether the request can have arrived. It speaks HTTP/1.1, unless its options say otherwise: only there does one connection carry
// one request, so that a written byte is a byte of this request.
type Client struct {
	wire        *wire
	transport   *http.Transport // for TLS and what else the wire does not carry
	multiplexed *http.Transport // nil without HTTP/2
	options     ClientOptions
	redactor    *Redactor
	egress      *Egress
	keeps       bool // an excerpt of what was answered
}

const (
	userAgent = "Posthouse"
	// idleTimeout lies below the five seconds after which Apache and Node close an idle
	// connection: a request that crosses the close has an unknown outcome.
	idleTimeout     = 4 * time.Second
	idleConnections = 1024 // per host; fewer would make bursts dial anew
	maxHeader       = 64 << 10
)

// NewClient makes a client for a driver that runs in env.
func NewClient(env Env, options ClientOptions) *Client {
	if options.Timeout <= 0 {
		options.Timeout = env.Timeout
	}
	defaultTo(&options.Timeout, 10*time.Second)
	defaultTo(&options.ConnectTimeout, 5*time.Second)
	defaultTo(&options.MaxBody, 1<<20)
	defaultTo(&options.Excerpt, 2<<10)
	dial := dialer{network: env.Network, timeout: options.ConnectTimeout, tls: &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ClientSessionCache: tls.NewLRUClientSessionCache(64),
	}}
	c := &Client{options: options, redactor: NewRedactor(options.Secrets...), egress: env.Egress, keeps: env.KeepAnswers, wire: newWire(dial), transport: &http.Transport{
		DialContext:            dial.plain,
		DialTLSContext:         dial.secure,
		DisableCompression:     true, // an answer cannot grow while it is read
		MaxIdleConnsPerHost:    idleConnections,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
	}}
	if options.HTTP2 {
		c.multiplexed = multiplexed(dial)
	}
	return c
}

func defaultTo[T ~int | ~int64](v *T, value T) {
	if *v <= 0 {
		*v = value
	}
}

// Redactor is the client's redactor, which knows its secrets.
func (c *Client) Redactor() *Redactor { return c.redactor }

// Close closes the connections that are idle. The client stays usable.
func (c *Client) Close() error {
	c.wire.close()
	c.transport.CloseIdleConnections()
	if c.multiplexed != nil {
		c.multiplexed.CloseIdleConnections()
	}
	return nil
}

// Do makes the call. The request reaches the provider at most once; the Reply says what became of it.
func (c *Client) Do(ctx context.Context, req Request) Reply {
	if req.Method == "" {
		req.Method = http.MethodPost
	}
	reply := Reply{client: c, redactor: c.redactor.With(req.Hide...), host: req.URL.Host}
	reply.Request = c.excerpt(req, reply.redactor)
	if err := req.check(); err != nil {
		reply.fail(err, CodeRequest)
		return reply
	}
	if err := c.egress.check(req.URL); err != nil {
		reply.fail(err, CodeBlocked)
		return reply
	}
	if until, bounded := ctx.Deadline(); !bounded || time.Until(until) > c.options.Timeout {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.options.Timeout)
		defer cancel()
	}
	response, written, err := c.send(ctx, &req)
	reply.Written = written
	if err != nil {
		reply.fail(err, cmp.Or(localCode(err, written), codeOf(err)))
		return reply
	}
	c.read(&reply, response)
	return reply
}

// send tries a second connection when a pooled one proves dead before a byte was written.
func (c *Client) send(ctx context.Context, req *Request) (response *http.Response, written bool, err error) {
	if c.multiplexed != nil && req.URL.Scheme == "https" && len(req.Body) > 0 {
		return c.overHTTP2(ctx, req)
	}
	until, _ := ctx.Deadline()
	for range 2 {
		t := track{until: until}
		response, err = c.roundTrip(ctx, req, &t)
		if err == nil {
			return response, true, nil
		}
		if t.left() {
			return nil, true, err
		}
		if !t.reused || ctx.Err() != nil {
			break
		}
	}
	return nil, false, err
}

// roundTrip makes the call by the wire, or by net/http.
func (c *Client) roundTrip(ctx context.Context, req *Request, t *track) (*http.Response, error) {
	if c.wire.fits(req) {
		return c.wire.roundTrip(req.http(ctx), t)
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: t.gotConn})
	return c.transport.RoundTrip(req.http(ctx))
}

// longBody is what hardly any request or answer is longer than, in bytes.
const longBody = 32 << 10

func (c *Client) read(reply *Reply, response *http.Response) {
	defer response.Body.Close()
	reply.Status, reply.Header = response.StatusCode, response.Header
	var b bytes.Buffer
	if n := response.ContentLength; n > 0 && n <= c.options.MaxBody {
		b.Grow(int(n) + bytes.MinRead)
	}
	body := io.LimitReader(response.Body, c.options.MaxBody+1)
	_, err := b.ReadFrom(io.LimitReader(body, longBody))
	if err == nil && b.Len() == longBody {
		// All of it at once: a buffer that doubles takes three times what it holds.
		b.Grow(int(c.options.MaxBody) + 1 - longBody + bytes.MinRead)
		_, err = b.ReadFrom(body)
	}
	reply.Body = b.Bytes()
	if int64(len(reply.Body)) > c.options.MaxBody {
		reply.Body, reply.Cut = reply.Body[:c.options.MaxBody], true
	}
	if c.keeps {
		reply.Response = reply.redactor.Excerpt(reply.Body, c.options.Excerpt)
	}
	if reply.Status/100 != 2 {
		reply.Code = fmt.Sprintf("HTTP_%d", reply.Status)
	}
	if err != nil {
		reply.Err = err
		if reply.Code == "" {
			reply.Code = codeOf(err)
		}
	}
}

func (c *Client) excerpt(req Request, redactor *Redactor) string {
	var b []byte
	b = append(append(b, req.Method...), ' ')
	b = append(b, req.URL.Redacted()...)
	if len(req.Body) > 0 {
		b = append(append(b, '\n'), req.Body[:min(len(req.Body), redactor.window(c.options.Excerpt))]...)
	}
	return redactor.Excerpt(b, c.options.Excerpt)
}

// Answered is the reply of a call that was answered so, without a call: for a driver that shows how it reads an answer.
func (c *Client) Answered(status int, header http.Header, body []byte) Reply {
	reply := Reply{client: c, redactor: c.redactor, host: "the provider", Written: true}
	c.read(&reply, &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))})
	return reply
}
