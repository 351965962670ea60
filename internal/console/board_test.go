package console_test

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// The board says of each channel what it is called, whether it sends, what it sent, what waits and how full its fullest window is; whoever
// may pauses it there, and is led back to the board. What needs somebody stands first.
func TestTheBoardOfChannels(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello") // on a channel that is paused
	h.api("PUT", "/v1/channels/a-desk", `{"driver":"discard","title":"柜台短信","limits":[{"max":7,"per":"1h"},{"max":90,"per":"24h"}]}`, nil)
	h.api("POST", "/v1/messages", `{"channel":"a-desk","to":[{"user":"u1"},{"user":"u2"}],"content":{"text":"x"}}`, nil)
	minute := time.Now().Unix() / 60
	for outcome, n := range map[string]string{"ok": "41", "recipient": "3", "transient": "2", "gave_up": "2", "unknown": "6"} {
		h.exec("INSERT INTO posthouse_pulse (minute, tenant, channel, outcome, n) VALUES (" + decimal(minute-7) + ", 'default', 'a-desk', '" + outcome + "', " + n + ")")
	}
	h.counted(time.Now())
	const at = "/console/t/default/channels"
	page := h.page("operator", at)
	h.shows(page, "柜台短信", " of 7 an hour", "for the test", ">5</a>", `<small class="warn">unknown 6</small>`, `<polyline class="bad" points=`, `Resume<span class="aside"> later`, `<input type="datetime-local" name="until" min="2`)
	if !strings.Contains(page, ">41</a>") && !strings.Contains(page, ">43</a>") { // where what was sent just now is counted too
		t.Error("what was sent in the hour is not counted")
	}
	if strings.Index(page, `">later</a>`) > strings.Index(page, `">a-desk</a>`) {
		t.Error("a channel that is paused stands behind one that sends")
	}
	if seen := h.page("viewer", at); strings.Contains(seen, "<form method=\"post\" action=\"/console/t/default/channels") {
		t.Error("a viewer is offered a pause")
	}
	form := url.Values{"here": {at}, "from": {"board"}, "reason": {"the provider asked"}, "for": {"1h0m0s"}}
	if got := h.ask("operator", at+"/a-desk/pause", form); got.to() != at+"?said=paused_said" {
		t.Errorf("the pause leads to %q: %d", got.to(), got.status)
	}
	for query, want := range map[string]int{"": 2, "?state=halted": 2, "?state=paused": 2, "?state=open": 0, "?q=%E6%9F%9C%E5%8F%B0": 1, "?q=desk&state=paused": 1, "?q=none": 0, "?page=2": 0} {
		if n := rowsOf(h.page("viewer", at+query)); n != want {
			t.Errorf("%q lists %d channels, want %d", query, n, want)
		}
	}
}

// Rows stand close where somebody wants that, until they want it no more.
func TestTheDensityOfRows(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	got := h.ask("viewer", "/console/density/dense?back=/console/t/default/channels", nil)
	if got.to() != "/console/t/default/channels" || !strings.Contains(got.header.Get("Set-Cookie"), "posthouse-density=dense") {
		t.Errorf("%d, to %q, with %q", got.status, got.to(), got.header.Get("Set-Cookie"))
	}
	if got := h.ask("viewer", "/console/density/roomy?back=//elsewhere", nil); got.to() != "/console/" || !strings.Contains(got.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("back: to %q, with %q", got.to(), got.header.Get("Set-Cookie"))
	}
}
