package apns_test

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/posthouse/posthouse"
)

// streams is a provider that ends each stream by a frame once its body has come.
func streams(t *testing.T, end func(f *http2.Framer, stream uint32)) (url string, bodies *atomic.Int64) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	bodies = new(atomic.Int64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c, bodies, end)
			}()
		}
	}()
	return "https://" + l.Addr().String(), bodies
}

func serve(c net.Conn, bodies *atomic.Int64, end func(f *http2.Framer, stream uint32)) {
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(c, c)
	if f.WriteSettings() != nil {
		return
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = f.WriteSettingsAck()
			}
		case *http2.DataFrame:
			if frame.StreamEnded() {
				bodies.Add(1)
				end(f, frame.StreamID)
			}
		}
	}
}

// A body leaves once, however its stream ends: what the provider has not looked at may be sent again by who decides that, and all else is
// unknown.
func TestABodyLeavesOnceHoweverItsStreamEnds(t *testing.T) {
	t.Parallel()
	reset := func(code http2.ErrCode) func(*http2.Framer, uint32) {
		return func(f *http2.Framer, stream uint32) { _ = f.WriteRSTStream(stream, code) }
	}
	for name, c := range map[string]struct {
		end  func(*http2.Framer, uint32)
		want posthouse.Class
	}{
		"a protocol error":     {reset(http2.ErrCodeProtocol), posthouse.ClassUnknown},
		"an internal error":    {reset(http2.ErrCodeInternal), posthouse.ClassUnknown},
		"cancelled":            {reset(http2.ErrCodeCancel), posthouse.ClassUnknown},
		"refused":              {reset(http2.ErrCodeRefusedStream), posthouse.ClassTransient},
		"going away before it": {func(f *http2.Framer, _ uint32) { _ = f.WriteGoAway(0, http2.ErrCodeNo, nil) }, posthouse.ClassTransient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, bodies := streams(t, c.end)
			r := driver(t, at(url), nil).Send(t.Context(), to("00fc13ad"))
			if n := bodies.Load(); n != 1 || r.Class != c.want {
				t.Errorf("%d bodies came, and the result is %+v, want %s", n, r, c.want)
			}
		})
	}
}
