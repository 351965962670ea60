package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// got asks the server, with a key where one is given.
func (h *house) got(path, key string, header http.Header) (status int, text string) {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.url+path, nil)
	h.must(err)
	for name, values := range header {
		req.Header[name] = values
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	h.must(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	h.must(err)
	return res.StatusCode, string(body)
}

// Why a channel is paused can name a customer. A stranger learns how many do not send, a key those of its tenant that it sees.
func TestReadinessNamesChannelsToTheirTenantAlone(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	h.put(hook(h))
	other := hook(h)
	other.Name = "other"
	h.put(other)
	for name, why := range map[string]string{"hook": "customer Zhang 13800138000 complained", "other": "not seen by all"} {
		_, err := h.api.Channels.Pause(h.Context(), name, why)
		h.must(err)
	}
	_, err := h.api.Tenants.Put(h.Context(), "branch", wire.PutTenant{})
	h.must(err)
	foreign, err := h.api.Tenants.AddKey(h.Context(), "branch", wire.Key{Name: "t", Scope: posthouse.ScopeAdmin})
	h.must(err)
	narrow, err := h.api.Keys.Create(h.Context(), wire.Key{Name: "n", Scope: posthouse.ScopeRead, KeyLimits: posthouse.KeyLimits{Channels: []string{"other"}}})
	h.must(err)
	for name, c := range map[string]struct {
		key    string
		checks []string
	}{
		"a stranger":             {"", []string{"database", "channels"}},
		"a reader of the tenant": {h.keyOf(posthouse.ScopeRead), []string{"database", "channel default/hook", "channel default/other"}},
		"another tenant's admin": {foreign.Secret, []string{"database"}},
		"a narrowed key":         {narrow.Secret, []string{"database", "channel default/other"}},
	} {
		status, text := h.got("/readyz", c.key, nil)
		var r wire.Readiness
		h.must(json.Unmarshal([]byte(text), &r))
		var checks []string
		for _, check := range r.Checks {
			checks = append(checks, check.Name)
		}
		if fmt.Sprint(checks) != fmt.Sprint(c.checks) || status != http.StatusOK {
			t.Errorf("%s: got %d %v, want %v", name, status, checks, c.checks)
		}
		if told := strings.Contains(text, "Zhang"); told != (name == "a reader of the tenant") {
			t.Errorf("%s is told: %s", name, text)
		}
		if c.key == "" && !strings.Contains(text, "2 of 2 do not send now: 2 paused") {
			t.Errorf("%s is told: %s", name, text)
		}
	}
	if status, _ := h.got("/readyz", "ph_aaaaaaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", nil); status != http.StatusUnauthorized {
		t.Errorf("a wrong key is answered with %d", status)
	}
}

// The metrics name every tenant's channels: without a token they are for scrapes of this machine, not for what a proxy on it sends on.
func TestMetricsAreNotForStrangers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		addr, token string
		direct, far int
		withToken   int
	}{
		"nothing set": {"", "", 200, 403, 403},
		"a token":     {"", "scraped", 401, 401, 200},
		"open":        {server.MetricsOpen, "", 200, 200, 200},
		"off":         {server.MetricsOff, "scraped", 404, 404, 404},
	} {
		h := open(t, dbtest.SQLite(t), func(o *server.Options) { o.MetricsAddr, o.MetricsToken = c.addr, c.token })
		if got, _ := h.got("/metrics", "", nil); got != c.direct {
			t.Errorf("%s: this machine gets %d, want %d", name, got, c.direct)
		}
		for _, header := range []string{"X-Forwarded-For", "X-Forwarded-Port", "Forwarded", "Via", "X-Real-Ip", "X-Envoy-External-Address", "Fastly-Client-Ip"} {
			far := http.Header{header: {"203.0.113.7"}}
			if got, _ := h.got("/metrics", "", far); got != c.far {
				t.Errorf("%s: by a proxy (%s) it is %d, want %d", name, header, got, c.far)
			}
			if got, _ := h.got("/metrics", "scraped", far); got != c.withToken {
				t.Errorf("%s: by a proxy (%s) with the token it is %d, want %d", name, header, got, c.withToken)
			}
		}
	}
}

// Streams take at most half of the connections, so that the other half is for what is handed in.
func TestStreamsLeaveConnectionsForMessages(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t), func(o *server.Options) { o.MaxConnections = 16 })
	h.put(hook(h))
	key, began, refused := h.keyOf(posthouse.ScopeRead), 0, 0
	client := &http.Client{Transport: &http.Transport{}}
	for range 12 {
		req, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.url+"/v1/events/stream", nil)
		h.must(err)
		req.Header.Set("Authorization", "Bearer "+key)
		res, err := client.Do(req)
		h.must(err)
		h.Cleanup(func() { res.Body.Close() })
		switch {
		case res.StatusCode == http.StatusOK:
			began++
		case res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != "":
			refused++
		}
	}
	if began != 2 || refused != 10 {
		t.Errorf("one key has %d streams and was refused %d, want 2 and 10", began, refused)
	}
	if status, answer := h.call(http.MethodPost, "/v1/messages", "application/json", `{"channel": "hook", "to": [{"user": "u1"}], "content": {"text": "hello"}}`); status != http.StatusAccepted {
		t.Errorf("a message beside them: %d %v", status, answer)
	}
}
