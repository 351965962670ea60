package channeltest

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// behaviour is one way a provider can answer, or not, and what a driver must make of it.
type behaviour struct {
	name     string
	serve    func(p *Provider) http.HandlerFunc
	want     []posthouse.Class // any of them
	code     string            // where the kit's code is the same for all drivers
	arrivals int
	after    [2]time.Duration // the least and the most wait to report
	timeout  time.Duration    // of the channel; defaults to one that no quick answer reaches
}

// never is a time-out for answers that do not come: it can be short, as only the request races with it.
const never = 50 * time.Millisecond

var (
	unknown   = []posthouse.Class{posthouse.ClassUnknown}
	transient = []posthouse.Class{posthouse.ClassTransient}
	rate      = []posthouse.Class{posthouse.ClassRate}
	blocks    = []posthouse.Class{posthouse.ClassAccount, posthouse.ClassAuth}
	// forbade are what a driver makes of an address that it may not call: never the provider's refusal of the account.
	forbade = []posthouse.Class{posthouse.ClassBlocked}
	final   = []posthouse.Class{posthouse.ClassRequest, posthouse.ClassContent, posthouse.ClassRecipient}
)

func zoo() []behaviour {
	return slices.Concat(cutConnections(), slowAnswers(), statuses(), waits(), strangeAnswers())
}

func cutConnections() []behaviour {
	return []behaviour{
		{name: "reset after the request", serve: hijack(func(c *net.TCPConn) { c.SetLinger(0) }), want: unknown, code: channel.CodeNetwork, arrivals: 1},
		{name: "closed after the request", serve: hijack(func(*net.TCPConn) {}), want: unknown, code: channel.CodeNetwork, arrivals: 1},
		{name: "closed within the headers", serve: hijack(write("HTTP/1.1 200 OK\r\nContent-Le")), want: unknown, code: channel.CodeNetwork, arrivals: 1},
		{name: "closed within the body", serve: hijack(write("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"code\":")), want: unknown, code: channel.CodeNetwork, arrivals: 1},
		{name: "an answer that is not HTTP", serve: hijack(write("+PONG\r\n\r\n")), want: unknown, code: channel.CodeNetwork, arrivals: 1},
	}
}

func slowAnswers() []behaviour {
	return []behaviour{
		{name: "no answer", serve: hang(func(http.ResponseWriter) {}), want: unknown, code: channel.CodeTimeout, arrivals: 1, timeout: never},
		{name: "no body after the headers", serve: hang(func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "500")
			w.WriteHeader(http.StatusOK)
			http.NewResponseController(w).Flush()
		}), want: unknown, code: channel.CodeTimeout, arrivals: 1, timeout: never},
	}
}

func statuses() []behaviour {
	var out []behaviour
	for status, want := range map[int][]posthouse.Class{
		302: blocks, 307: blocks, 400: final, 401: blocks, 403: blocks, 404: blocks, 408: transient, 413: final,
		422: final, 500: unknown, 502: unknown, 503: transient, 504: unknown,
	} {
		serve := func(p *Provider) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", p.URL+"/elsewhere")
				w.WriteHeader(status)
			}
		}
		out = append(out, behaviour{name: fmt.Sprintf("HTTP %d", status), serve: serve, want: want, code: fmt.Sprintf("HTTP_%d", status), arrivals: 1})
	}
	slices.SortFunc(out, func(a, b behaviour) int { return slices.Compare([]byte(a.name), []byte(b.name)) })
	return out
}

// waits are the forms of Retry-After, sensible and not.
func waits() []behaviour {
	wait := func(status int, form, value string, want []posthouse.Class, least, most time.Duration) behaviour {
		serve := func(*Provider) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", value)
				w.WriteHeader(status)
			}
		}
		return behaviour{name: fmt.Sprintf("HTTP %d, wait %s", status, form), serve: serve, want: want, arrivals: 1, after: [2]time.Duration{least, most}}
	}
	day := 24 * time.Hour
	return []behaviour{
		wait(429, "in seconds", "7", rate, 7*time.Second, 7*time.Second),
		wait(503, "in seconds", "7", rate, 7*time.Second, 7*time.Second),
		wait(429, "by date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), rate, 50*time.Minute, time.Hour),
		wait(429, "too long", "1000000000", rate, day, day),
		wait(429, "negative", "-5", rate, 0, 0),
		wait(429, "rubbish", "soon", rate, 0, 0),
	}
}

func strangeAnswers() []behaviour {
	return []behaviour{
		{name: "200 with rubbish", serve: always(Reply(200, "<html>Welcome to the guest network</html>")), want: unknown, arrivals: 1},
		{name: "200 with half an answer", serve: always(Reply(200, `{"code":0,`)), want: unknown, arrivals: 1},
		{name: "200 that never ends", serve: always(endless), want: unknown, arrivals: 1},
		{name: "200 with a gzip bomb", serve: always(bomb), want: unknown, arrivals: 1},
	}
}

func always(h http.HandlerFunc) func(*Provider) http.HandlerFunc {
	return func(*Provider) http.HandlerFunc { return h }
}

func write(s string) func(*net.TCPConn) {
	return func(c *net.TCPConn) { io.WriteString(c, s) }
}

// hijack takes the connection over and closes it after f.
func hijack(f func(*net.TCPConn)) func(*Provider) http.HandlerFunc {
	return always(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		f(c.(*net.TCPConn))
		c.Close()
	})
}

// hang does f and then nothing until the caller or the test has gone.
func hang(f func(http.ResponseWriter)) func(*Provider) http.HandlerFunc {
	return func(p *Provider) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			f(w)
			select {
			case <-r.Context().Done():
			case <-p.done:
			}
		}
	}
}

// endless writes until nobody reads any more, at most 64 MiB.
func endless(w http.ResponseWriter, _ *http.Request) {
	chunk := make([]byte, 1<<20)
	for range 64 {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// bomb is an answer of 16 MiB, packed into some 70 KiB.
func bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	packed, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
	defer packed.Close()
	chunk := make([]byte, 1<<20)
	for range 16 {
		packed.Write(chunk)
	}
}

// nobody is a URL where no one listens: others are given a port that was free a moment ago.
const nobody = "http://127.0.0.1:1"

// stranger is a provider whose certificate nobody trusts.
func stranger(t *testing.T) *Provider {
	t.Helper()
	p := newProvider(Reply(200, "{}"))
	p.server = httptest.NewUnstartedServer(p)
	p.server.Config.ErrorLog = quiet()
	p.server.StartTLS()
	p.URL = p.server.URL
	t.Cleanup(p.Close)
	return p
}

// brusque listens and resets every connection without reading. Whether a byte was written by then
// is a matter of luck, so both answers are right.
func brusque(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String()
}
