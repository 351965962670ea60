package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/posthouse/posthouse"
)

// Windows and lengths of time are typed as a number and a unit; what is written in another way stays a text.
func TestWindowsAreANumberAndAUnit(t *testing.T) {
	wholeOnly(t)
	h := open(t)
	h.gateway("desk")
	tab := launch(t).open(t, "zh-CN")
	tab.goes(h.link, http.StatusOK)
	tab.presses("登录")
	tab.goes(h.at("channels/desk/edit"), http.StatusOK)
	into := func(css, text string) {
		t.Helper()
		tab.do(chromedp.Focus(chromedp.CSS(css), chromedp.NodeVisible), discard(chromedp.Evaluate[bool](`document.activeElement.select?.(), true`)), write(text))
	}
	tab.do(discard(chromedp.Evaluate[bool](`for (const d of document.querySelectorAll("details")) d.open = true; true`)))
	into(".windows .lasting:nth-child(1) input", "20")
	into(".windows .lasting:nth-child(1) input + input", "1")
	tab.do(chromedp.Click(chromedp.CSS(".windows > button")))
	into(".windows .lasting:nth-child(2) input", "1000")
	into(".windows .lasting:nth-child(2) input + input", "5")
	tab.do(chromedp.SetValue(chromedp.CSS(".windows .lasting:nth-child(2) select"), "m"), discard(chromedp.Evaluate[bool](`document.querySelector(".windows .lasting:nth-child(2) select").dispatchEvent(new Event("input", {bubbles: true}))`)))
	tab.picture("windows")
	tab.presses("保存")
	ch, err := h.api.Channels.Get(t.Context(), "desk")
	if err != nil {
		t.Fatal(err)
	}
	if l := ch.Limits; len(l) != 2 || l[0].Max != 20 || l[0].Per.Std() != time.Second || l[1].Max != 1000 || l[1].Per.Std() != 5*time.Minute {
		t.Errorf("the limits are %+v", l)
	}
	tab.goes(h.at("channels/desk/edit"), http.StatusOK)
	tab.do(discard(chromedp.Evaluate[bool](`for (const d of document.querySelectorAll("details")) d.open = true; true`)))
	into("#every-number", "0") // at once, whatever the profile says
	tab.presses("保存")
	tab.says("已保存")
	if ch, err = h.api.Channels.Get(t.Context(), "desk"); err != nil || ch.Every == nil || *ch.Every != 0 || len(ch.Limits) != 2 {
		t.Errorf("every 0s is stored as %v beside the limits %v: %v", ch.Every, ch.Limits, err)
	}
	if _, err := h.api.Digests.Put(t.Context(), posthouse.Digest{Name: "evening", Window: posthouse.Duration(90 * time.Minute)}); err != nil {
		t.Fatal(err)
	}
	tab.goes(h.at("digests/evening"), http.StatusOK)
	if !tab.is(`!document.querySelector("[name=window]").hidden && document.querySelector("[name=window]").value === "1h30m"`) {
		t.Errorf("a length of two units is no text:\n%s", tab.text())
	}
}
