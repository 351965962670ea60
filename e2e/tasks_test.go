package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/pquerna/otp/totp"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/posthouse/posthouse"
)

// task is something that an operator comes for, and the most clicks that it may take.
type task struct {
	name string
	most int
	does func(*tab, *house)
}

// tasks are ten of them. Each begins at the overview.
func tasks() []task {
	return []task{
		{"is all well?", 5, (*tab).looksAround},
		{"did 张三 get it?", 5, (*tab).findsZhangSan},
		{"stuck, and why?", 5, (*tab).asksWhy},
		{"pause until 08:00", 5, (*tab).pauses},
		{"resolve 30 unknown", 5, (*tab).resolves},
		{"a channel by form", 5, (*tab).makesChannel},
		{"a campaign from a GBK CSV", 9, (*tab).runsGBK},
		{"Saturday's swap", 5, (*tab).swaps},
		{"who changed the limit?", 5, (*tab).asksWho},
		{"a viewer with TOTP", 9, (*tab).addsViewer},
	}
}

// The ten tasks of an operator, in both languages, wide and as narrow as a phone: clicks are counted and printed, and no form is refused.
func TestTenTasks(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	var table strings.Builder
	fmt.Fprintf(&table, "%-28s %-6s %5s %6s %s\n", "task", "lang", "width", "clicks", "most")
	for language, words := range languages {
		h := open(t)
		h.furnishTasks()
		tab := b.open(t, language)
		tab.browser = b
		tab.signsIn(h, words.signIn)
		for _, width := range []int64{1280, 375} {
			tab.do(chromedp.EmulateViewport(width, 900))
			for _, task := range tasks() {
				h.before(task.name, width)
				tab.goes(h.at(""), http.StatusOK)
				tab.width, tab.clicks, tab.refused = width, 0, 0
				task.does(tab, h)
				fmt.Fprintf(&table, "%-28s %-6s %5d %6d %4d\n", task.name, language, width, tab.clicks, task.most)
				if tab.clicks > task.most || tab.refused > 0 {
					t.Errorf("%s, %s at %d px: %d clicks, %d refused forms; want at most %d and none", task.name, language, width, tab.clicks, tab.refused, task.most)
				}
			}
		}
	}
	t.Log("\n" + table.String())
}

// menu goes to a page by the menu, which on a phone is opened first.
func (t *tab) menu(word string) {
	t.Helper()
	if t.width < 960 {
		t.clicks++
		t.do(chromedp.Click(chromedp.CSS(".burger"), chromedp.NodeVisible))
	}
	t.chooses(t.word(word))
}

// seeks types into the field at the top and presses return.
func (t *tab) seeks(text string) {
	t.Helper()
	t.clicks++
	t.do(chromedp.Focus(chromedp.CSS(".seek input"), chromedp.NodeVisible), write(text))
	t.follows(chromedp.KeyEvent(kb.Enter))
}

// clicksOn clicks on what a selector finds; leads says that another page follows.
func (t *tab) clicksOn(selector string, leads bool) {
	t.Helper()
	t.clicks++
	click := chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible)
	if !leads {
		t.do(click)
	} else if status := t.follows(click); status >= http.StatusBadRequest {
		t.refused++
	}
}

// saturday is the next one that lies ahead in every zone.
func saturday() time.Time {
	now := time.Now().AddDate(0, 0, 2)
	return now.AddDate(0, 0, (6-int(now.Weekday())+7)%7)
}

// furnishTasks makes what the tasks are about.
func (h *house) furnishTasks() {
	h.Helper()
	h.gateway("desk")
	h.club()
	_, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "zhang.san", Name: "张三"}, posthouse.User{ID: "li.na", Name: "李娜"}, posthouse.User{ID: "wang.fang", Name: "王芳"})
	if err == nil {
		_, err = h.api.Rosters.Put(h.Context(), posthouse.Roster{Name: "night", Days: map[string][]string{"6": {"li.na"}, "7": {"wang.fang"}, "1": {"zhang.san"}, "2": {"li.na"}, "3": {"wang.fang"}, "4": {"zhang.san"}, "5": {"li.na"}}})
	}
	if err == nil { // of two, so that the menu leads to the list of them
		_, err = h.api.Rosters.Put(h.Context(), posthouse.Roster{Name: "day", Days: map[string][]string{"6": {"zhang.san"}, "7": {"zhang.san"}}})
	}
	if err == nil {
		_, _, err = h.api.Channels.Put(h.Context(), posthouse.Channel{Name: "slow", Driver: "discard", ChannelSettings: posthouse.ChannelSettings{Limits: []posthouse.Limit{{Max: 10, Per: posthouse.Duration(time.Minute)}}}})
	}
	if err != nil {
		h.Fatal(err)
	}
	h.send(posthouse.Draft{Channel: "desk", To: []posthouse.Recipient{{User: "zhang.san"}}, Content: &posthouse.Content{Text: "今晚值班"}})
}

