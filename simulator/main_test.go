package simulator

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// serve starts a simulator over real HTTP for one test.
func serve(t *testing.T, o Options) (*Simulator, string) {
	t.Helper()
	sim := New(o)
	return sim, serveBy(t, sim, sim.ServeHTTP)
}

// serveBy is for a test that looks at the requests before the simulator does.
func serveBy(t *testing.T, sim *Simulator, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		_ = sim.Stop(t.Context()) // lets hanging requests go; it was not started, so it cannot fail
		server.Close()
	})
	return server.URL
}

// answer is what a client sees; ids are replaced by ID.
type answer struct {
	status int
	body   string
	header http.Header
}

var ids = regexp.MustCompile(`\b(ty|zh|oa|ge|wh|dt|dr|sm)-[0-9a-z]+-[0-9a-z]+`)

func call(t *testing.T, method, url, body string, headers ...string) answer {
	t.Helper()
	got, err := try(t, method, url, body, headers...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return got
}

// try makes one request on a connection of its own, follows no redirect and
// repeats nothing.
func try(t *testing.T, method, url, body string, headers ...string) (answer, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, ids.ReplaceAllString(string(b), "$1-ID"), res.Header}, err
}

// tianyuan posts a message for a user; its key is the user's name.
func tianyuan(t *testing.T, url, user string) (answer, error) {
	t.Helper()
	return try(t, "POST", url+"/tianyuan/api/message/send", `{"touser":"`+user+`","content":"hello","msgId":"`+user+`"}`)
}

func decode[T any](t *testing.T, body string) T {
	t.Helper()
	var out T
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatalf("decode %s: %v", body, err)
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// post sends a body as curl would and reports only whether an answer came.
func post(ctx context.Context, url, body string) error {
	req, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
	if err != nil {
		return err
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// lines is a log that a test can read.
type lines struct {
	mu  sync.Mutex
	buf strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
