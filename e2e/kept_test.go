package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// A form whose session is over is kept for who signs in by a link, which is opened in the same tab: once, and for no page behind that.
func TestAFormIsKeptForALinkInTheSameTab(t *testing.T) {
	wholeOnly(t)
	h := open(t)
	h.gateway("desk")
	tab := launch(t).open(t, "zh-CN")
	tab.signsIn(h, "登录")
	tab.goes(h.at("channels/desk"), http.StatusOK)
	tab.opens(tab.word("pause"))
	tab.fills("reason", "线路检修")
	if _, err := h.api.People.SignOut(t.Context(), "admin"); err != nil {
		t.Fatal(err)
	}
	tab.presses(tab.word("confirm"))
	tab.says(tab.word("form_kept"))
	tab.forgets() // that the answer was 401
	tab.goesBy(h)
	tab.says(tab.word("form_kept_title"), "线路检修")
	tab.presses(tab.word("form_kept_send"))
	if ch, err := h.api.Channels.Get(t.Context(), "desk"); err != nil || !ch.Paused || ch.StateReason != "线路检修" {
		t.Errorf("the channel is %+v, %v", ch, err)
	}
	tab.goesBy(h)
	if strings.Contains(tab.text(), tab.word("form_kept_title")) {
		t.Error("a form that was sent is offered again")
	}
}

// goesBy signs in by a link.
func (t *tab) goesBy(h *house) {
	t.Helper()
	link, err := h.api.People.Link(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	t.goes(h.url+link.Path, http.StatusOK)
	t.presses(t.word("sign_in"))
}
