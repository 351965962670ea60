package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// A kind that has a host name of its own is served at its root, as at its sender's original, and nothing else is there.
func TestAFrontAtTheRootOfItsHost(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t), func(o *server.Options) {
		o.FrontHosts = map[string]string{"push.example.com": "gotify", "ntfy.example.com": "ntfy", "bark.example.com": "bark"}
	})
	tokens := map[string]string{}
	for _, kind := range []string{"gotify", "ntfy", "bark"} {
		made := h.front(kind)
		tokens[kind] = made.Token
		if !strings.Contains(setupOf(made), ".example.com:") || strings.Contains(setupOf(made), "/in/") {
			t.Errorf("%s is told %s", kind, setupOf(made))
		}
	}
	for name, c := range map[string]struct {
		host, method, path, body string
		headers                  []string
		status                   int
		says                     string
	}{
		"Gotify's":           {"push.example.com", "POST", "/message?token=" + tokens["gotify"], `{"message":"full"}`, nil, 200, `"appid":1`},
		"with a port":        {"PUSH.example.com:8443", "POST", "/message?token=" + tokens["gotify"], `{"message":"full"}`, nil, 200, `"appid":1`},
		"with a second /":    {"push.example.com", "POST", "//message?token=" + tokens["gotify"], `{"message":"full"}`, nil, 200, `"appid":1`},
		"a wrong token":      {"push.example.com", "POST", "/message?token=x", `{"message":"full"}`, nil, 401, `"errorCode":401`},
		"of another kind":    {"push.example.com", "POST", "/message?token=" + tokens["ntfy"], `{"message":"full"}`, nil, 401, `"errorCode":401`},
		"ntfy's":             {"ntfy.example.com", "PUT", "/message", "full", []string{"Authorization", "Bearer " + tokens["ntfy"]}, 200, `"topic":"message"`},
		"Bark's, escaped":    {"bark.example.com", "GET", "/" + tokens["bark"] + "/Disk/a%2Fb", "", nil, 200, `"code":200`},
		"no API there":       {"push.example.com", "GET", "/v1/messages", "", []string{"Authorization", "Bearer x"}, 401, `"errorCode":401`},
		"below /in/ as ever": {"", "POST", "/in/gotify/message?token=" + tokens["gotify"], `{"message":"full"}`, nil, 200, `"appid":1`},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, h.url+c.path, strings.NewReader(c.body))
		h.must(err)
		r.Host = c.host
		for i := 0; i+1 < len(c.headers); i += 2 {
			r.Header.Set(c.headers[i], c.headers[i+1])
		}
		w, err := http.DefaultClient.Do(r)
		h.must(err)
		said, err := io.ReadAll(w.Body)
		h.must(err)
		h.must(w.Body.Close())
		if w.StatusCode != c.status || !strings.Contains(string(said), c.says) {
			t.Errorf("%s: got %d %s, want %d %s", name, w.StatusCode, said, c.status, c.says)
		}
	}
	if n := len(h.lastMessages()); n != 6 {
		t.Errorf("there are %d messages, want 6", n)
	}
}

func setupOf(made wire.NewFront) string {
	var all strings.Builder
	for _, s := range made.Setup {
		all.WriteString(s.Text)
	}
	return all.String()
}

// Host names at which paths would overlap, and what is none, are refused at the start.
func TestOverlappingFrontHostsAreRefused(t *testing.T) {
	t.Parallel()
	dsn := dbtest.SQLite(t)
	for want, hosts := range map[string]map[string]string{
		"":                                      {"push.example.com": "gotify", "ntfy.example.com": "ntfy", "two.example.com": "ntfy"},
		"names the host push.example.com twice": {"push.example.com": "gotify", "Push.example.com": "ntfy"},
		"which is the host of public_url":       {"post.example.com": "gotify"},
		`has the kind "slack"`:                  {"push.example.com": "slack"},
		`names the host "push.example.com:80"`:  {"push.example.com:80": "gotify"},
		`names the host "https://push"`:         {"https://push": "gotify"},
	} {
		err := starts(t, server.Options{DSN: dsn, Keyring: keyLine("one", "a"), PublicURL: "https://post.example.com:8443/", FrontHosts: hosts})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: got %v, want %q", hosts, err, want)
		}
	}
}
