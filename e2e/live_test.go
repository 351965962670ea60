package e2e

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

// The page of a delivery takes what becomes of it by itself: nothing jumps, what somebody has unfolded stays so, and the form that somebody has
// open keeps what was typed. The counts of the menu move on a page that does not refresh itself.
func TestADeliveryIsLive(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	h := open(t)
	h.gateway("desk")
	if _, err := h.api.Channels.Pause(t.Context(), "desk", "for now"); err != nil {
		t.Fatal(err)
	}
	sent, err := h.api.Messages.Send(t.Context(), posthouse.Draft{Channel: "desk", Kind: "shift", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := h.api.Messages.Get(t.Context(), sent.Accepted[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	tab := b.open(t, "en")
	tab.signsIn(h, languages["en"].signIn)
	beside := tab.beside()
	beside.goes(h.at("compose"), http.StatusOK)
	beside.until(`document.getElementById("count-channels").textContent === "1"`)
	tab.goes(h.at("deliveries/"+m.Deliveries[0].ID), http.StatusOK)
	tab.do(chromedp.EmulateViewport(375, 600))
	tab.opens("Cancel the message")
	tab.is(`(document.querySelector("#decide-cancel [name=note]").value = "typed") !== ""`)
	drawn := tab.reads(`document.querySelector("#live h2 time").textContent`)
	if _, err := h.api.Channels.Resume(t.Context(), "desk"); err != nil {
		t.Fatal(err)
	}
	h.settled(client.Filter{User: "li.na", States: []posthouse.State{posthouse.Sent}})
	if tab.reads(`document.querySelector("#decide-cancel [name=note]").value`) != "typed" || tab.reads(`document.querySelector("#live h2 time").textContent`) != drawn {
		t.Error("a form that somebody fills in is drawn anew")
	}
	tab.is(`(document.getElementById("decide-cancel").open = false, document.getElementById("support").open = true, scrollTo(0, 120), true)`)
	tab.until(`document.querySelector("h1 .state").textContent === "sent"`)
	if !tab.is(`document.getElementById("support").open && scrollY === 120`) {
		t.Error("the page has jumped, or what was unfolded is folded")
	}
	beside.until(`document.getElementById("count-channels").hidden`)
}
