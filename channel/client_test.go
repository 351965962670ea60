package channel_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

var house = channel.Env{KeepAnswers: true, Network: channel.Network{AllowPrivate: true}, Timeout: time.Minute}

func newClient(t *testing.T, env channel.Env, options channel.ClientOptions) *channel.Client {
	t.Helper()
	c := channel.NewClient(env, options)
	t.Cleanup(func() { c.Close() })
	return c
}

func parse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestDoReportsTheAnswer(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Method+" "+r.Header.Get("User-Agent")+" "+string(body))
		io.WriteString(w, `{"to":"13812345678","token":"t"}`)
	}))
	t.Cleanup(s.Close)
	c := newClient(t, house, channel.ClientOptions{})
	r := c.Do(t.Context(), channel.Request{URL: parse(t, s.URL+"/a?access_token=q"), Body: []byte("hello")})
	if !r.OK() || r.Class() != posthouse.ClassOK || r.Code != "" || !r.Written {
		t.Errorf("reply = %+v", r)
	}
	if got := r.Header.Get("X-Seen"); got != "POST Posthouse hello" {
		t.Errorf("the server saw %q", got)
	}
	if want := "POST " + s.URL + "/a?access_token=********\nhello"; r.Request != want {
		t.Errorf("request = %q, want %q", r.Request, want)
	}
	if want := `{"to":"138****5678","token":"********"}`; r.Response != want {
		t.Errorf("response = %q, want %q", r.Response, want)
	}
}

// closing answers the first request and closes the connection after it has read another one.
func closing(t *testing.T) (url string, arrivals *atomic.Int32) {
	t.Helper()
	arrivals = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if arrivals.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, arrivals
}

// The transport of net/http sends some requests again on its own when a reused connection is
// closed under it. The first case shows that the trap is real, the others that Do is out of it.
func TestOneDoIsAtMostOneArrival(t *testing.T) {
	t.Parallel()
	t.Run("net/http itself sends twice", func(t *testing.T) {
		t.Parallel()
		n := int32(0)
		for range 20 { // where it was slow to see that the first connection is free, the second request does not take it
			target, arrivals := closing(t)
			transport := &http.Transport{}
			t.Cleanup(transport.CloseIdleConnections)
			for range 2 {
				req, _ := http.NewRequestWithContext(t.Context(), "POST", target, strings.NewReader("x"))
				req.Header.Set("Idempotency-Key", "k")
				if resp, err := transport.RoundTrip(req); err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
			if n = arrivals.Load(); n == 3 {
				return
			}
		}
		t.Errorf("%d arrivals of two requests, want 3: is the guard in Do still needed?", n)
	})
	for name, req := range map[string]channel.Request{
		"POST with a key":          {Method: "POST", Body: []byte("x"), Header: http.Header{"Idempotency-Key": {"k"}}},
		"POST with another key":    {Method: "POST", Body: []byte("x"), Header: http.Header{"X-Idempotency-Key": {"k"}}},
		"POST without a body":      {Method: "POST", Header: http.Header{"idempotency-key": {"k"}}},
		"GET":                      {Method: "GET"},
		"GET with a key":           {Method: "GET", Header: http.Header{"Idempotency-Key": {"k"}}},
		"DELETE with a key":        {Method: "DELETE", Header: http.Header{"Idempotency-Key": {"k"}}},
		"PUT with a body no key":   {Method: "PUT", Body: []byte("x")},
		"OPTIONS, HEAD and others": {Method: "OPTIONS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target, arrivals := closing(t)
			c := newClient(t, house, channel.ClientOptions{})
			req.URL = parse(t, target)
			first := c.Do(t.Context(), req)
			second := c.Do(t.Context(), req)
			if first.Class() != posthouse.ClassOK || second.Class() != posthouse.ClassUnknown || !second.Written {
				t.Errorf("classes = %q, %q (%v), want ok, unknown", first.Class(), second.Class(), second.Err)
			}
			if n := arrivals.Load(); n != 2 {
				t.Errorf("%d arrivals of two calls, want 2", n)
			}
		})
	}
}

