package channel

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// dialer opens the connections of a client.
type dialer struct {
	network Network
	timeout time.Duration
	tls     *tls.Config
}

func (d dialer) plain(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: raw}, nil
}

func (d dialer) secure(ctx context.Context, network, address string) (net.Conn, error) {
	secured, err := d.handshake(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: secured}, nil
}

// handshake opens a connection with TLS.
func (d dialer) handshake(ctx context.Context, network, address string) (*tls.Conn, error) {
	raw, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config := d.tls.Clone()
	config.ServerName, _, _ = net.SplitHostPort(address)
	secured := tls.Client(raw, config)
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	if err := secured.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, &handshakeError{err}
	}
	return secured, nil
}

func (d dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dial := net.Dialer{Timeout: d.timeout, Control: d.network.controlOf(host)}
	return dial.DialContext(ctx, network, address)
}

// handshakeError tells a failed TLS handshake from other failures.
type handshakeError struct{ cause error }

func (e *handshakeError) Error() string { return e.cause.Error() }
func (e *handshakeError) Unwrap() error { return e.cause }

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}
