package server_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
)

// Everybody comes from the proxy's address. A stranger who guesses, by whatever user name, locks out no phone that was right before; and
// guesses beyond the bound are not looked at. Behind a trusted proxy others are not touched at all; behind one that is not, doctor names it.
func TestAStrangerBehindTheProxyLocksNobodyOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trusted []netip.Prefix
		judged  int // of the stranger's guesses
		typo    int // of another address, which was never right
	}{
		"unknown proxy": {nil, 99, 429}, // with the phone's own
		"trusted proxy": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, 10, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, dbtest.SQLite(t), withSMS(), func(o *server.Options) { o.TrustedProxies = c.trusted })
			ask := func(from, user, password string) int {
				return h.ask(asked{method: "GET", path: "/api/v1/admin/task-statistics", user: user, password: password, header: http.Header{"X-Forwarded-For": {from}}}).status
			}
			if got := ask("198.51.100.1", smsUser, "a typo"); got != 401 {
				t.Errorf("a typo: got %d", got)
			}
			if got := ask("198.51.100.1", smsUser, smsPassword); got != 200 {
				t.Errorf("the right password: got %d", got)
			}
			refused := 0
			for i := range 150 {
				if ask("203.0.113.7", fmt.Sprint("guessed ", i), fmt.Sprint("guess ", i)) == 401 {
					refused++
				}
			}
			if refused != c.judged {
				t.Errorf("%d guesses were judged, want %d", refused, c.judged)
			}
			if got := ask("203.0.113.7", "guessed", smsPassword); got != 429 {
				t.Errorf("one more guess is answered with %d", got)
			}
			if got := ask("198.51.100.1", smsUser, smsPassword); got != 200 {
				t.Errorf("a phone that was right before: got %d", got)
			}
			if got := ask("198.51.100.2", "other", "a typo"); got != c.typo {
				t.Errorf("a typo from another address: got %d, want %d", got, c.typo)
			}
			if n := h.metric(`posthouse_failed_logins_total{answer="slowed",what="passwords"}`); n < 50 {
				t.Errorf("the metric counts %v slowed ones, want 50 or more", n)
			}
		})
	}
}
