package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// whole is a door with one address that answers with an error.
func whole(t *testing.T, log io.Writer, err error) http.Handler {
	t.Helper()
	fronts := func(path string) string { return map[string]string{"/robot/send": ", which is of a robot"}[path] }
	return Outermost(New(Options{Gate: NewGate(GateOptions{Keys: nobody{}}), Log: slog.New(slog.NewTextHandler(log, nil)), Elsewhere: fronts},
		[]Route{Get("/broken", "", "Fails.", func(*Call) (Raw, error) { return Raw{}, err })}))
}

// Every answer says the id of its request, as the body of an error and the log do; a caller's own counts where it is plain.
func TestEveryAnswerSaysItsRequest(t *testing.T) {
	t.Parallel()
	for given, taken := range map[string]bool{"": false, "trace-1_A.b": true, "a b": false, "x\ny": false, strings.Repeat("x", 65): false} {
		var log strings.Builder
		r := httptest.NewRequest(http.MethodGet, "/broken", nil)
		r.Header[RequestIDHeader] = []string{given}
		w := httptest.NewRecorder()
		whole(t, &log, errors.New("no room")).ServeHTTP(w, r)
		id := w.Header().Get(RequestIDHeader)
		if id == "" || (id == given) != taken {
			t.Errorf("%q: the answer's id is %q", given, id)
		}
		if !strings.Contains(w.Body.String(), `"id":"`+id+`"`) || !strings.Contains(log.String(), "id="+id) {
			t.Errorf("%q: %s is not in the body or the log:\n%s\n%s", given, id, w.Body, log.String())
		}
	}
}

// A request that was refused is found in the log by the id of its answer. A stranger's flood is not: it neither fills the log nor takes the lines of
// others, and is counted.
func TestRefusalsAreLoggedWithTheirID(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	h := whole(t, &log, posthouse.Errorf(posthouse.CodeNotFound, "there is no campaign"))
	ask := func() string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/broken", nil))
		return w.Header().Get(RequestIDHeader)
	}
	if id := ask(); !strings.Contains(log.String(), `level=INFO msg="request refused" id=`+id+` method=GET path=/broken status=404 code=not_found`) {
		t.Errorf("%s is not in the log:\n%s", id, log.String())
	}
	for range 500 {
		ask()
	}
	if n := strings.Count(log.String(), "request refused"); n > 2*mostRefused { // a minute may have begun meanwhile
		t.Errorf("%d lines of refusals are in the log", n)
	}

	log.Reset()
	at := time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC)
	var f refusedLines
	to := slog.New(slog.NewTextHandler(&log, nil))
	r := Route{Path: "/v1/keys/{id}"}
	stranger := &Call{Request: httptest.NewRequest(http.MethodGet, "/v1/keys/a-secret", nil)}
	known := &Call{Request: stranger.Request, Key: posthouse.Key{ID: "k1"}}
	for range mostRefused + 5 {
		f.note(to, at, r, stranger, http.StatusUnauthorized)
	}
	if n := strings.Count(log.String(), "\n"); n != mostRefused || strings.Contains(log.String(), "a-secret") {
		t.Errorf("of strangers %d lines are written:\n%s", n, log.String())
	}
	log.Reset()
	f.note(to, at, r, known, http.StatusNotFound)
	f.note(to, at, r, known, http.StatusInternalServerError) // has its line
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "path=/v1/keys/a-secret") {
		t.Errorf("of a key %d lines are written:\n%s", n, log.String())
	}
	log.Reset()
	f.note(to, at.Add(time.Minute), r, known, http.StatusNotFound)
	if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "requests=5") {
		t.Errorf("a minute later:\n%s", log.String())
	}
}

// The type of each error leads to where its code is explained.
func TestTheTypeOfEachErrorLeadsToItsExplanation(t *testing.T) {
	t.Parallel()
	h := whole(t, io.Discard, nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/docs/errors.html", nil))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		t.Fatalf("got %d %s", w.Code, w.Header().Get("Content-Type"))
	}
	for code := range statuses {
		p, _ := problemOf(context.Background(), posthouse.Errorf(code, "x"))
		page, anchor, _ := strings.Cut(p.Type, "#")
		if page != "/docs/errors.html" || !strings.Contains(w.Body.String(), `id="`+anchor+`"`) {
			t.Errorf("%s leads to %s", code, p.Type)
		}
	}
}

// An address that is not there is 404 whatever its query says, and what other programs call leads to where to go.
func TestAnUnknownAddressIsNotFound(t *testing.T) {
	t.Parallel()
	h := whole(t, io.Discard, nil)
	for path, says := range map[string]string{
		"/nothing?x=1": "/openapi.json", "/nothing?x=%zz": "/openapi.json", "/robot/send?access_token=a": "which is of a robot; /openapi.json", "/topapi/message/x": "of the driver dingtalk",
		"/webhook": "POST /v1/messages", "/v2/messages?limit=1": "begins with /v1/",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader("{}")))
			if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), says) {
				t.Errorf("%s %s: got %d %s, want 404 that says %s", method, path, w.Code, w.Body, says)
			}
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/broken?x=1", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("another method with a query: got %d", w.Code)
	}
}

// A request whose length is said twice is the last of its connection.
func TestNothingFollowsABodyOfDoubtfulLength(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(Outermost(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })))
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	second := "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", second)
	text, err := io.ReadAll(bufio.NewReader(conn))
	if err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "HTTP/1.1 "); n != 1 || !strings.Contains(string(text), "Connection: close") {
		t.Errorf("the connection answered %d requests:\n%s", n, text)
	}
}
