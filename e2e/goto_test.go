package e2e

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Ctrl-K leads to pages and things from the keyboard alone: arrows move through the results, Escape closes them, Enter searches.
func TestCtrlKLeadsEverywhere(t *testing.T) {
	wholeOnly(t)
	h := open(t)
	h.gateway("desk")
	ctrlK := chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	tab := launch(t).open(t, "zh-CN")
	tab.signsIn(h, "登录")
	tab.goes(h.at("audit"), http.StatusOK)
	tab.do(ctrlK)
	tab.until(`document.querySelectorAll("#goals a").length > 10`) // each page, before anything is typed
	tab.accessible("audit with the pages that Ctrl-K leads to")
	tab.do(chromedp.KeyEvent(kb.Escape))
	tab.until(`document.querySelectorAll("#goals a").length === 0 && document.activeElement.name === "q"`)
	tab.do(ctrlK, write("des"))
	tab.until(`[...document.querySelectorAll("#goals a")].some((a) => a.innerText.startsWith("desk"))`)
	tab.do(chromedp.KeyEvent(kb.ArrowUp))
	tab.until(`document.activeElement.search === "?q=des"`) // the search is the last, from the field upwards
	tab.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown))
	tab.until(`document.activeElement.innerText.startsWith("desk")`)
	tab.follows(chromedp.KeyEvent(kb.Enter))
	if !tab.is(`location.pathname.endsWith("/channels/desk")`) {
		t.Errorf("Enter on a channel leads to %s", tab.text())
	}
	tab.do(ctrlK, write("群发任务"))
	tab.until(`document.querySelectorAll("#goals a").length === 2`)
	tab.do(chromedp.KeyEvent(kb.ArrowDown))
	tab.follows(chromedp.KeyEvent(kb.Enter))
	tab.says("还没有群发任务")
	tab.do(ctrlK, write("whatever"), chromedp.KeyEvent(kb.Tab))
	tab.do(discard(chromedp.Click(chromedp.CSS("h1"))))
	tab.until(`document.querySelectorAll("#goals a").length === 0`)
	tab.clean()
}

// A screen at the wall shows what needs somebody without a menu; its title counts, and a tone is asked for by one button. What comes while
// nobody touches it is shown, and it fits a small screen too.
func TestTheWall(t *testing.T) {
	wholeOnly(t)
	h := open(t)
	h.gateway("desk")
	tab := launch(t).open(t, "zh-CN")
	tab.signsIn(h, "登录")
	tab.goes(h.at(""), http.StatusOK)
	tab.follows(discard(chromedp.Click(chromedp.CSS(`.head a[href="?wall=1"]`))))
	tab.says("一切正常", "页面更新于")
	if !tab.is(`document.querySelector("#menu") === null && getComputedStyle(document.querySelector("header")).display === "none" && !document.title.startsWith("(")`) {
		t.Error("the wall has a menu, or its title counts what is not there")
	}
	tab.accessible("the wall")
	tab.do(discard(chromedp.Click(chromedp.CSS("#sound"))))
	tab.until(`document.querySelector("#sound").getAttribute("aria-pressed") === "true"`)
	if _, err := h.api.Channels.Pause(t.Context(), "desk", "平台维护"); err != nil {
		t.Fatal(err)
	}
	tab.do(discard(chromedp.WaitVisible(chromedp.CSS(".verdict.warn"))))
	if title := tab.reads(`document.title`); title != "(1) 大屏 · 总览 · 驿站 Posthouse" {
		t.Errorf("the title is %q", title)
	}
	tab.do(chromedp.EmulateViewport(375, 800))
	if !tab.is(`document.documentElement.scrollWidth <= document.documentElement.clientWidth`) {
		t.Errorf("the wall is wider than a small screen: %s", tab.wide())
	}
	tab.follows(discard(chromedp.Click(chromedp.CSS(".leave a"))))
	tab.says("大屏")
	tab.clean()
}
