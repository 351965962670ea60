package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestAnswersAndRequestsOfHTTPAreLost(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		served.Add(1)
	}))
	defer server.Close()
	link, err := Start(Options{Target: server.Listener.Addr().String(), Protocol: HTTP})
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close() //nolint:errcheck // the test is over
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for _, c := range []struct {
		name   string
		faults Faults
		fails  bool
		served int64
	}{
		{"a good link", Faults{}, false, 1},
		{"its answer is lost", Faults{AnswerLost: Strike{Next: 1}}, true, 2},
		{"well again", Faults{}, false, 3},
		{"the request is lost", Faults{CommitLost: Strike{Next: 1}}, true, 3},
	} {
		link.Set(c.faults)
		resp, err := (&http.Client{Transport: transport}).Post("http://"+link.Addr(), "text/plain", strings.NewReader(strings.Repeat("x", 100_000)))
		if err == nil {
			resp.Body.Close()
		}
		if failed := err != nil; failed != c.fails || served.Load() != c.served {
			t.Errorf("%s: error %v, served %d; want an error %t, served %d", c.name, err, served.Load(), c.fails, c.served)
		}
	}
	if s := link.Stats(); s.AnswersLost != 1 || s.CommitsLost != 1 {
		t.Errorf("got %+v, want one answer and one request lost", s)
	}
}
