package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/rule"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// languages are what a browser asks for, with the words of the button that signs in and of the page of an address that is not there.
var languages = map[string]struct{ signIn, nowhere string }{
	"zh-CN": {"登录", "这里没有内容"},
	"en":    {"Sign in", "There is nothing here"},
}

// pages are those of a tenant.
var pages = []string{
	"", "?wall=1", "goto", "goto?q=li", "?span=day", "?span=week", "?span=quarter", "start", "search", "compose", "attention", "attention?state=failed", "channels", "drivers", "drivers/httpapi", "drivers/webhook", "campaigns", "new-campaign", "templates",
	"presets", "rosters", "directory", "directory?lacks=*", "phones", "tasks", "reminders", "decisions", "search?account=a1&since=24h", "outbox", "audit", "keys", "people", "people/admin", "system", "settings", "doctor", "new-template", "subscriptions", "tenants", "tenants/default", "new-tenant", "routes", "notifications", "digests", "suppressions", "suppressions/gone@example.com", "quiet", "fronts", "new-schedule", "presets/dingtalk_robot",
	"../../me", "../../me/totp", // outside of tenants
}

// Each page, empty and full, in both languages: wide, and as narrow as a phone, where nothing but tables goes beyond the edge.
// The browser complains about none: nothing is refused by the policy of contents, missing, or thrown.
func TestEveryPage(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	for language, words := range languages {
		t.Run(language, func(t *testing.T) {
			h := open(t)
			tab := b.open(t, language)
			tab.signsIn(h, words.signIn)
			tab.visits(h, pages)
			visited := append([]string{}, pages...)
			visited = append(visited, h.furnish()...)
			tab.visits(h, visited)
			tab.goes(h.at("deliveries/none"), http.StatusNotFound)
			tab.says(words.nowhere)
			tab.forgets() // that it did not load
			tab.do(chromedp.EmulateViewport(375, 800))
			tab.visits(h, visited)
		})
	}
}

// signsIn goes in by the link.
func (t *tab) signsIn(h *house, button string) {
	t.Helper()
	t.goes(h.link, http.StatusOK)
	t.presses(button)
}

