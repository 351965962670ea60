package gauges_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/front/gauges"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// house has channels: "fleet" with the accounts a, b and c of which b has a base of its own, "paced" with a rate and "plain" with
// neither. It notes what was asked of what is stored.
type house struct {
	rates []posthouse.Rate
	asked []any
	door  http.Handler
}

func open(t *testing.T) *house {
	t.Helper()
	h := &house{}
	h.door = web.New(web.Options{Gate: web.NewGate(web.GateOptions{Log: slog.New(slog.DiscardHandler)}), Log: slog.New(slog.DiscardHandler)},
		gauges.Routes(h, h, channels{}, accounts{}))
	return h
}

func (h *house) Windows(_ context.Context, tenant, channel string, accounts []string, cursor string, limit int) ([]wire.Window, string, error) {
	h.asked = append(h.asked, []any{tenant, channel, accounts, cursor, limit})
	if channel == "plain" {
		return nil, "", nil
	}
	return []wire.Window{{Account: "a", Max: 20, Used: 20}}, "more", nil
}

func (h *house) RateHistory(_ context.Context, tenant, channel, account string, now, since time.Time) (wire.RateHistory, error) {
	h.asked = append(h.asked, []any{tenant, channel, account, now.Sub(since).Round(time.Minute)})
	return wire.RateHistory{Account: account, Points: []wire.RatePoint{}}, nil
}

func (h *house) Rates(_, channel string) []posthouse.Rate {
	if channel == "plain" {
		return nil
	}
	return append([]posthouse.Rate{}, h.rates...)
}

type channels struct{}

func (channels) Get(_ context.Context, tenant, name string) (posthouse.Channel, error) {
	ch := posthouse.Channel{Tenant: tenant, Name: name}
	switch {
	case tenant == "t1" && name == "fleet":
		ch.Accounts = true
	case tenant == "t1" && name == "paced":
		ch.Rate = &posthouse.RateSettings{}
	case tenant != "t1" || name != "plain":
		return ch, posthouse.Errorf(posthouse.CodeNotFound, "there is no channel %q", name)
	}
	return ch, nil
}

type accounts struct{}

func (accounts) Get(_ context.Context, _, _, name string) (posthouse.Account, error) {
	a := posthouse.Account{Name: name}
	switch name {
	case "a", "c":
	case "b":
		a.BaseRate = 5
	default:
		return a, posthouse.Errorf(posthouse.CodeNotFound, "there is no account %q", name)
	}
	return a, nil
}

// get asks as a key of a tenant that may read, and answers the status and the body.
func (h *house) get(t *testing.T, tenant, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	key := posthouse.Key{ID: "k", Tenant: tenant, Scope: posthouse.ScopeRead}
	h.door.ServeHTTP(w, httptest.NewRequestWithContext(web.As(t.Context(), key), http.MethodGet, "/v1/channels/"+path, http.NoBody))
	return w.Code, w.Body.String()
}

// FLEET-9: the windows of a channel are read by page and by account, of the tenant's own channels alone.
func TestWindowsAreReadByPageAndAccount(t *testing.T) {
	t.Parallel()
	h := open(t)
	for path, want := range map[string]string{
		"fleet/windows": `"next":"more"`,
		"fleet/windows?account=a,b&limit=7&cursor=c": `"used":20`,
		"plain/windows": `"items":[]`,
		"none/windows":  `"code":"not_found"`,
		"fleet/windows?account=" + strings.Repeat("x,", 200) + "x": `"path":"query.account"`,
		"fleet/windows?acount=a":                                   `"path":"query.acount"`,
	} {
		if status, body := h.get(t, "t1", path); !strings.Contains(body, want) {
			t.Errorf("%.40s: got %d %s, want %s", path, status, body, want)
		}
	}
	h.asked = nil
	h.get(t, "t1", "fleet/windows?account=a,b&limit=7&cursor=c")
	h.get(t, "t1", "fleet/windows")
	h.get(t, "t2", "fleet/windows")
	want := []any{[]any{"t1", "fleet", []string{"a", "b"}, "c", 7}, []any{"t1", "fleet", []string(nil), "", 50}}
	if diff := cmp.Diff(want, h.asked); diff != "" {
		t.Errorf("what was asked for (-want +got):\n%s", diff)
	}
}