// before puts a house into the state that a task begins with.
func (h *house) before(name string, width int64) {
	h.Helper()
	switch {
	case strings.HasPrefix(name, "stuck"):
		if _, err := h.api.Channels.Pause(h.Context(), "slow", "the provider maintains its lines"); err != nil {
			h.Fatal(err)
		}
		if _, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Channel: "slow", To: []posthouse.Recipient{{User: "stuck"}}, Content: &posthouse.Content{Text: "hello"}}); err != nil {
			h.Fatal(err)
		}
	case strings.HasPrefix(name, "resolve"):
		to := make([]posthouse.Recipient, 30)
		for i := range to {
			to[i] = posthouse.Recipient{User: fmt.Sprintf("lost-answer-%d-%d", width, i)}
		}
		h.send(posthouse.Draft{Channel: "desk", To: to, Content: &posthouse.Content{Text: "到了吗"}})
	}
}

func (t *tab) looksAround(*house) { t.says("Posthouse") }

func (t *tab) findsZhangSan(*house) {
	t.seeks("张三")
	t.says("zhang.san", t.word("sent"))
}

func (t *tab) asksWhy(h *house) {
	t.seeks("stuck")
	t.clicksOn(`main td a[href*="/deliveries/"]`, true)
	t.says(t.word("why"))
	if _, err := h.api.Channels.Resume(h.Context(), "slow"); err != nil {
		t.Fatal(err)
	}
}

func (t *tab) pauses(h *house) {
	t.menu("channels")
	t.presses("slow")
	t.opens(t.word("pause"))
	t.fills("reason", "线路检修")
	t.presses(t.word("confirm"))
	ch, err := h.api.Channels.Get(h.Context(), "slow")
	if err != nil || !ch.Paused || ch.StateUntil.IsZero() {
		t.Errorf("the channel is %+v, %v", ch, err)
	}
	if _, err := h.api.Channels.Resume(h.Context(), "slow"); err != nil {
		t.Fatal(err)
	}
}

func (t *tab) resolves(*house) {
	t.clicksOn(`main a[href*="attention?state=unknown"]`, true)
	t.clicksOn(`main input[data-all]`, false)
	if got := t.reads(`(bar => String(Math.round(bar.getBoundingClientRect().bottom) <= innerHeight && bar.querySelector("output:not([hidden]) b")?.textContent))(document.querySelector(".acts"))`); got != "30" {
		t.Errorf("the bar of what is done with those chosen is out of view, or counts %q", got)
	}
	t.clicksOn(`main [name="outcome"][value="sent"]`, false)
	t.presses(t.word("look_first"))
	t.says("30")
	t.presses(t.word("confirm"))
}

func (t *tab) makesChannel(h *house) {
	name := fmt.Sprint("hook-", t.width)
	t.menu("channels")
	t.presses(t.word("new_channel"))
	t.clicksOn(`main a[href$="/drivers/httpapi"]`, true)
	t.fills("name", name)
	t.fills("config.url", h.simulator+"/generic/hook")
	t.fills("config.body", `{"to": "${user}", "text": "${text}"}`)
	t.presses(t.word("store"))
	t.says(name)
}

