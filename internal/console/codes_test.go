package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/hotp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/consoletest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// found is the first group of a pattern in a page.
func found(t testing.TB, page, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("%s is not in\n%s", pattern, page)
	}
	return html.UnescapeString(m[1])
}

// authenticator makes two codes: of this step of time and of the next, so that neither is too old however slow the test is.
type authenticator struct {
	testing.TB
	secret string
	last   int64
}

func (a *authenticator) code() string {
	a.Helper()
	now := time.Now().Unix() / 30
	if a.last = max(a.last+1, now); a.last > now+1 {
		a.Fatal("a test has two codes")
	}
	text, err := hotp.GenerateCode(a.secret, uint64(a.last))
	if err != nil {
		a.Fatal(err)
	}
	return text
}

// A person sets codes up, signs in with one, with a recovery code where the phone is gone, and an administrator turns them off.
func TestOneTimeCodes(t *testing.T) {
	t.Parallel()
	h := open(t, true)
	session := sessionOf(t, h.ask("", "/console/enter", url.Values{"link": {strings.TrimPrefix(h.link, "/console/enter?link=")}}))
	h.ask(session, "/console/me/password", url.Values{"password": {"correct horse battery"}})
	offer := h.page(session, "/console/me/totp")
	sealed := found(t, offer, `name="sealed" value="([^"]+)"`)
	phone := &authenticator{TB: t, secret: found(t, offer, `<code>([A-Z2-7]{32})</code>`)}
	h.shows(offer, `href="otpauth://totp/Posthouse:admin?issuer=Posthouse&amp;secret=`+phone.secret, `<svg class="qr"`)
	if got := h.ask(session, "/console/me/totp", url.Values{"sealed": {sealed}, "code": {"12345"}}); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, phone.secret) {
		t.Errorf("a wrong first code: %d\n%s", got.status, got.body)
	}
	first := phone.code()
	sent := url.Values{"sealed": {sealed}, "code": {first}, "here": {consoletest.Hidden(offer, "here")}, "click": {consoletest.Hidden(offer, "click")}}
	on := h.ask(session, "/console/me/totp", sent)
	h.shows(on.body, `data-instead="/console/me/totp"`) // who goes back sends nothing again, and sees no codes
	spare := regexp.MustCompile(`[a-z2-7]{4}(-[a-z2-7]{4}){3}`).FindAllString(on.body, -1)
	if on.status != http.StatusOK || len(spare) != 10 {
		t.Fatalf("turning codes on: %d with %d recovery codes\n%s", on.status, len(spare), on.body)
	}
	if second := h.ask(session, "/console/me/totp", sent); second.status != http.StatusOK || !strings.Contains(second.body, spare[9]) {
		t.Errorf("of two clicks the browser shows the second answer, which has no recovery codes: %d\n%s", second.status, second.body)
	}
	if again := h.ask(session, "/console/me/totp", url.Values{"sealed": {sealed}, "code": {"000000"}}); again.status != http.StatusConflict {
		t.Errorf("turning them on again: %d", again.status)
	}
	sign := func() string {
		got := h.ask("", "/console/sign-in", url.Values{"name": {"admin"}, "password": {"correct horse battery"}, "back": {"/console/me"}})
		if sessionOf(t, got) != "" {
			t.Fatal("a password alone signs in")
		}
		return found(t, got.body, `name="half" value="([^"]+)"`)
	}
	half := sign()
	if got := h.ask(half, "/console/me", nil); got.status != http.StatusSeeOther {
		t.Errorf("half a session shows a page: %d", got.status)
	}
	show := func(half, code string) reply {
		return h.ask("", "/console/sign-in/code", url.Values{"half": {half}, "code": {code}, "back": {"/console/me"}})
	}
	for name, code := range map[string]string{"the code that turned them on": first, "another": "000000", "none": ""} {
		if got := show(half, code); got.status != http.StatusUnauthorized || sessionOf(t, got) != "" {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	code := phone.code()
	if got := show(half, code); got.to() != "/console/me" || h.ask(sessionOf(t, got), "/console/me", nil).status != http.StatusOK {
		t.Errorf("the right code: %d to %q", got.status, got.to())
	}
	if got := show(half, spare[0]); got.status != http.StatusUnauthorized || sessionOf(t, got) != "" {
		t.Errorf("half a session lets in twice: %d", got.status)
	}
	if got := show(sign(), code); sessionOf(t, got) != "" {
		t.Error("a code is taken twice")
	}
	if got := show(sign(), spare[1]); sessionOf(t, got) == "" {
		t.Errorf("a recovery code: %d", got.status)
	}
	h.shows(h.page(session, "/console/me/totp"), "Recovery codes that are left: 9")
	if got := h.ask(session, "/console/me/totp/off", url.Values{"code": {spare[1]}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a recovery code is taken twice: %d", got.status)
	}
	h.api("POST", "/v1/people/admin/reset-totp", "", nil)
	if got := h.ask("", "/console/sign-in", url.Values{"name": {"admin"}, "password": {"correct horse battery"}}); sessionOf(t, got) == "" {
		t.Errorf("after the reset: %d", got.status)
	}
	var log struct{ Items []wire.AuditEntry }
	h.api("GET", "/v1/audit?limit=100", "", &log)
	count := map[string]int{}
	for _, e := range log.Items {
		count[e.Action]++
	}
	for action, want := range map[string]int{"people.totp": 1, "people.totp-wrong": 5, "people.sign-in": 4, "people.reset-totp": 1} {
		if count[action] != want {
			t.Errorf("the audit log has %d of %s, want %d: %v", count[action], action, want, count)
		}
	}
}

// Wrong codes are bounded for the person, from wherever they come; a recovery code still lets in.
func TestGuessingCodesEnds(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	offer := h.page("viewer", "/console/me/totp")
	phone := &authenticator{TB: t, secret: found(t, offer, `<code>([A-Z2-7]{32})</code>`)}
	on := h.ask("viewer", "/console/me/totp", url.Values{"sealed": {found(t, offer, `name="sealed" value="([^"]+)"`)}, "code": {phone.code()}})
	spare := found(t, on.body, `([a-z2-7]{4}(?:-[a-z2-7]{4}){3})`)
	if other := h.ask("operator", "/console/me/totp", url.Values{"sealed": {found(t, offer, `name="sealed" value="([^"]+)"`)}, "code": {"000000"}}); other.status != http.StatusNotFound {
		t.Errorf("another's secret is taken: %d", other.status)
	}
	renew := func(code, from string) int {
		return h.ask("viewer", "/console/me/totp/spare", url.Values{"code": {code}}, func(r *http.Request) { r.RemoteAddr = from + ":1" }).status
	}
	for i := range 10 {
		if got := renew("00000a", "192.0.2."+string(rune('1'+i))); got != http.StatusUnprocessableEntity {
			t.Fatalf("guess %d: %d", i, got)
		}
	}
	h.shows(h.ask("viewer", "/console/me/totp/spare", url.Values{"code": {phone.code()}}).body, "only a recovery code is taken")
	if got := renew(spare, "192.0.2.77"); got != http.StatusOK {
		t.Errorf("a recovery code: %d", got)
	}
}

// Where codes are required nothing is shown before they are set up but how to do that.
func TestCodesThatAreRequired(t *testing.T) {
	t.Parallel()
	h := open(t, false, func(o *server.Options) { o.RequireTOTP = true })
	for _, path := range []string{"/console/", "/console/t/default/", "/console/t/default/people"} {
		if got := h.ask("admin", path, nil); got.to() != "/console/me/totp" {
			t.Errorf("%s: %d to %q", path, got.status, got.to())
		}
	}
	offer := h.page("admin", "/console/me/totp")
	h.shows(offer, "required")
	phone := &authenticator{TB: t, secret: found(t, offer, `<code>([A-Z2-7]{32})</code>`)}
	h.ask("admin", "/console/me/totp", url.Values{"sealed": {found(t, offer, `name="sealed" value="([^"]+)"`)}, "code": {phone.code()}})
	h.shows(h.page("admin", "/console/t/default/"), "Overview")
	var p posthouse.Person
	if h.api("GET", "/v1/people/admin", "", &p); !p.TOTP {
		t.Errorf("the person is %+v", p)
	}
}
