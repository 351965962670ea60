package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/consoletest"
)

// A form whose session is over goes through the sign-in, and is carried out when the person says so; a secret in it is typed again.
func TestAFormIsKeptThroughTheSignIn(t *testing.T) {
	t.Parallel()
	h := open(t, true)
	in := h.ask("", "/console/enter", url.Values{"link": {strings.TrimPrefix(h.link, "/console/enter?link=")}})
	h.ask(sessionOf(t, in), "/console/me/password", url.Values{"password": {"correct horse battery"}})
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	const out = "/console/t/default/channels/out"
	pause := url.Values{"reason": {"维护 <b>"}, "here": {out}, "click": {"c1"}, "for": {""}}
	var kept reply
	for _, session := range []string{"over", ""} { // the browser drops the cookie of one that was too old
		if kept = h.ask(session, out+"/pause", pause); kept.status != http.StatusUnauthorized {
			t.Fatalf("a form of the session %q: %d to %q", session, kept.status, kept.to())
		}
	}
	h.shows(kept.body, "what you sent was not carried out. It is kept")
	goOn := url.Values{"kept": {consoletest.Hidden(kept.body, "kept")}} // by a link, in another tab
	if not := h.ask("", "/console/sign-in/kept", goOn); not.status != http.StatusUnauthorized || consoletest.Hidden(not.body, "kept") != goOn.Get("kept") {
		t.Errorf("nobody has signed in elsewhere: %d", not.status)
	}
	h.shows(h.ask(sessionOf(t, in), "/console/sign-in/kept", goOn).body, "维护 &lt;b&gt;", `action="`+out+`/pause"`, "<strong>out</strong> / <strong>Pause</strong>", "Send it now")
	sign := url.Values{"name": {"admin"}, "password": {"wrong"}, "back": {consoletest.Hidden(kept.body, "back")}, "kept": {consoletest.Hidden(kept.body, "kept")}}
	if again := h.ask("", "/console/sign-in", sign); consoletest.Hidden(again.body, "kept") != sign.Get("kept") {
		t.Error("a wrong password loses the form")
	}
	sign.Set("password", "correct horse battery")
	let := h.ask("", "/console/sign-in", sign)
	h.shows(let.body, "维护 &lt;b&gt;", `action="`+out+`/pause"`, "Send it now", `href="`+out+`"`)
	send := url.Values{}
	for name := range pause {
		send.Set(name, consoletest.Hidden(let.body, name))
	}
	send.Set("reason", pause.Get("reason"))
	if got := h.ask(sessionOf(t, let), out+"/pause", send); got.to() != out+"?said=paused_said" {
		t.Errorf("the form that was kept: %d to %q\n%s", got.status, got.to(), got.body)
	}
	var ch posthouse.Channel
	if h.api("GET", "/v1/channels/out", "", &ch); ch.StateReason != "维护 <b>" {
		t.Errorf("the channel is %+v", ch)
	}

	var link struct{ Path string }
	h.api("POST", "/v1/people/admin/link", "", &link) // whose page has the form from this tab
	let = h.ask("", "/console/enter", url.Values{"link": {strings.TrimPrefix(link.Path, "/console/enter?link=")}, "kept": goOn["kept"]})
	if h.shows(let.body, `action="`+out+`/pause"`, "Send it now"); sessionOf(t, let) == "" {
		t.Error("a link does not sign in who has a form that is kept")
	}

	for length, want := range map[string]string{"2026-12-01T00:00:00Z": "<dt>For how long</dt><dd>until 2026-12-01 08:00:00</dd>", "30m0s": "<dt>For how long</dt><dd>30m</dd>"} {
		kept := h.ask("over", out+"/pause", url.Values{"reason": {"x"}, "here": {out}, "click": {"c2"}, "for": {length}})
		sign.Set("kept", consoletest.Hidden(kept.body, "kept"))
		h.shows(h.ask("", "/console/sign-in", sign).body, want, `name="for" value="`+length+`"`)
	}

	hook := url.Values{"name": {"hook"}, "config.url": {"https://example.com/hook"}, "config.secret": {"whsec_" + strings.Repeat("typd", 11)}, "config.headers": {"X-A: 1\nX-B: 2"}, "unkept": {"config.secret", "config.headers", "config.other"}}
	secret := h.ask("over", "/console/t/default/drivers/webhook", hook)
	sign.Set("kept", consoletest.Hidden(secret.body, "kept"))
	let = h.ask("", "/console/sign-in", sign)
	h.shows(let.body, "Secrets are not kept", `name="config.secret" type="password" required`, `<textarea id="config.headers" name="config.headers"`, "Send it now")
	if strings.Contains(let.body, "whsec_typd") || strings.Contains(let.body, "X-A: 1") || strings.Contains(let.body, `name="config.other"`) {
		t.Errorf("a form with a secret is kept as\n%s", let.body)
	}
	hook.Set("click", consoletest.Hidden(let.body, "click")) // the rest stands in the page, and the secrets are typed again
	hook.Set("config.url", consoletest.Hidden(let.body, "config.url"))
	if got := h.ask(sessionOf(t, let), "/console/t/default/drivers/webhook", hook); got.status != http.StatusSeeOther {
		t.Errorf("with its secrets typed again: %d\n%s", got.status, got.body)
	}
	var made posthouse.Channel
	if h.api("GET", "/v1/channels/hook", "", &made); made.Config["url"] != "https://example.com/hook" {
		t.Errorf("the channel is %+v", made)
	}
}

// What is no form of the console is kept by no sign-in, and the sign-in says why somebody stands there.
func TestWhyOneIsAtTheSignIn(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	for _, e := range []struct {
		session, path string
		form          url.Values
		to            string
		text          string
	}{
		{"", "/console/t/default/search", nil, "/console/sign-in?back=%2Fconsole%2Ft%2Fdefault%2Fsearch", "Sign in to see the page."},
		{"over", "/console/t/default/search", nil, "/console/sign-in?back=%2Fconsole%2Ft%2Fdefault%2Fsearch&why=session_ended", "Your session is over"},
		{"over", "/console/me/password", url.Values{"password": {"typed"}, "here": {"/console/me"}}, "/console/sign-in?back=%2Fconsole%2Fme&why=form_lost", "send it again"},
		{"over", "/console/t/default/compose", url.Values{"text": {strings.Repeat("x", 300<<10)}}, "/console/sign-in?back=%2Fconsole%2F&why=form_lost", "send it again"},
	} {
		got := h.ask(e.session, e.path, e.form)
		if got.to() != e.to {
			t.Errorf("%s %q: %d leads to %q, want %q", e.session, e.path, got.status, got.to(), e.to)
		}
		h.shows(h.page("", e.to), e.text)
	}
	if page := h.page("", "/console/sign-in"); strings.Contains(page, `class="said"`) {
		t.Error("who comes to sign in is told why")
	}
	if page := h.page("", "/console/sign-in?why=%3Cb%3Enonsense"); strings.Contains(page, `class="said"`) {
		t.Error("the sign-in says what the address says")
	}
}