// runsGBK makes a campaign of a file as Excel in China saves it.
func (t *tab) runsGBK(h *house) {
	name := fmt.Sprint("autumn-", t.width)
	text, err := simplifiedchinese.GBK.NewEncoder().String("姓名,手机号,sum,name\r\n张三,13800138000,20,张三\r\n李四,13900139000,30,李四\r\n")
	if err != nil {
		t.Fatal(err)
	}
	t.menu("campaigns")
	t.presses(t.word("new_campaign"))
	t.fills("name", name)
	t.picks("channel", "club")
	t.picks("template", "coupon")
	t.presses(t.word("camp_make"))
	t.chooseFile("file", "名单.csv", text)
	for !t.is(`document.querySelector("#guess table") !== null`) {
		t.do(chromedp.WaitReady(chromedp.CSS("#guess")))
	}
	t.says("gbk", "手机号", "13900139000")
	t.presses(t.word("camp_upload"))
	t.says("张三：减 20 元")
	t.presses(t.word("camp_start") + " × 2")
	for {
		c, err := h.api.Campaigns.Get(h.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if c.State == posthouse.CampaignDone {
			break
		}
	}
}

// swaps has Saturday's and Sunday's people take each other's duty.
func (t *tab) swaps(h *house) {
	day := saturday()
	give, take := day.Format(time.DateOnly), day.AddDate(0, 0, 1).Format(time.DateOnly)
	t.menu("rosters")
	for _, person := range []string{ // the one on the list of rosters, the other in the calendar of that roster
		fmt.Sprintf(`//tr[.//time[@datetime=%q]]//a[contains(@href, "/rosters/night?give=")]`, give),
		fmt.Sprintf(`//td[.//time[@datetime=%q]]//li//*[self::a or self::button]`, take),
	} {
		t.clicks++
		t.follows(chromedp.Click(chromedp.Search(person), chromedp.NodeVisible))
	}
	t.says(t.word("would_change"), give, take)
	t.presses(t.word("confirm"))
	on := map[bool][2]string{true: {"wang.fang", "li.na"}, false: {"li.na", "wang.fang"}}[t.width > 960] // the second swap takes the first one back
	r, err := h.api.Rosters.Get(h.Context(), "night")
	if err != nil || strings.Join(r.Overrides[give], " ") != on[0] || strings.Join(r.Overrides[take], " ") != on[1] {
		t.Errorf("the dates are %v, %v", r.Overrides, err)
	}
}

func (t *tab) asksWho(*house) {
	t.menu("audit")
	t.says("slow")
	if !strings.Contains(t.reads(`document.querySelector(".changes").textContent`), "channels.put") { // a phone shows its word alone
		t.Error("the audit log does not say that the channel was stored")
	}
}

// addsViewer adds a viewer, who comes in by the link in a browser of their own and sets up one-time codes.
func (t *tab) addsViewer(h *house) {
	name := fmt.Sprintf("viewer.%d", t.width)
	t.menu("people")
	t.opens(t.word("person_add"))
	t.fills("name", name)
	t.fills("title", "查看者")
	t.presses(t.word("person_make"))
	link := t.reads(`document.querySelector("#made pre").innerText`)
	if !strings.HasPrefix(link, "http") {
		t.Fatalf("the link is %q", link)
	}
	other := t.browser.open(t.TB, t.language)
	other.do(chromedp.EmulateViewport(t.width, 900))
	other.goes(strings.Replace(link, t.reads(`location.origin`), h.url, 1), http.StatusOK)
	other.presses(languages[t.language].signIn)
	other.presses(t.word("codes_set_up"))
	secret := other.reads(`document.querySelector("main code").innerText`)
	code, err := totp.GenerateCode(strings.ReplaceAll(secret, " ", ""), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	other.fills("code", code)
	other.presses(t.word("codes_set_up"))
	other.says(t.word("spare_codes"))
	t.clicks, t.refused = t.clicks+other.clicks, t.refused+other.refused
	if t.width == 1280 {
		other.comesBack(h, name)
	}
}

// comesBack gives oneself a password, leaves, and signs in again by it and a recovery code, which counts once.
func (t *tab) comesBack(h *house, name string) {
	t.Helper()
	spare := strings.Fields(t.reads(`document.querySelector("main pre").innerText`))
	const password = "correct horse battery staple"
	t.goes(h.url+"/console/me", http.StatusOK)
	t.fills("password", password)
	t.presses(t.word("set_password"))
	signsIn := func(code string) {
		t.chooses(t.word("sign_out"))
		t.goes(h.url+"/console/sign-in", http.StatusOK)
		t.fills("name", name)
		t.fills("password", password)
		t.presses(t.word("sign_in"))
		t.says(t.word("code_wanted"))
		t.fills("code", code)
		t.presses(t.word("sign_in"))
	}
	signsIn(spare[0])
	t.says(t.word("overview"))
	signsIn(spare[0])
	t.forgets() // that the answer was no
	t.says(t.word("code_wrong"))
}

// reads is a text of the page.
func (t *tab) reads(expression string) string {
	t.Helper()
	text, err := chromedp.Run(t.ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
