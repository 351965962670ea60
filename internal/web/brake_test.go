package web

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
)

func guess(i int) mark { return sha256.Sum256([]byte(fmt.Sprint("guess ", i))) }

func TestGuessesAreBoundedByAddressAndOverAll(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	for name, c := range map[string]struct {
		address func(i int) string
		bound   int
	}{
		"one address":                             {func(int) string { return "203.0.113.7" }, brakeAfter},
		"a subscriber's IPv6":                     {func(i int) string { return fmt.Sprintf("2001:db8:1:2::%x", i) }, brakeAfter},
		"IPv4 in two forms":                       {func(i int) string { return []string{"203.0.113.7", "::ffff:203.0.113.7"}[i%2] }, brakeAfter},
		"a new address each time":                 {func(i int) string { return fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255) }, brakeAfterAll},
		"more addresses than are kept":            {func(i int) string { return fmt.Sprintf("2001:db8:%x:%x::1", i>>16, i&0xffff) }, brakeAfterAll},
		"an address that cannot be read":          {func(int) string { return "@" }, brakeAfter},
		"an IPv6 address with and without a zone": {func(i int) string { return []string{"fe80::1", "fe80::1%eth0"}[i%2] }, brakeAfter},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBrake()
			judged := 0
			for i := range maxSuspects + 100 {
				if b.failed(c.address(i), guess(i), now).wait == 0 {
					judged++
				}
			}
			if judged != c.bound {
				t.Errorf("%d guesses of a minute were answered as wrong, want %d", judged, c.bound)
			}
			if len(b.from) > maxSuspects {
				t.Errorf("%d addresses are kept", len(b.from))
			}
			if v := b.failed(c.address(0), guess(-1), now.Add(brakeWindow)); v.wait != 0 || !v.first {
				t.Errorf("a minute later: got %+v, want a guess like the first", v)
			}
		})
	}
}

// nobody has no keys.
type nobody struct{}

func (nobody) UsedKey(context.Context, time.Time, string) error { return nil }

func (nobody) KeyHash(context.Context, string) (posthouse.Key, string, bool, error) {
	return posthouse.Key{}, "", false, nil
}

// counted is how many wrong passwords got an answer, -1 where the metric is not there.
func counted(t *testing.T, registry *prometheus.Registry, answer string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if m.GetLabel()[0].GetValue() == answer && m.GetLabel()[1].GetValue() == passwords {
				return m.GetCounter().GetValue()
			}
		}
	}
	return -1
}

func TestWrongPasswordsAreCountedAndLoggedOnce(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	registry := prometheus.NewRegistry()
	g := NewGate(GateOptions{Keys: nobody{}, Log: slog.New(slog.NewTextHandler(&log, nil)), Metrics: registry})
	if n := counted(t, registry, "slowed"); n != 0 {
		t.Errorf("the counter begins at %v", n)
	}
	slowed := 0
	for i := range brakeAfter + 5 {
		if err := g.Wrong("203.0.113.7", guess(i)); err != nil {
			slowed++
			var f *Fault
			if !errors.As(err, &f) || f.after < 1 || f.after > 61 {
				t.Errorf("got %#v, want a fault with its wait", err)
			}
		}
	}
	if slowed != 5 || counted(t, registry, "slowed") != 5 || counted(t, registry, "refused") != brakeAfter {
		t.Errorf("%d were slowed; the metrics say otherwise", slowed)
	}
	if n := strings.Count(log.String(), "203.0.113.7"); n != 1 {
		t.Errorf("%d lines in the log:\n%s", n, log.String())
	}
}

func TestTheAddressBehindTrustedProxiesCounts(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, c := range map[string]struct {
		remote string
		hops   []string
		want   string
	}{
		"no proxy":                         {"203.0.113.7:1", nil, "203.0.113.7"},
		"a stranger who says so":           {"203.0.113.7:1", []string{"198.51.100.1"}, "203.0.113.7"},
		"behind a proxy":                   {"10.0.0.5:1", []string{"203.0.113.7"}, "203.0.113.7"},
		"a stranger's word behind a proxy": {"10.0.0.5:1", []string{"198.51.100.1, 203.0.113.7"}, "203.0.113.7"},
		"two proxies":                      {"10.0.0.5:1", []string{"198.51.100.1,203.0.113.7 , 10.0.0.6"}, "203.0.113.7"},
		"two lines":                        {"10.0.0.5:1", []string{"198.51.100.1", "203.0.113.7"}, "203.0.113.7"},
		"with ports":                       {"10.0.0.5:1", []string{"203.0.113.7:4711"}, "203.0.113.7"},
		"IPv6":                             {"[fd00::1]:1", []string{"[2001:db8::7]:4711"}, "2001:db8::7"},
		"IPv6 in brackets":                 {"[fd00::1]:1", []string{"[2001:db8::7]"}, "2001:db8::7"},
		"IPv4 in IPv6":                     {"[::ffff:10.0.0.5]:1", []string{"::ffff:203.0.113.7"}, "203.0.113.7"},
		"rubbish":                          {"10.0.0.5:1", []string{"203.0.113.7, unknown"}, "10.0.0.5"},
		"only proxies":                     {"10.0.0.5:1", []string{"10.0.0.7, 10.0.0.6"}, "10.0.0.7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			var peer Peer
			p := Proxies{Trusted: trusted, Log: slog.New(slog.DiscardHandler)}
			door := p.Forwarded(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, peer = AddressOf(r), PeerOf(r) }))
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr, r.Header["X-Forwarded-For"] = c.remote, c.hops
			door.ServeHTTP(httptest.NewRecorder(), r)
			if got != c.want || r.RemoteAddr != c.remote {
				t.Errorf("got %s, want %s; the request itself is of %s", got, c.want, r.RemoteAddr)
			}
			if shared := len(c.hops) > 0 && strings.HasPrefix(c.remote, "203."); peer != (Peer{got, shared}) || p.Untrusted() {
				t.Errorf("the peer is %+v, and proxies inside are said to be untrusted: %v", peer, p.Untrusted())
			}
		})
	}
}

// A request that came by a proxy inside tells that one is not trusted. What a stranger says tells nothing.
func TestAProxyThatIsNotTrustedIsNoticed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		remote, header string
		want           bool
	}{
		"on this machine":        {"127.0.0.1:1", "X-Forwarded-For", true},
		"in the network":         {"[fd00::1]:1", "X-Real-Ip", true},
		"without a word of it":   {"127.0.0.1:1", "X-Other", false},
		"a stranger who says so": {"203.0.113.7:1", "X-Forwarded-For", false},
	} {
		p := Proxies{Log: slog.New(slog.DiscardHandler)}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.remote
		r.Header.Set(c.header, "198.51.100.1")
		p.Forwarded(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)
		if p.Untrusted() != c.want {
			t.Errorf("%s: got %v", name, p.Untrusted())
		}
	}
}
