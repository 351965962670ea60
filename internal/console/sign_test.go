package console_test

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/server"
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
	if got := set("", "correct horse battery"); got != http.StatusSeeOther {
		t.Errorf("a password is answered with %d", got)
	}
	if got := set("wrong", "correct horse battery 2"); got != http.StatusUnprocessableEntity {
		t.Errorf("another, without the old one, is answered with %d", got)
	}
	sign := func(name, password string) reply {
		return h.ask("", "/console/sign-in", url.Values{"name": {name}, "password": {password}, "back": {"/console/t/default/search?q=u1"}})
	}
	if got := sign("admin", "correct horse battery"); got.to() != "/console/t/default/search?q=u1" || sessionOf(t, got) == "" {
		t.Errorf("the right password: %+v", got)
	}
	wrong, nobody := sign("admin", "wrong"), sign("nobody", "wrong")
	if wrong.status != http.StatusUnauthorized || nobody.status != wrong.status || strings.ReplaceAll(nobody.body, "nobody", "admin") != wrong.body {
		t.Errorf("a wrong password and a wrong name are told apart: %d, %d", wrong.status, nobody.status)
	}
	if out := h.ask(session, "/console/sign-out", url.Values{}); out.status != http.StatusSeeOther {
		t.Errorf("signing out: %+v", out)
	}
	if got := h.ask(session, "/console/me", nil); got.to() != "/console/sign-in?back=%2Fconsole%2Fme&why=session_ended" {
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
		for _, session := range []string{"operator", ""} { // without one it is not kept through the sign-in either
			if got := h.ask(session, "/console/t/default/deliveries/"+id+"/cancel", form, change); got.status != http.StatusForbidden {
				t.Errorf("%s, session %q: %d", name, session, got.status)
			}
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

// Too many wrong passwords of strangers shut nobody out who has a session, or a one-time code beside the right password. Nobody else
// gets in meanwhile, not even with the right password.
func TestStrangersShutOutNobodyWithASessionOrACode(t *testing.T) {
	t.Parallel()
	h := open(t, true)
	session := sessionOf(t, h.ask("", "/console/enter", url.Values{"link": {strings.TrimPrefix(h.link, "/console/enter?link=")}}))
	const password = "correct horse battery"
	h.ask(session, "/console/me/password", url.Values{"password": {password}})
	offer := h.page(session, "/console/me/totp")
	phone := &authenticator{TB: t, secret: found(t, offer, `<code>([A-Z2-7]{32})</code>`)}
	h.ask(session, "/console/me/totp", url.Values{"sealed": {found(t, offer, `name="sealed" value="([^"]+)"`)}, "code": {phone.code()}})
	sign := func(session, password, code string) reply {
		return h.ask(session, "/console/sign-in", url.Values{"name": {"admin"}, "password": {password}, "code": {code}})
	}
	slowed := 0
	for i := range 15 {
		if sign("", strings.Repeat("x", i+1), "").status == http.StatusTooManyRequests {
			slowed++
		}
	}
	if slowed != 5 {
		t.Errorf("%d of 15 guesses were slowed, want those after the tenth", slowed)
	}
	for name, code := range map[string]string{"nothing": "", "a wrong code": "000000", "a wrong recovery code": "aaaa-bbbb-cccc-dddd"} {
		got := sign("", password, code)
		if got.status != http.StatusTooManyRequests || sessionOf(t, got) != "" {
			t.Errorf("the right password with %s: %d", name, got.status)
		}
		h.shows(got.body, `name="code"`, "you need not wait")
	}
	if got := h.ask(session, "/console/me", nil); got.status != http.StatusOK {
		t.Errorf("the session is answered with %d", got.status)
	}
	if got := sign(session, password, ""); got.status != http.StatusOK || !strings.Contains(got.body, `name="half"`) {
		t.Errorf("with the session of that person: %d", got.status)
	}
	if got := h.ask(session, "/console/me/password", url.Values{"old": {password}, "password": {password + " 2"}}); got.status != http.StatusSeeOther {
		t.Errorf("another password within the session: %d", got.status)
	}
	code := phone.code()
	if got := sign("", password, code); got.status != http.StatusUnauthorized {
		t.Errorf("the old password with the right code: %d", got.status)
	}
	if got := sign("", password+" 2", code); sessionOf(t, got) == "" {
		t.Errorf("the right password with the right code: %d\n%s", got.status, got.body)
	}
}

// A browser that signs in again has one session, not two.
func TestSigningInAgainEndsTheOlderSession(t *testing.T) {
	t.Parallel()
	h := open(t, true)
	first := sessionOf(t, h.ask("", "/console/enter", url.Values{"link": {strings.TrimPrefix(h.link, "/console/enter?link=")}}))
	const password = "correct horse battery"
	h.ask(first, "/console/me/password", url.Values{"password": {password}})
	elsewhere := sessionOf(t, h.ask("", "/console/sign-in", url.Values{"name": {"admin"}, "password": {password}}))
	second := sessionOf(t, h.ask(first, "/console/sign-in", url.Values{"name": {"admin"}, "password": {password}}))
	for name, c := range map[string]struct {
		session string
		want    int
	}{"the older one": {first, http.StatusSeeOther}, "the newer one": {second, http.StatusOK}, "that of another browser": {elsewhere, http.StatusOK}} {
		if got := h.ask(c.session, "/console/me", nil); got.status != c.want {
			t.Errorf("%s is answered with %d, want %d", name, got.status, c.want)
		}
	}
}

// Where the server is told at which URL browsers see it, no request's Host says otherwise.
func TestThePublicURLIsNotTheHosts(t *testing.T) {
	t.Parallel()
	evil := func(r *http.Request) { r.Host = "evil.example" }
	h := open(t, false, func(o *server.Options) { o.PublicURL = "https://posthouse.example/" })
	page := h.ask("admin", "/console/t/default/reminders", nil, evil).body
	if !strings.Contains(page, "https://posthouse.example/v1/reminders") || strings.Contains(page, "evil.example") {
		t.Errorf("the page leads elsewhere:\n%s", page)
	}
}
