package flow_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/workflow"
)

func callback(t *testing.T, serve http.HandlerFunc) *flow.Callback {
	t.Helper()
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	c, err := flow.NewCallback(flow.CallbackOptions{URL: s.URL + "/who", Secret: "s3cret-value", Network: channel.Network{AllowPrivate: true}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// FLOW-9: who is who may be asked of the caller's own system.
func TestACallbackIsAskedWithItsSecret(t *testing.T) {
	t.Parallel()
	var asked string
	c := callback(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		asked = r.Method + " " + r.URL.Path + " " + r.Header.Get(flow.SecretHeader) + " " + string(text)
		io.WriteString(w, `{"users": [{"user": "u1"}, {"user": "u2", "address": "138"}, {"address": "group"}], "vacant": ["ops"]}`)
	})
	got, err := c.Resolve(t.Context(), workflow.Question{Tenant: "default", Task: "7", Purpose: "node_done", Nodes: []string{"a"}, Roles: []string{"ops"}})
	want := workflow.Audience{To: []posthouse.Recipient{{User: "u1"}, {User: "u2", Address: "138"}, {Address: "group"}}, Vacant: []string{"ops"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if want := `POST /who s3cret-value {"tenant":"default","task":"7","purpose":"node_done","nodes":["a"],"roles":["ops"],"users":[]}`; asked != want {
		t.Errorf("it was asked %s, want %s", asked, want)
	}
}

func TestAnAnswerThatIsNoneIsUnavailable(t *testing.T) {
	t.Parallel()
	long, _ := json.Marshal(strings.Repeat("x", 2<<20))
	for what, answer := range map[string]http.HandlerFunc{
		"an error":        func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"a redirect":      func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"no JSON":         func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
		"no users":        func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") },
		"nobody's entry":  func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"users": [{}]}`) },
		"a large one":     func(w http.ResponseWriter, _ *http.Request) { w.Write(long) },
		"none whatsoever": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		if got, err := callback(t, answer).Resolve(t.Context(), workflow.Question{}); posthouse.CodeOf(err) != posthouse.CodeUnavailable {
			t.Errorf("%s: got %v, %v", what, got, err)
		} else if strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error tells too much: %v", what, err)
		}
	}
}

func TestACallbackReachesPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was called") }))
	t.Cleanup(s.Close)
	c, err := flow.NewCallback(flow.CallbackOptions{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resolve(t.Context(), workflow.Question{}); posthouse.CodeOf(err) != posthouse.CodeUnavailable {
		t.Errorf("got %v", err)
	}
	if _, err := flow.NewCallback(flow.CallbackOptions{URL: "ftp://x"}); err == nil {
		t.Error("an address that is no URL of the web is taken")
	}
}