func TestEmptyPostHasALengthAndItsKeyArrives(t *testing.T) {
	t.Parallel()
	got := make(chan *http.Request, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r }))
	t.Cleanup(s.Close)
	c := newClient(t, house, channel.ClientOptions{})
	c.Do(t.Context(), channel.Request{URL: parse(t, s.URL), Header: http.Header{"Idempotency-Key": {"k"}}})
	r := <-got
	if r.Header.Get("Idempotency-Key") != "k" || r.ContentLength != 0 || len(r.TransferEncoding) != 0 {
		t.Errorf("key %q, length %d, encoding %v", r.Header.Get("Idempotency-Key"), r.ContentLength, r.TransferEncoding)
	}
}

func TestFailureBeforeAByteLeftIsKnown(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections, never shakes hands
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	expired := httptest.NewUnstartedServer(http.NotFoundHandler())
	expired.TLS = &tls.Config{MaxVersion: tls.VersionTLS11}
	expired.Config.ErrorLog = nil
	expired.StartTLS()
	t.Cleanup(expired.Close)
	for name, is := range map[string]struct {
		url, code string
		env       channel.Env
		class     posthouse.Class
		says      string
	}{
		"TLS never shakes hands":   {"https://" + silent.Addr().String(), channel.CodeTimeout, house, posthouse.ClassTransient, "TLS with"},
		"TLS of another age":       {expired.URL, channel.CodeNetwork, house, posthouse.ClassTransient, "TLS with"},
		"forbidden address":        {"http://127.0.0.1:9999", channel.CodeBlocked, channel.Env{}, posthouse.ClassBlocked, "may connect to"},
		"forbidden name":           {"http://localhost:9999", channel.CodeBlocked, channel.Env{}, posthouse.ClassBlocked, "may connect to"},
		"forbidden metadata":       {"http://169.254.169.254/latest", channel.CodeBlocked, house, posthouse.ClassBlocked, "may connect to"},
		"forbidden port":           {"http://127.0.0.1:6379", channel.CodeBlocked, house, posthouse.ClassBlocked, "may connect to"},
		"mapped forbidden address": {"http://[::ffff:127.0.0.1]:9999", channel.CodeBlocked, channel.Env{}, posthouse.ClassBlocked, "may connect to"},
		"another scheme":           {"ftp://127.0.0.1/x", channel.CodeRequest, house, posthouse.ClassRequest, "http or https"},
		"no host":                  {"http:///x", channel.CodeRequest, house, posthouse.ClassRequest, "http or https"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o channel.ClientOptions
			if is.code == channel.CodeTimeout {
				o.ConnectTimeout = time.Second
			}
			c := newClient(t, is.env, o)
			r := c.Do(t.Context(), channel.Request{URL: parse(t, is.url), Body: []byte("x")})
			if r.Written || r.Class() != is.class || r.Code != is.code {
				t.Errorf("written %t, class %q, code %q (%v); want false, %q, %q", r.Written, r.Class(), r.Code, r.Err, is.class, is.code)
			}
			if got := r.Result(channel.Verdict{Class: r.Class()}).Error; !strings.Contains(got, is.says) {
				t.Errorf("error text %q, want it to say %q", got, is.says)
			}
		})
	}
}

func TestHostsAndPrefixesOfTheAllowListAreDialled(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(s.Close)
	for _, entry := range []string{"127.0.0.1", "127.0.0.0/8"} {
		var n channel.Network
		if err := n.ParseAllow(entry); err != nil {
			t.Fatal(err)
		}
		c := newClient(t, channel.Env{Network: n}, channel.ClientOptions{})
		if r := c.Do(t.Context(), channel.Request{URL: parse(t, s.URL)}); !r.OK() {
			t.Errorf("%s: %v", entry, r.Err)
		}
	}
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	c := newClient(t, channel.Env{Network: channel.Network{Hosts: []string{"localhost"}}}, channel.ClientOptions{})
	if r := c.Do(t.Context(), channel.Request{URL: parse(t, "http://localhost:"+port)}); !r.OK() {
		t.Errorf("localhost: %v", r.Err)
	}
}

// A pooled connection that died unnoticed, before a byte of the next request, is replaced.
func TestDeadPooledConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	var arrivals atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrivals.Add(1) }))
	t.Cleanup(s.Close)
	c := newClient(t, house, channel.ClientOptions{})
	for range 20 {
		if r := c.Do(t.Context(), channel.Request{URL: parse(t, s.URL), Body: []byte("x")}); r.Class() != posthouse.ClassOK && r.Class() != posthouse.ClassUnknown {
			t.Fatalf("class = %q (%v)", r.Class(), r.Err)
		}
		s.CloseClientConnections()
	}
	if n := arrivals.Load(); n > 20 {
		t.Errorf("%d arrivals of 20 calls", n)
	}
}

