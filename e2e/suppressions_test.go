package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/suppressions"
)

// The page adds an address, shows what it would replace, imports a file after a look and removes several, wide and as narrow as a phone.
func TestWhoWantsNothing(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	for _, width := range []int64{1280, 375} {
		h := open(t)
		h.gateway("desk")
		tab := b.open(t, "zh-CN")
		tab.signsIn(h, "登录")
		tab.do(chromedp.EmulateViewport(width, 800))
		words := suppressions.Pages().Words
		in := func(form, name, text string) {
			t.Helper()
			tab.do(chromedp.Focus(chromedp.CSS(form+` [name="`+name+`"]`), chromedp.NodeVisible), write(text))
		}
		stored := func() (all []string) {
			t.Helper()
			page, err := h.api.Suppressions.List(h.Context(), "", "", client.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range page.Items {
				all = append(all, s.Address+" "+s.Reason)
			}
			return all
		}
		adds := func(address, reason string) {
			t.Helper()
			tab.goes(h.at("suppressions"), http.StatusOK)
			tab.do(chromedp.Click(chromedp.CSS("#add > summary"), chromedp.NodeVisible))
			in("#add", "address", address)
			in("#add", "reason", reason)
			tab.follows(chromedp.Click(chromedp.CSS("#add form > button"), chromedp.NodeVisible))
		}
		adds("a@example.com", "来电要求")
		tab.says("a@example.com", "来电要求", words["supp_by_api"].In(true))
		adds("a@example.com", "又来电")
		tab.says(words["supp_there"].In(true), "来电要求")
		tab.accessible("what stands there already")
		if got := strings.Join(stored(), "\n"); got != "a@example.com 来电要求" {
			t.Errorf("before it was seen: %s", got)
		}
		tab.follows(chromedp.Click(chromedp.CSS("#add form > button"), chromedp.NodeVisible))
		if got := strings.Join(stored(), "\n"); got != "a@example.com 又来电" {
			t.Errorf("after it was seen: %s", got)
		}
		tab.forgets() // that the form was refused
		tab.goes(h.at("suppressions"), http.StatusOK)
		tab.do(chromedp.Click(chromedp.CSS("#import > summary"), chromedp.NodeVisible))
		tab.chooseFile("file", "left.csv", "邮箱,reason\nb@example.com,五月退订\nnobody,\n,\n")
		tab.follows(chromedp.Click(chromedp.CSS("#import form > button"), chromedp.NodeVisible))
		tab.says(words["supp_would_store"].In(true), "五月退订", words["supp_refused"].In(true))
		tab.accessible("the look at a file")
		tab.presses(tab.word("confirm"))
		tab.says("b@example.com", words["supp_by_import"].In(true))
		tab.goes(h.at("suppressions"), http.StatusOK)
		tab.clicksOn(`main input[data-all]`, false)
		if !tab.is(`document.querySelector(".acts output:not([hidden]) b").textContent === String(document.querySelectorAll("[name=entry]:checked").length)`) {
			t.Errorf("at %d px: the bar does not count those that are ticked", width)
		}
		tab.presses(words["supp_remove_look"].In(true))
		tab.says(words["supp_would_go"].In(true), "a@example.com", "b@example.com")
		tab.accessible("the look at what is removed")
		tab.presses(words["supp_remove"].In(true))
		tab.says(words[suppressions.Done].In(true), words["supp_empty"].In(true))
		if got := stored(); len(got) > 0 {
			t.Errorf("left: %v", got)
		}
		tab.clean()
	}
}
