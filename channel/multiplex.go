package channel

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// multiplexed carries requests over HTTP/2, for a provider that speaks nothing else. There one connection carries many requests at
// once, so a byte on it says nothing of a request; its body does. Providers act on a body, which leaves after the header and never
// before it was read: a request whose body nobody has read had no effect.
//
// The transport repeats a request by itself where the provider has said that it did not look at it (GOAWAY, REFUSED_STREAM), and
// nowhere else.
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
	body := func() (io.ReadCloser, error) { return &gated{gate: g, rest: bytes.NewReader(req.Body)}, nil }
	out.Body, _ = body()
	out.GetBody = body
	response, err = c.multiplexed.RoundTrip(out)
	if err != nil {
		return nil, g.seal(), err
	}
	return response, true, nil
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