// visits opens pages, and looks whether they go beyond the edge.
func (t *tab) visits(h *house, pages []string) {
	t.Helper()
	for _, page := range pages {
		t.goes(h.at(page), http.StatusOK)
		ctx, end := context.WithTimeout(t.ctx, patience)
		over, err := chromedp.Run(ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
		end()
		if err != nil || over > 0 {
			t.Errorf("%q is %d pixels wider than the window, %v: %s", page, over, err, t.wide())
		}
		t.clean()
	}
}

// wide is the innermost of what goes beyond the edge of the page, for people.
func (t *tab) wide() string {
	ctx, end := context.WithTimeout(t.ctx, patience)
	defer end()
	found, err := chromedp.Run(ctx, chromedp.Evaluate[string](`(all => { const out = [...document.querySelectorAll("main *, header *")].filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !e.closest(".wide")); return out.filter(e => !out.some(o => o !== e && e.contains(o))).slice(0, 3).map(e => e.outerHTML.slice(0, 200)).join("\n") })()`))
	if err != nil {
		return err.Error()
	}
	return found
}

// furnish fills a house, and returns the pages of what is in it.
func (h *house) furnish() []string {
	h.Helper()
	h.gateway("desk")
	long := ""
	for range 400 {
		long += "很长的一句话，"
	}
	got := h.send(posthouse.Draft{Channel: "desk", Kind: "shift", Ref: "7", To: []posthouse.Recipient{{User: "li.na"}, {User: "refuse-content"}, {User: "lost-answer"}}, Content: &posthouse.Content{Title: "<script>alert(1)</script>\u202e", Text: long}})
	if _, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: "duty", Text: "Duty: ${name}"}); err != nil {
		h.Fatal(err)
	}
	if _, err := h.api.Rosters.Put(h.Context(), posthouse.Roster{Name: "night", Days: map[string][]string{"1": {"li.na", "欧阳" + strings.Repeat("很长", 18)}}, HandOver: "08:30"}); err != nil {
		h.Fatal(err)
	}
	h.calendar()
	if _, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "li.na", Name: strings.Repeat("欧阳", 40), Addresses: map[string]string{"desk": strings.Repeat("a", 200)}}, posthouse.User{ID: "wang.fang"}); err != nil {
		h.Fatal(err)
	}
	_, _, err := h.api.Channels.Put(h.Context(), posthouse.Channel{Name: "pulled", Driver: "pull"})
	if err != nil {
		h.Fatal(err)
	}
	if _, err := h.api.Agents.Add(h.Context(), posthouse.Agent{ID: "phone-1", Name: "柜台手机", Channels: []string{"pulled"}}); err != nil {
		h.Fatal(err)
	}
	if _, err := h.api.Campaigns.Create(h.Context(), wire.CampaignDraft{Name: "spring", Channel: "desk", Content: &posthouse.Content{Text: long}}); err != nil {
		h.Fatal(err)
	}
	if _, err := h.api.Campaigns.Create(h.Context(), wire.CampaignDraft{Name: "summer", Channel: "desk", Template: "duty"}); err != nil {
		h.Fatal(err)
	}
	if _, err := h.api.Campaigns.Import(h.Context(), "summer", client.Part{Final: true}, strings.NewReader("address,name\n"+strings.Repeat("a", 120)+",李娜\n,nobody\nb,\n")); err != nil {
		h.Fatal(err)
	}
	reminder, err := h.api.Reminders.Create(h.Context(), posthouse.Reminder{Draft: posthouse.Draft{Channel: "desk", Kind: "shift", Ref: "7", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: long}}, Repeat: &posthouse.Repeat{Every: posthouse.Duration(time.Hour), Max: 4}})
	if err != nil {
		h.Fatal(err)
	}
	if _, err := h.api.Tasks.Tell(h.Context(), workflow.Event{Type: workflow.TaskCreated, Task: "1001", Created: &workflow.Task{Name: strings.Repeat("过境", 40), Creator: "li.na", Nodes: []workflow.Node{{ID: "n1", Name: "n"}}}}); err != nil {
		h.Fatal(err)
	}
	h.settled(client.Filter{States: []posthouse.State{posthouse.Failed}})
	decide := wire.Decide{Outcome: wire.OutcomeReplay, Selected: wire.Selected{Channel: "desk"}, DryRun: true}
	decision, err := h.api.Decisions.Begin(h.Context(), decide)
	if err == nil {
		decide.DryRun, decide.Confirm = false, decision.Confirm
		decision, err = h.api.Decisions.Begin(h.Context(), decide)
	}
	if err != nil {
		h.Fatal(err)
	}
	for decision.State == wire.DecisionRunning {
		if decision, err = h.api.Decisions.Get(h.Context(), decision.ID); err != nil {
			h.Fatal(err)
		}
	}
	undo, err := h.api.Decisions.Undo(h.Context(), decision.ID)
	if err != nil {
		h.Fatal(err)
	}
	list := []string{"", "system", "reminders/" + reminder.ID, "tasks/1001", "decisions/" + decision.ID, "decisions/" + undo.ID, "attention?state=failed&channel=desk", "campaigns/spring", "campaigns/summer", "campaigns/summer/edit", "campaigns/summer/plan", "campaigns/summer/content", "phones/phone-1", "rosters/night", "rosters/night?view=week", "rosters/workdays", "directory/li.na", "channels/desk", "channels/desk/edit", "messages/" + posthouse.MessageID(got[0].ID), "search?q=li.na"}
	list = append(list, h.fleet()...)
	list = append(list, h.ways()...)
	for _, d := range got {
		list = append(list, "deliveries/"+d.ID)
	}
	return list
}