// FLEET-5: the rates of this process are listed by account, page by page; a channel without any says so.
func TestRatesAreListedByAccount(t *testing.T) {
	t.Parallel()
	h := open(t)
	for i := range 3 {
		h.rates = append(h.rates, posthouse.Rate{Account: string(rune('c' - i)), Rate: float64(i)})
	}
	list := func(query string) (names []string, next string) {
		t.Helper()
		status, body := h.get(t, "t1", "fleet/rates"+query)
		var page wire.Page[posthouse.Rate]
		if err := json.Unmarshal([]byte(body), &page); err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", query, status, body, err)
		}
		for _, r := range page.Items {
			names = append(names, r.Account)
		}
		return names, page.Next
	}
	names, next := list("?limit=2")
	rest, end := list("?limit=2&cursor=" + strings.ReplaceAll(next, " ", "%20"))
	if got := fmt.Sprint(names, rest, end); got != "[a b] [c]" {
		t.Errorf("the pages are %s, want a and b, then c", got)
	}
	if some, _ := list("?account=c,a,nobody"); fmt.Sprint(some) != "[a c]" {
		t.Errorf("of a and c %v are listed", some)
	}
	if status, body := h.get(t, "t1", "plain/rates"); status != http.StatusConflict || !strings.Contains(body, "has no rate") {
		t.Errorf("a channel without rates: %d %s", status, body)
	}
	h.rates = nil
	if status, body := h.get(t, "t1", "paced/rates"); status != http.StatusOK || !strings.Contains(body, `"items":[]`) {
		t.Errorf("a channel that has not sent yet: %d %s", status, body)
	}
}

// FLEET-5: the history of a rate is one account's, an hour or what is asked for and a day at most; what has none is named.
func TestTheHistoryOfARateIsAnAccounts(t *testing.T) {
	t.Parallel()
	h := open(t)
	ago := func(d time.Duration) string { return time.Now().Add(-d).UTC().Format(time.RFC3339) }
	for _, c := range []struct {
		path   string
		status int
		said   string
		asked  any
	}{
		{"paced/rate-history", 200, `"points":[]`, []any{"t1", "paced", "", time.Hour}},
		{"fleet/rate-history?account=b&since=" + ago(2*time.Hour), 200, `"account":"b"`, []any{"t1", "fleet", "b", 2 * time.Hour}},
		{"fleet/rate-history?account=b&since=" + ago(48*time.Hour), 200, `"points":[]`, []any{"t1", "fleet", "b", 24 * time.Hour}},
		{"fleet/rate-history?account=b&since=" + ago(-time.Hour), 422, `"path":"query.since"`, nil},
		{"fleet/rate-history?account=b&since=yesterday", 422, `"path":"query.since"`, nil},
		{"fleet/rate-history", 422, `"path":"query.account"`, nil},
		{"fleet/rate-history?account=nobody", 404, `nobody`, nil},
		{"fleet/rate-history?account=a", 409, `has no rate`, nil},
		{"paced/rate-history?account=a", 404, `sends by one account, its own`, nil},
		{"plain/rate-history", 409, `has no rate`, nil},
		{"none/rate-history", 404, `there is no channel`, nil},
	} {
		h.asked = nil
		status, body := h.get(t, "t1", c.path)
		if status != c.status || !strings.Contains(body, c.said) {
			t.Errorf("%s: got %d %s, want %d and %s", c.path, status, body, c.status, c.said)
		}
		if c.asked == nil && h.asked != nil || c.asked != nil && !cmp.Equal([]any{c.asked}, h.asked) {
			t.Errorf("%s: asked for %v, want %v", c.path, h.asked, c.asked)
		}
	}
}
