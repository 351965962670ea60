package channel

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"time"
)

// multiplexed carries requests over HTTP/2, for a provider that speaks nothing else. There one connection carries many requests at
// once, so a byte on it says nothing of a request; its body does. Providers act on a body, which leaves after the header and never
// before it was read: a request whose body nobody has read had no effect.
//
// A request whose body was read is never sent a second time by the transport. Where the provider has said that it did not look at it (GOAWAY,
// REFUSED_STREAM), it did not arrive.
func multiplexed(d dialer) *http.Transport {
	d.tls = d.tls.Clone()
	d.tls.NextProtos = []string{"h2", "http/1.1"}
	return &http.Transport{
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return d.handshake(ctx, network, address)
		},
		ForceAttemptHTTP2: true,
		// A connection that died without a word is found before a request is lost on it.
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingWaits},
		DisableCompression:     true,
		IdleConnTimeout:        multiplexedIdle,
		MaxResponseHeaderBytes: maxHeader,
	}
}

// A provider of HTTP/2 wants few connections that last: Apple takes many new ones for an attack.
const (
	multiplexedIdle = time.Hour
	pingAfter       = 15 * time.Second
	pingWaits       = 5 * time.Second
)

// overHTTP2 makes a call whose body tells whether it can have had an effect. It reports whether it may have.
func (c *Client) overHTTP2(ctx context.Context, req *Request) (response *http.Response, written bool, err error) {
	until, _ := ctx.Deadline()
	g := &gate{until: until}
	out := req.http(ctx)
	// Without GetBody the body is read once: the transport would repeat a request after a PROTOCOL_ERROR too, which says nothing of
	// whether it was acted on (golang/go#47635).
	out.Body = &gated{gate: g, rest: bytes.NewReader(req.Body)}
	response, err = c.multiplexed.RoundTrip(out)
	switch {
	case err == nil:
		return response, true, nil
	case unprocessed(err):
		g.seal()
		return nil, false, err
	}
	return nil, g.seal(), err
}

// unprocessed reports whether the provider has said that it did not look at a request: a stream behind the last one of a GOAWAY, or one
// that it refused. The transport would repeat it, and says so in a text alone where it has no second body.
func unprocessed(err error) bool {
	text := err.Error()
	return strings.Contains(text, "cannot retry err [") &&
		(strings.Contains(text, "REFUSED_STREAM") || strings.Contains(text, "received Server's graceful shutdown GOAWAY"))
}

// gated is a body that is read no more once its request was given up.
type gated struct {
	gate *gate
	rest *bytes.Reader
}

func (b *gated) Read(p []byte) (n int, err error) {
	if !b.gate.open() {
		return 0, errSealed
	}
	n, err = b.rest.Read(p)
	b.gate.passed(true)
	return n, err
}

func (b *gated) Close() error { return nil }
