package api_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/api"
	"github.com/posthouse/posthouse/internal/api/terms"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

func TestHealthNamesTheVersionAndTheDatabase(t *testing.T) {
	t.Parallel()
	h := open(t)
	if got, want := h.must(200, "GET", "/healthz", "").body, `{"status":"ok","version":"v1.2.3","database":"sqlite","time_zone":"Asia/Shanghai","unsafe":[]}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := h.must(200, "GET", "/readyz", "").body, `{"ready":true,"checks":[{"name":"database","ok":true,"detail":"sqlite"}]}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// noKeys knows no key, or none because of an error.
type noKeys struct{ err error }

func (k noKeys) KeyHash(context.Context, string) (posthouse.Key, string, bool, error) {
	return posthouse.Key{}, "", false, k.err
}

func (k noKeys) UsedKey(context.Context, time.Time, string) error { return nil }

// bare is an API without a database.
func bare(t *testing.T, o api.Options, keys noKeys, log *slog.Logger) http.Handler {
	t.Helper()
	return web.New(web.Options{Gate: web.NewGate(web.GateOptions{Keys: keys}), Log: log, Terms: terms.Read}, api.Routes(o))
}

func TestNotReadyIs503WithItsReasons(t *testing.T) {
	t.Parallel()
	o := api.Options{Operation: api.Operation{Readiness: func(context.Context, posthouse.Key) []wire.Check {
		return []wire.Check{{Name: "database", OK: true}, {Name: "channel default/oa", Detail: "its secret cannot be decrypted"}}
	}}}
	s := httptest.NewServer(bare(t, o, noKeys{}, nil))
	defer s.Close()
	res, err := s.Client().Get(s.URL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	want := `{"ready":false,"checks":[{"name":"database","ok":true},{"name":"channel default/oa","ok":false,"detail":"its secret cannot be decrypted"}]}` + "\n"
	if res.StatusCode != 503 || string(body) != want {
		t.Errorf("got %d %s, want 503 %s", res.StatusCode, body, want)
	}
}

func TestHealthAsksTheDatabaseOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		handler := bare(t, api.Options{Operation: api.Operation{Unsafe: func(context.Context) ([]wire.Setting, error) {
			asked++
			return []wire.Setting{{Setting: "fsync", Value: "off", Why: "loses"}}, nil
		}}}, noKeys{}, nil)
		for want, wait := range []time.Duration{0, time.Second, time.Minute} {
			time.Sleep(wait)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
			if !strings.Contains(w.Body.String(), `"unsafe":[{"setting":"fsync","value":"off","why":"loses"}]`) {
				t.Errorf("got %s", w.Body)
			}
			if want = max(want, 1); asked != want {
				t.Errorf("after %s: asked %d times, want %d", wait, asked, want)
			}
		}
	})
}

func TestWhatIsOursStaysInTheLog(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err    error
		status int
		code   posthouse.Code
		after  string
	}{
		"no code":   {errors.New("dial tcp 10.0.0.7:5432: refused"), 500, posthouse.CodeInternal, ""},
		"down":      {posthouse.Errorf(posthouse.CodeUnavailable, "the database does not answer"), 503, posthouse.CodeUnavailable, "1"},
		"full":      {posthouse.Errorf(posthouse.CodeStorageFull, "the database has no room"), 507, posthouse.CodeStorageFull, "30"},
		"ambiguous": {posthouse.Errorf(posthouse.CodeOutcomeUnknown, "repeat with the same key"), 503, posthouse.CodeOutcomeUnknown, "1"},
		"panic":     {nil, 500, posthouse.CodeInternal, ""},
	} {
		var log strings.Builder
		o := api.Options{Operation: api.Operation{Readiness: func(context.Context, posthouse.Key) []wire.Check { panic("boom") }}}
		handler := bare(t, o, noKeys{test.err}, slog.New(slog.NewTextHandler(&log, nil)))
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/v1/users", nil)
		r.Header.Set("Authorization", "Bearer "+secret.FormatKey(secret.NewKey()))
		if name == "panic" {
			r = httptest.NewRequest("GET", "/readyz", nil) // without a key, whose wrong one is said to be wrong
		}
		handler.ServeHTTP(w, r)
		got := read[fault](t, reply{body: w.Body.String()})
		if w.Code != test.status || got.Code != test.code || w.Header().Get("Retry-After") != test.after {
			t.Errorf("%s: got %d %s, Retry-After %q; want %d %s, %q", name, w.Code, w.Body, w.Header().Get("Retry-After"), test.status, test.code, test.after)
		}
		if strings.Contains(w.Body.String(), "10.0.0.7") || strings.Contains(w.Body.String(), "boom") {
			t.Errorf("%s: the answer tells what is ours: %s", name, w.Body)
		}
		if test.status == 500 && !strings.Contains(log.String(), "10.0.0.7") && !strings.Contains(log.String(), "boom") {
			t.Errorf("%s: the log does not tell the cause: %s", name, log.String())
		}
	}
}

func TestEveryAnswerForbidsGuessingItsType(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, path := range []string{"/", "/healthz", "/metrics", "/v1/users", "/v1/none", "/docs", "/openapi.json"} {
		got := h.do(request{method: "GET", path: path})
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got.header.Get(name), want)
			}
		}
		if policy := got.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: Content-Security-Policy is %q", path, policy)
		}
	}
}

var referenced = regexp.MustCompile(`(?:src|href|spec-url)="([^"]+)"`)

func TestThePageOfTheAPIIsMadeOfWhatTheServerHas(t *testing.T) {
	t.Parallel()
	h := open(t)
	page := h.must(200, "GET", "/docs", "")
	if kind := page.header.Get("Content-Type"); !strings.HasPrefix(kind, "text/html") {
		t.Errorf("the page has type %s", kind)
	}
	found := referenced.FindAllStringSubmatch(page.body, -1)
	if len(found) < 2 {
		t.Errorf("the page names %v, want a script and the document", found)
	}
	for _, m := range found {
		if !strings.HasPrefix(m[1], "/") {
			t.Errorf("the page loads %s from elsewhere", m[1])
			continue
		}
		h.must(200, "GET", m[1], "")
	}
	if strings.Contains(page.body, "<script>") || strings.Contains(page.body, "onload=") {
		t.Error("the page holds a script, which its own policy forbids")
	}
	for _, path := range []string{"/docs/none.js", "/docs/..%2fdocs.go", "/docs/%2e%2e", "/docs/%00"} {
		if got := h.do(request{method: "GET", path: path}); got.status != 404 {
			t.Errorf("%s: got %d %.80s, want 404", path, got.status, got.body)
		}
	}
	if got := h.must(200, "GET", "/docs/index.html", ""); got.body != page.body {
		t.Errorf("/docs/index.html is not the page: %.80s", got.body)
	}
	if start := h.must(200, "GET", "/", "").body; !strings.Contains(start, "Posthouse 驿站 v1.2.3") {
		t.Errorf("/ says %s", start)
	}
	if metrics := h.must(200, "GET", "/metrics", "").body; !strings.Contains(metrics, "posthouse_") {
		t.Errorf("/metrics says %.200s", metrics)
	}
}
