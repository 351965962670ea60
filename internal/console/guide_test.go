package console_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/simulator"
)

// From nothing to a message that the simulator has taken, by what the page asks for; a double click sends once.
func TestTheFirstSteps(t *testing.T) {
	t.Parallel()
	providers := httptest.NewServer(simulator.New(simulator.Options{Log: slog.New(slog.DiscardHandler)}))
	t.Cleanup(providers.Close)
	h := open(t, false, func(o *server.Options) { o.AllowNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	const at = "/console/t/default/start"
	h.shows(h.page("admin", "/console/t/default/"), "three steps to a first message", at)
	if strings.Contains(h.page("viewer", "/console/t/default/"), at) {
		t.Error("a viewer is led to what a viewer may not do")
	}
	h.shows(h.page("admin", at), "posthouse simulate", "Make the channel")

	bad := h.ask("admin", at, url.Values{"step": {"connect"}, "simulator": {"nowhere"}})
	if bad.status != http.StatusUnprocessableEntity || !strings.Contains(bad.body, "url") {
		t.Errorf("an address that is none: %d\n%s", bad.status, bad.body)
	}
	h.shows(h.ask("admin", at, url.Values{"step": {"connect"}, "simulator": {providers.URL + "/"}}).body, "reaches the simulator", "Send it")
	form := url.Values{"step": {"send"}, "to": {"li.na"}, "text": {"hello"}, "once": {posthouse.NewID()}}
	first, again := h.ask("admin", at, form), h.ask("admin", at, form)
	if !strings.Contains(first.to(), "/messages/") || again.to() != first.to() {
		t.Errorf("sending leads to %q, and again to %q\n%s", first.to(), again.to(), first.body)
	}
	h.shows(h.page("admin", at), "It is sent.", "li.na")
}