func TestHeaderThatWouldAddALineIsRefused(t *testing.T) {
	t.Parallel()
	var arrivals atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrivals.Add(1) }))
	t.Cleanup(s.Close)
	c := newClient(t, house, channel.ClientOptions{})
	for name, value := range map[string]string{
		"X-A": "1\r\nX-B: 2", "X-C": "1\n", "X-D": "\x00", "X-E": "\x7f", "X F": "1", "X-G:": "1", "": "1", "X-\u00e4": "1", "X-H\r\n": "1",
	} {
		r := c.Do(t.Context(), channel.Request{URL: parse(t, s.URL), Header: http.Header{name: {value}}})
		if r.Class() != posthouse.ClassRequest || r.Code != channel.CodeRequest {
			t.Errorf("%q: %q gives %q, %q; want request, %s", name, value, r.Class(), r.Code, channel.CodeRequest)
		}
	}
	if n := arrivals.Load(); n != 0 {
		t.Errorf("%d requests arrived, want none", n)
	}
}

func TestCancelledCallIsNamed(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(arrived); <-release }))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	c := newClient(t, house, channel.ClientOptions{})
	r := c.Do(ctx, channel.Request{URL: parse(t, s.URL), Body: []byte("x")})
	if r.Class() != posthouse.ClassUnknown || r.Code != channel.CodeCancelled || !r.Written {
		t.Errorf("class %q, code %q, written %t", r.Class(), r.Code, r.Written)
	}
}

func TestResultIsBoundedAndOnOneLine(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(s.Close)
	c := newClient(t, house, channel.ClientOptions{Secrets: []string{"hunter2"}})
	r := c.Do(t.Context(), channel.Request{URL: parse(t, s.URL)})
	long := strings.Repeat("长\n", 1000)
	got := r.Result(channel.Verdict{Class: r.Class(), Code: long, Message: "hunter2 \x00" + long, Ref: long})
	if len(got.Code) > 255 || len(got.Error) > 600 || len(got.Ref) > 512 || strings.Contains(got.Error, "hunter2") || strings.ContainsAny(got.Code+got.Error+got.Ref, "\n\x00") {
		t.Errorf("result = %+v", got)
	}
	if plain := r.Result(channel.Verdict{Class: r.Class()}); plain.Code != "HTTP_503" || !strings.HasSuffix(plain.Error, "answered HTTP 503 Service Unavailable") {
		t.Errorf("result = %+v", plain)
	}
}

func TestLongAnswerIsCut(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, strings.Repeat("a", 100))
	}))
	t.Cleanup(s.Close)
	for max, cut := range map[int64]bool{99: true, 100: false} {
		c := newClient(t, house, channel.ClientOptions{MaxBody: max, Excerpt: 10})
		r := c.Do(t.Context(), channel.Request{URL: parse(t, s.URL)})
		if r.Cut != cut || len(r.Body) != int(max) || !r.OK() || r.Response != "aaaaaaaaaa…" {
			t.Errorf("at %d: cut %t, %d bytes, ok %t, excerpt %q", max, r.Cut, len(r.Body), r.OK(), r.Response)
		}
	}
}

func BenchmarkDo(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, `{"code":0,"msgid":"m-1"}`)
	}))
	defer s.Close()
	body := []byte(strings.Repeat("x", 256))
	target, _ := url.Parse(s.URL)
	b.Run("kit", func(b *testing.B) {
		c := channel.NewClient(house, channel.ClientOptions{Secrets: []string{"k-5f2b9c71d8e04"}})
		defer c.Close()
		header := http.Header{"Content-Type": {"application/json"}}
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if r := c.Do(context.Background(), channel.Request{URL: target, Header: header, Body: body}); !r.OK() {
					b.Error(r.Err)
				}
			}
		})
	})
	b.Run("net-http", func(b *testing.B) {
		transport := &http.Transport{MaxIdleConnsPerHost: 1024}
		defer transport.CloseIdleConnections()
		c := http.Client{Transport: transport, Timeout: time.Minute}
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				resp, err := c.Post(s.URL, "application/json", strings.NewReader(string(body)))
				if err != nil {
					b.Error(err)
					continue
				}
				io.ReadAll(resp.Body)
				resp.Body.Close()
			}
		})
	})
}
