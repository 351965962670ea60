package console_test

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/wire"
)

// The first person comes in by the link that the first start has made, once, and then by a password.
func TestTheFirstPersonComesIn(t *testing.T) {
	t.Parallel()
	h := open(t, true)
	link := strings.TrimPrefix(h.link, "/console/enter?link=")
	for range 2 { // looking at it does not use it up
		h.shows(h.page("", h.link), "<strong>admin</strong>", link)
	}
	in := h.ask("", "/console/enter", url.Values{"link": {link}})
	session := sessionOf(t, in)
	if in.status != http.StatusSeeOther || session == "" {
		t.Fatalf("got %+v", in)
	}
	if again := h.ask("", "/console/enter", url.Values{"link": {link}}); again.status != http.StatusUnauthorized {
		t.Errorf("a second use is answered with %d", again.status)
	}
	h.shows(h.page(session, in.to()), "Set a password", "administrator")
	set := func(old, fresh string) int {
		return h.ask(session, "/console/me/password", url.Values{"old": {old}, "password": {fresh}}).status
	}
	if got := set("", "short"); got != http.StatusUnprocessableEntity {
		t.Errorf("a short password is answered with %d", got)
	}
	if got := set("", "correct horse"); got != http.StatusSeeOther {
		t.Errorf("a password is answered with %d", got)
	}
	if got := set("wrong", "correct horse 2"); got != http.StatusUnprocessableEntity {
		t.Errorf("another, without the old one, is answered with %d", got)
	}
	sign := func(name, password string) reply {
		return h.ask("", "/console/sign-in", url.Values{"name": {name}, "password": {password}, "back": {"/console/t/default/search?q=u1"}})
	}
	if got := sign("admin", "correct horse"); got.to() != "/console/t/default/search?q=u1" || sessionOf(t, got) == "" {
		t.Errorf("the right password: %+v", got)
	}
	wrong, nobody := sign("admin", "wrong"), sign("nobody", "wrong")
	if wrong.status != http.StatusUnauthorized || nobody.status != wrong.status || strings.ReplaceAll(nobody.body, "nobody", "admin") != wrong.body {
		t.Errorf("a wrong password and a wrong name are told apart: %d, %d", wrong.status, nobody.status)
	}
	if out := h.ask(session, "/console/sign-out", url.Values{}); out.status != http.StatusSeeOther {
		t.Errorf("signing out: %+v", out)
	}
	if got := h.ask(session, "/console/me", nil); got.to() != "/console/sign-in?back=%2Fconsole%2Fme" {
		t.Errorf("a session that is over leads to %q", got.to())
	}
	var log struct{ Items []wire.AuditEntry }
	h.api("GET", "/v1/audit?key=person:admin", "", &log)
	var actions []string
	for _, e := range log.Items {
		actions = append(actions, e.Action)
	}
	if got := strings.Join(actions, " "); got != "people.sign-out people.sign-in people.password people.sign-in" {
		t.Errorf("the audit log has %s", got)
	}
}

// sessionOf is the session that an answer gives to the browser.
func sessionOf(t *testing.T, r reply) string {
	t.Helper()
	for _, c := range (&http.Response{Header: r.header}).Cookies() {
		if strings.HasSuffix(c.Name, "posthouse") {
			if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
				t.Errorf("the cookie is %+v", c)
			}
			return c.Value
		}
	}
	return ""
}

func TestGuessingIsSlowed(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	slowed := 0
	for i := range 12 {
		got := h.ask("", "/console/enter", url.Values{"link": {strings.Repeat("x", i+1)}})
		if got.status == http.StatusTooManyRequests {
			slowed++
			h.shows(got.body, "wait a minute")
		}
	}
	if slowed != 2 {
		t.Errorf("%d of 12 guesses were slowed, want those after the tenth", slowed)
	}
}

// By TLS the cookie is bound to the very host, and the plain one is not taken.
func TestTheCookieOfTLSIsBoundToTheHost(t *testing.T) {
	t.Parallel()
	h := open(t, true)
	byTLS := func(r *http.Request) { r.TLS = &tls.ConnectionState{} }
	link := strings.TrimPrefix(h.link, "/console/enter?link=")
	in := h.ask("", "/console/enter", url.Values{"link": {link}}, byTLS)
	cookie := in.header.Get("Set-Cookie")
	if !strings.HasPrefix(cookie, "__Host-posthouse=") || !strings.Contains(cookie, "; Secure") {
		t.Errorf("the cookie is %q", cookie)
	}
	if got := h.ask(sessionOf(t, in), "/console/me", nil, byTLS); got.status != http.StatusSeeOther {
		t.Errorf("the cookie of plain HTTP is answered with %d over TLS", got.status)
	}
}

func TestWhatAnotherSiteSendsChangesNothing(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	form := url.Values{"state": {"pending"}}
	for name, change := range map[string]func(*http.Request){
		"by its word":   func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"by its origin": func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "https://evil.example") },
	} {
		if got := h.ask("operator", "/console/t/default/deliveries/"+id+"/cancel", form, change); got.status != http.StatusForbidden {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	h.shows(h.page("operator", "/console/t/default/deliveries/"+id), "waits")
}

// Nobody is led out of the console by an address that a stranger made.
func TestTheWayBackStaysInTheConsole(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	for _, back := range []string{"https://evil.example/", "//evil.example/console/", "/\\evil.example", "/v1/keys", "javascript:alert(1)", "/console/\\..\\x"} {
		if got := h.ask("", "/console/lang/en?back="+url.QueryEscape(back), nil); got.to() != "/console/" {
			t.Errorf("%q leads to %q", back, got.to())
		}
	}
	if page := h.page("viewer", "/console/t/default/search?said=%3Cb%3Ecall+555%3C/b%3E"); strings.Contains(page, "555") && strings.Contains(page, "role=\"status\"") {
		t.Error("a text of the address is shown as one of ours")
	}
}
