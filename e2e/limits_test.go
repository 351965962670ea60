package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Names of the longest that are taken, without a space in them, break within their columns on each page, wide and on a phone.
func TestLongNamesStayWithinThePage(t *testing.T) {
	wholeOnly(t)
	h := open(t)
	name, text := strings.Repeat("w", 63), strings.Repeat("W", 200)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := h.api.Channels.Put(t.Context(), posthouse.Channel{Name: name, Driver: "discard", ChannelSettings: posthouse.ChannelSettings{Title: text[:64], Limits: []posthouse.Limit{{Max: 900000000, Per: posthouse.Duration(90 * time.Minute)}}}})
	must(err)
	_, err = h.api.Users.Put(t.Context(), posthouse.User{ID: name, Name: text[:80], Addresses: map[string]string{name: text}})
	must(err)
	_, err = h.api.People.Put(t.Context(), name, wire.PutPerson{Title: text[:64]})
	must(err)
	_, err = h.api.Templates.Put(t.Context(), posthouse.Template{Name: name, Text: text})
	must(err)
	_, err = h.api.Campaigns.Create(t.Context(), wire.CampaignDraft{Name: name, Channel: name, Template: name})
	must(err)
	_, err = h.api.Rosters.Put(t.Context(), posthouse.Roster{Name: name, Days: map[string][]string{"1": {name}}})
	must(err)
	_, err = h.api.Routes.Put(t.Context(), posthouse.Route{Name: name, Note: text, Steps: []posthouse.RouteStep{{Channels: []string{name}}}})
	must(err)
	_, err = h.api.Keys.Create(t.Context(), wire.Key{Name: name, Scope: posthouse.ScopeRead})
	must(err)
	got := h.send(posthouse.Draft{Channel: name, Kind: name, Ref: name, To: []posthouse.Recipient{{User: name, Address: text}}, Content: &posthouse.Content{Title: text, Text: text}})
	_, err = h.api.Channels.PauseUntil(t.Context(), name, wire.Pause{Reason: text})
	must(err)
	tab := launch(t).open(t, "zh-CN")
	tab.signsIn(h, "登录")
	visited := []string{"", "channels", "channels/" + name, "channels/" + name + "/edit", "channels/" + name + "/quiet", "search?q=" + name, "attention", "deliveries/" + got[0].ID, "messages/" + posthouse.MessageID(got[0].ID), "campaigns", "campaigns/" + name,
		"directory", "directory/" + name, "people", "people/" + name, "templates", "templates/" + name, "rosters", "rosters/" + name, "rosters/" + name + "?view=week", "routes", "routes/" + name, "keys", "audit", "compose?channel=" + name}
	tab.visits(h, visited)
	tab.do(chromedp.EmulateViewport(375, 800))
	tab.visits(h, visited)
	tab.goes(h.at("audit"), http.StatusOK)
	if tab.is(`[...document.querySelectorAll(".changes summary")].some((line) => line.offsetHeight > 60)`) {
		t.Error("a line of the audit log is taller than two lines of a phone")
	}

	// The drawer opens by its button, closes by Escape, and leads.
	tab.goes(h.at("channels"), http.StatusOK)
	tab.do(chromedp.Click(chromedp.CSS("button.burger"), chromedp.NodeVisible), discard(chromedp.WaitVisible(chromedp.CSS("#menu"))), chromedp.KeyEvent(kb.Escape), discard(chromedp.WaitNotVisible(chromedp.CSS("#menu"))))
	tab.do(chromedp.Click(chromedp.CSS("button.burger"), chromedp.NodeVisible))
	tab.chooses(tab.word("audit"))
	if tab.is(`document.querySelector("#menu").matches(":popover-open")`) || tab.is(`document.documentElement.scrollWidth > document.documentElement.clientWidth`) {
		t.Error("the drawer does not lead, or makes the page wider")
	}
}

// Two tabs change one channel: the second is shown what the first has stored, beside what it was about to, and decides. A session that ends
// under a form that is filled in keeps the form.
func TestTwoTabsAndALostSession(t *testing.T) {
	wholeOnly(t)
	h := open(t)
	h.gateway("desk")
	first := launch(t).open(t, "zh-CN")
	first.signsIn(h, "登录")
	const password = "correct horse battery 42 staple"
	first.goes(h.at("../../me"), http.StatusOK)
	first.fills("password", password)
	first.presses(first.word("set_password"))
	first.goes(h.at("channels/desk/edit"), http.StatusOK)
	second := first.beside()
	second.goes(h.at("channels/desk/edit"), http.StatusOK)
	for i, tab := range []*tab{first, second} {
		tab.do(chromedp.SetAttributeValue(chromedp.CSS("main form details:has(#title)"), "open", ""))
		tab.fills("title", []string{"第一个标题", "第二个标题"}[i])
		tab.presses(tab.word("store"))
		tab.forgets() // the status of a form that is refused
	}
	first.says(first.word("stored"), "第一个标题")
	second.says(second.word("moved_channel"), second.word("stored_now"), "第一个标题")
	second.presses(second.word("store"))
	second.says(second.word("stored"))
	if ch, err := h.api.Channels.Get(t.Context(), "desk"); err != nil || ch.Title != "第二个标题" {
		t.Errorf("the channel is called %q, %v", ch.Title, err)
	}

	first.goes(h.at("compose?channel=desk"), http.StatusOK)
	first.fills("to", "li.na")
	first.fills("text", "今晚 18:00 起请值班")
	if _, err := h.api.People.SignOut(t.Context(), "admin"); err != nil {
		t.Fatal(err)
	}
	first.presses(first.word("look_first"))
	first.says(first.word("form_kept"))
	first.fills("name", "admin")
	first.fills("password", password)
	first.presses("登录")
	first.says(first.word("form_kept_title"), "今晚 18:00 起请值班")
	first.presses(first.word("form_kept_send"))
	first.says("今晚 18:00 起请值班", "curl")
	first.forgets() // the status of the answer to a form without a session
}

// The other language shows a refused form with what was typed in it, but for the secret.
func TestALanguageKeepsWhatIsTyped(t *testing.T) {
	wholeOnly(t)
	h := open(t)
	tab := launch(t).open(t, "zh-CN")
	tab.signsIn(h, "登录")
	tab.goes(h.at("drivers/webhook"), http.StatusOK)
	tab.fills("name", "hook")
	tab.fills("config.url", "https://example.com/in")
	tab.fills("config.secret", "short")
	tab.do(discard(chromedp.Evaluate[bool](`document.querySelector("#tries").value = "5000"; true`)))
	tab.presses("保存")
	tab.forgets() // the status of a form that is refused
	tab.follows(discard(chromedp.Click(chromedp.CSS("#other-language"))))
	tab.says("Tries and unknown outcomes")
	if !tab.is(`document.querySelector("#name").value === "hook" && document.querySelector("#tries").value === "5000" && document.querySelector("[name='config.url']").value === "https://example.com/in" && document.querySelector("[name='config.secret']").value === ""`) {
		t.Errorf("the form in English has lost what was typed in Chinese, or kept the secret:\n%s", tab.text())
	}
	if !tab.is(`document.querySelector("#tries").closest("details").open && sessionStorage.getItem("typed") === null`) {
		t.Error("what was typed is folded away, or stays in the browser")
	}
}
