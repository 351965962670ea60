package server_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
)

// Everybody comes from the proxy's address. A stranger who guesses, by whatever user name, locks out neither the phones
// nor the clients; behind a trusted proxy not even one of the stranger's neighbours that has a typo.
func TestAStrangerBehindTheProxyLocksNobodyOut(t *testing.T) {
	t.Parallel()
	for name, trusted := range map[string][]netip.Prefix{"unknown proxy": nil, "trusted proxy": {netip.MustParsePrefix("127.0.0.0/8")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, dbtest.SQLite(t), withSMS(), func(o *server.Options) { o.TrustedProxies = trusted })
			ask := func(from, user, password string) int {
				return h.ask(asked{method: "GET", path: "/api/v1/admin/task-statistics", user: user, password: password, header: http.Header{"X-Forwarded-For": {from}}}).status
			}
			refused := 0
			for i := range 30 {
				if ask("203.0.113.7", fmt.Sprint("guessed ", i), fmt.Sprint("guess ", i)) == 401 {
					refused++
				}
			}
			if refused != 10 {
				t.Errorf("%d guesses were answered as wrong, want 10", refused)
			}
			if got := ask("198.51.100.1", smsUser, smsPassword); got != 200 {
				t.Errorf("a phone with the right password: got %d", got)
			}
			if got := ask("203.0.113.7", smsUser, smsPassword); got != 200 {
				t.Errorf("one from the stranger's address: got %d", got)
			}
			want := 429
			if trusted != nil {
				want = 401
			}
			if got := ask("198.51.100.1", smsUser, "a typo"); got != want {
				t.Errorf("a typo from another address: got %d, want %d", got, want)
			}
			if n := h.metric(`posthouse_failed_logins_total{answer="slowed",what="passwords"}`); n < 20 {
				t.Errorf("the metric counts %v slowed ones, want 20 or more", n)
			}
		})
	}
}