// calendar makes a roster that a channel names as its calendar of workdays, with a day off and a Saturday that is none.
func (h *house) calendar() {
	h.Helper()
	roster := posthouse.Roster{Name: "workdays", Days: map[string][]string{}}
	for day := range 5 {
		roster.Days[fmt.Sprint(day+1)] = []string{"work"}
	}
	off, work := saturday().AddDate(0, 0, 2).Format(time.DateOnly), saturday().Format(time.DateOnly)
	list, _, err := rule.ReadHolidays(strings.NewReader(off + ",off\n" + work + ",work\n"))
	if err == nil {
		roster, _ = list.Over(roster)
		_, err = h.api.Rosters.Put(h.Context(), roster)
	}
	if err == nil {
		_, _, err = h.api.Channels.Put(h.Context(), posthouse.Channel{Name: "calm", Driver: "discard", ChannelSettings: posthouse.ChannelSettings{QuietHours: []posthouse.QuietHours{{From: "22:00", To: "08:00", Days: posthouse.QuietDaysOff, Calendar: "workdays"}}}})
	}
	if err != nil {
		h.Fatal(err)
	}
}

// ways makes a route and what follows it, a digest that gathers, a front, a subscription, quiet hours and a key, and returns their pages.
func (h *house) ways() []string {
	h.Helper()
	must := func(err error) {
		h.Helper()
		if err != nil {
			h.Fatal(err)
		}
	}
	_, err := h.api.Routes.Put(h.Context(), posthouse.Route{Name: "night", Note: strings.Repeat("夜间先短信后电话，", 8), Steps: []posthouse.RouteStep{
		{Channels: []string{"desk"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)}, {Channels: []string{"desk"}, To: []posthouse.Recipient{{User: "wang.fang"}}}}})
	must(err)
	told, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Route: "night", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "x"}})
	must(err)
	_, err = h.api.Digests.Put(h.Context(), posthouse.Digest{Name: "evening", Cron: "0 18 * * *", TimeZone: "Asia/Shanghai", By: "kind", Note: strings.Repeat("每晚汇总", 20)})
	must(err)
	gathered, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Channel: "desk", Digest: "evening", Kind: "news", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "x"}})
	must(err)
	d, err := h.api.Deliveries.Get(h.Context(), gathered.Accepted[0].Deliveries[0].ID)
	must(err)
	_, err = h.api.Fronts.Put(h.Context(), "grafana", wire.PutFront{Kind: "grafana", FrontSettings: posthouse.FrontSettings{Channel: "desk", To: []posthouse.Recipient{{User: "li.na"}}}})
	must(err)
	sub, err := h.api.Subscriptions.Create(h.Context(), wire.NewSubscription{URL: "https://example.com/" + strings.Repeat("events/", 12), Kinds: []string{"none"}}) // nothing is told, so that no picture waits for how that ends
	must(err)
	key, err := h.api.Keys.Create(h.Context(), wire.Key{Name: strings.Repeat("calendar", 8), Scope: posthouse.ScopeRead})
	must(err)
	for i, s := range []wire.SuppressionDraft{
		{Address: "left@example.com", Reason: strings.Repeat("来电要求不再接收，", 9), Until: time.Now().AddDate(0, 1, 0)}, {Address: strings.Repeat("long", 30) + "@example.com", Channel: "desk"}, {Address: "li.na", Reason: "unsubscribed"},
	} {
		if i == 2 { // of somebody in the directory
			s.Channel = "calm"
		}
		_, err = h.api.Suppressions.Add(h.Context(), s)
		must(err)
	}
	notices, err := h.api.Notifications.List(h.Context(), "", client.Filter{})
	must(err)
	list := []string{"routes/night", "routes/night/preview", "messages/" + told.Accepted[0].ID, "digests", "digests?state=waiting", "digests/evening", "collections/" + d.Collection, "fronts/grafana", "subscriptions/" + sub.ID, "keys/" + key.ID, "channels/desk/quiet", "templates/duty", "notifications", "suppressions", "suppressions?source=api&reason=%E6%9D%A5&ends=once", "suppressions?q=li.na", "suppressions?new=a%40example.com", "suppressions/left@example.com"}
	for _, n := range notices.Items {
		list = append(list, "notifications/"+n.ID)
	}
	return list
}

