package e2e

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// What unfolds below the form of a campaign's people lies side by side, level.
func TestWaysToImportPeopleStandLevel(t *testing.T) {
	wholeOnly(t)
	h := open(t)
	_, _, err := h.api.Channels.Put(t.Context(), posthouse.Channel{Name: "wechat", Driver: "wechat", Config: map[string]any{"url": h.simulator + "/wechat", "app_id": "demo", "secret": "s"}})
	if err == nil {
		_, err = h.api.Campaigns.Create(t.Context(), wire.CampaignDraft{Name: "summer", Channel: "wechat", Content: &posthouse.Content{Text: "x"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	tab := launch(t).open(t, "zh-CN")
	tab.signsIn(h, "登录")
	tab.do(chromedp.EmulateViewport(1280, 900))
	tab.goes(h.at("campaigns/summer"), http.StatusOK)
	tab.says(tab.word("camp_followers"), tab.word("camp_query"))
	const tops = `[...document.querySelectorAll("main form.people ~ details.decide")].slice(0, 2).map(d => Math.round(d.firstElementChild.getBoundingClientRect().top))`
	if !tab.is(`(tops => tops.length === 2 && tops[0] === tops[1])(` + tops + `)`) {
		t.Errorf("they begin at %s", tab.reads(`String(`+tops+`)`))
	}
}