// Somebody without a mouse comes in, searches, opens what was found, and passes over the menu.
func TestKeyboardAlone(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	h := open(t)
	h.gateway("desk")
	list := h.send(posthouse.Draft{Channel: "desk", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "hello"}})
	tab := b.open(t, "en")
	tab.goes(h.link, http.StatusOK)
	tab.follows(chromedp.KeyEvent(kb.Enter)) // the button has the focus
	tab.says("You are signed in")
	tab.goes(h.at("search"), http.StatusOK)
	tab.do(write("li.na"))
	tab.follows(chromedp.KeyEvent(kb.Enter))
	tab.tabsTo(list[0].ID)
	tab.follows(chromedp.KeyEvent(kb.Enter))
	tab.says("Why it is where it is")
	tab.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)), write("li.na"))
	tab.follows(chromedp.KeyEvent(kb.Enter))
	tab.says(list[0].ID)
	tab.tabsTo("To the content")
	tab.do(chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Tab))
	if !tab.is(`document.querySelector("main").contains(document.activeElement)`) {
		t.Error("the first stop after the skip link is not in the content")
	}
}

// tabsTo goes on by the tabulator until what has a text has the focus, which must be seen.
func (t *tab) tabsTo(text string) {
	t.Helper()
	t.tabsUntil(fmt.Sprintf(`document.activeElement.innerText.trim() === %q`, text), text)
}

// tabsInto goes on until a field has the focus.
func (t *tab) tabsInto(name string) {
	t.Helper()
	t.tabsUntil(fmt.Sprintf(`document.activeElement.name === %q`, name), name)
}

func (t *tab) tabsUntil(reached, what string) {
	t.Helper()
	for range 100 {
		t.do(chromedp.KeyEvent(kb.Tab))
		if t.is(reached) {
			if !t.is(`(s => s.outlineStyle !== "none" || s.boxShadow !== "none")(getComputedStyle(document.activeElement))`) {
				t.Errorf("nobody sees that %q has the focus", what)
			}
			return
		}
	}
	t.Fatalf("the keyboard does not reach %q", what)
}

// is reports whether something holds in the page.
func (t *tab) is(expression string) bool {
	t.Helper()
	ctx, end := context.WithTimeout(t.ctx, patience)
	defer end()
	yes, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
	if err != nil {
		t.Fatal(err)
	}
	return yes
}

// Without JavaScript all but what refreshes by itself works.
func TestWithoutJavaScript(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	h := open(t)
	h.gateway("desk")
	list := h.send(posthouse.Draft{Channel: "desk", To: []posthouse.Recipient{{User: "refuse-content"}}, Content: &posthouse.Content{Text: "hello"}})
	tab := b.open(t, "en")
	if _, err := chromedp.Call(tab.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	tab.signsIn(h, "Sign in")
	tab.visits(h, pages)
	tab.goes(h.at("deliveries/"+list[0].ID), http.StatusOK)
	tab.opens("Send again")
	tab.presses("Confirm")
	tab.says("It is sent again: this is the new delivery.")
	if _, err := h.api.Routes.Put(h.Context(), posthouse.Route{Name: "night", Steps: []posthouse.RouteStep{
		{Channels: []string{"desk"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)}, {Channels: []string{"desk"}, To: []posthouse.Recipient{{User: "wang.fang"}}}}}); err != nil {
		t.Fatal(err)
	}
	tab.do(chromedp.EmulateViewport(375, 800))
	tab.goes(h.at("routes/night/preview"), http.StatusOK)
	tab.fills("to", "li.na.of.the.department.of.very.long.names")
	tab.presses("Show it")
	tab.says("li.na.of.the.department", "wang.fang")
	tab.fits()
}
