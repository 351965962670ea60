package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

// A night in one go: a channel is made by form and tested, what was sent over it fails because its body lacks the recipient, the
// body is put right and the delivery sent again; another one, of which nobody knows whether it arrived, gets a person's word. In
// the morning a roster is made of somebody's calendar, and a campaign is run.
func TestStory(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	h := open(t)
	tab := b.open(t, "zh-CN")
	tab.signsIn(h, "登录")
	tab.goes(h.at("channels"), http.StatusOK)
	tab.presses("新建渠道")
	tab.goes(h.at("drivers/httpapi"), http.StatusOK)
	tab.fills("name", "desk")
	tab.fills("config.url", h.simulator+"/tianyuan/api/message/send")
	tab.fills("config.body", `{"content": "${text}", "msgId": "${idempotency_key}"}`)
	tab.fills("config.success_path", "$.code")
	tab.fills("config.success_values", "0")
	tab.fills("config.message_path", "$.msg")
	tab.fills("config.codes", "1003: request")
	tab.opens("重试与结果未知")
	tab.fills("tries", "1")
	tab.picks("on_unknown", "hold")
	tab.presses("保存")
	tab.says("已保存", "httpapi")

	tab.opens("测试")
	tab.fills("to", "li.na")
	tab.presses("发出测试")
	tab.says("li.na", "1003")

	tab.chooses("发送")
	tab.picks("channel", "desk")
	tab.fills("to", "li.na")
	tab.fills("text", "今晚 18:00 起请值班")
	tab.presses("先预览")
	tab.says("curl", "今晚 18:00 起请值班")
	tab.presses("确认发送")
	tab.says("已受理")
	failed := h.settled(client.Filter{User: "li.na", States: []posthouse.State{posthouse.Failed}})
	tab.goes(h.at("attention?state=failed"), http.StatusOK)
	tab.presses(failed.ID)
	tab.says("最终失败")

	tab.goes(h.at("channels/desk/edit"), http.StatusOK)
	tab.fills("config.body", `{"touser": "${user}", "content": "${text}", "msgId": "${idempotency_key}"}`)
	tab.presses("保存")
	tab.goes(h.at("deliveries/"+failed.ID), http.StatusOK)
	tab.opens("重发")
	tab.presses("确认执行")
	tab.says("已重发，这是新的投递")
	h.settled(client.Filter{User: "li.na", States: []posthouse.State{posthouse.Sent}})
	tab.goes(h.at("search?q=li.na"), http.StatusOK)
	tab.says("已发送", "失败")

	lost := h.send(posthouse.Draft{Channel: "desk", To: []posthouse.Recipient{{User: "lost-answer"}}, Content: &posthouse.Content{Text: "到了吗"}})[0]
	tab.goes(h.at("attention"), http.StatusOK)
	tab.presses(lost.ID)
	tab.says("没有应答，结果未知")
	tab.opens("人工确认")
	tab.picture("unknown")
	tab.do(chromedp.Click(chromedp.CSS(`[name="outcome"][value="sent"]`), chromedp.NodeVisible))
	tab.fills("note", "电话里问过")
	tab.presses("确认执行")
	tab.says("确认结果已记录", "已了结：已发送")
	tab.goes(h.at("audit"), http.StatusOK)
	tab.says("电话里问过", "deliveries.resolve", "channels.put", "person:admin")
	tab.makesRoster(h)
	tab.runsCampaign(h)
}

// settled waits until a filter selects something, and returns the first.
func (h *house) settled(f client.Filter) posthouse.Delivery {
	h.Helper()
	for {
		page, err := h.api.Deliveries.List(h.Context(), f)
		if err != nil {
			h.Fatal(err)
		}
		if len(page.Items) > 0 {
			return page.Items[0]
		}
	}
}

// dutyCalendar is a calendar as somebody keeps it: nights of two people by their names, one of which the directory does not know.
func dutyCalendar() string {
	monday := time.Now().AddDate(0, 0, -(int(time.Now().Weekday())+6)%7)
	day := func(n int) string { return monday.AddDate(0, 0, n).Format("20060102") }
	return strings.Join([]string{
		"BEGIN:VCALENDAR", "VERSION:2.0",
		"BEGIN:VEVENT", "UID:1", "DTSTART;VALUE=DATE:" + day(0), "RRULE:FREQ=WEEKLY;BYDAY=MO,WE,FR", "EXDATE;VALUE=DATE:" + day(9), "SUMMARY:值班：李娜", "END:VEVENT",
		"BEGIN:VEVENT", "UID:2", "DTSTART;VALUE=DATE:" + day(1), "RRULE:FREQ=WEEKLY;BYDAY=TU,TH,SA", "SUMMARY:值班：小王", "END:VEVENT",
		"BEGIN:VEVENT", "UID:3", "DTSTART;VALUE=DATE:" + day(9), "SUMMARY:值班：小王", "END:VEVENT",
		"END:VCALENDAR", "",
	}, "\r\n")
}

// makesRoster makes a roster of a calendar: who is meant by a name that the directory does not know is said, and what will be is looked at.
func (t *tab) makesRoster(h *house) {
	t.Helper()
	if _, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "li.na", Name: "李娜"}, posthouse.User{ID: "wang.fang", Name: "王芳"}); err != nil {
		t.Fatal(err)
	}
	t.goes(h.at("rosters"), http.StatusOK)
	t.opens(t.word("new_roster"))
	t.fills("name", "night")
	t.chooseFile("file", "duty.ics", dutyCalendar())
	t.presses(t.word("look_first"))
	t.says(map[string]string{"en": "line 14", "zh-CN": "第 14 行"}[t.language], "小王")
	t.forgets() // the answer was no
	t.fills("as", "小王=wang.fang")
	t.presses(t.word("look_first"))
	t.says(t.word("would_change"), "李娜", "王芳")
	t.presses(t.word("confirm"))
	t.says(t.word("stored"), t.word("duty_now"), "李娜", "王芳")
	t.picture("roster")
	r, err := h.api.Rosters.Get(h.Context(), "night")
	if err != nil || len(r.Days) != 6 || len(r.Overrides) != 1 {
		t.Errorf("the roster is %+v, %v", r, err)
	}
}

// runsCampaign runs a campaign: what it says, who gets it, the plan with what is wrong in the file, a test, the start, and who got it.
func (t *tab) runsCampaign(h *house) {
	t.Helper()
	h.club()
	t.goes(h.at("campaigns"), http.StatusOK)
	t.presses(t.word("new_campaign"))
	t.fills("name", "spring")
	t.picks("channel", "club")
	t.picks("template", "coupon")
	t.presses(t.word("camp_make"))
	t.chooseFile("file", "people.csv", "address,name,sum\na-1,李娜,20\na-2,王芳,30\n,nobody,1\nrefuse-content,赵敏,5\na-1,李娜,20\n")
	if t.is(`typeof htmx === "object"`) { // what was found in the file moves the button down
		t.do(discard(chromedp.WaitVisible(chromedp.CSS("#guess table"))))
	}
	t.presses(t.word("camp_upload"))
	t.says(t.word("people_said"), "a-1", "李娜：减 20 元", t.word("camp_refused"), t.word("repeated"))
	t.fills("to", "a-9")
	t.presses(t.word("send_test"))
	t.says(t.word("camp_tested"))
	t.presses(t.word("camp_start") + " × 3")
	for !t.is(`document.querySelector("#live .state.done") !== null`) {
		t.goes(h.at("campaigns/spring"), http.StatusOK) // in no way but this where the page does not refresh itself
	}
	t.says(t.word("campaign_done"), "3 / 3", t.word("trouble_list"))
	t.picture("campaign")
	for address, outcome := range map[string]string{"a-2": "sent", "refuse-content": "failed", "a-7": "none_found"} {
		t.fills("address", address)
		t.presses(t.word("find"))
		t.says(t.word(outcome))
	}
}

// club is a channel to a simulated provider by addresses, and a template for it.
func (h *house) club() {
	h.Helper()
	_, _, err := h.api.Channels.Put(h.Context(), posthouse.Channel{
		Name: "club", Driver: "httpapi", ChannelSettings: posthouse.ChannelSettings{Tries: 1},
		Config: map[string]any{"url": h.simulator + "/generic/club", "body": `{"to": "${address}", "text": "${text}"}`, "id_path": "$.id"},
	})
	if err == nil {
		_, err = h.api.Templates.Put(h.Context(), posthouse.Template{Name: "coupon", Text: "${name}：减 ${sum} 元"})
	}
	if err != nil {
		h.Fatal(err)
	}
}

// A roster of a calendar and a campaign by a browser as narrow as a phone that runs no JavaScript.
func TestStoryOnAPhoneWithoutJavaScript(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	h := open(t)
	tab := b.open(t, "en")
	if _, err := chromedp.Call(tab.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	tab.do(chromedp.EmulateViewport(375, 800))
	tab.signsIn(h, "Sign in")
	tab.makesRoster(h)
	tab.runsCampaign(h)
}

// An empty installation: from the link that the server printed over the three steps of the guide to who got the first message.
func TestFirstSteps(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	for language, say := range map[string]struct{ begin, connect, reached, send, hello string }{
		"zh-CN": {"开始：三步发出第一条消息", "建渠道", "渠道可以连通模拟器。", "发送", "你好，这是来自驿站的第一条消息"},
		"en":    {"Begin: three steps to a first message", "Make the channel", "The channel reaches the simulator.", "Send it", "Hello from Posthouse"},
	} {
		t.Run(language, func(t *testing.T) {
			h := open(t)
			tab := b.open(t, language)
			tab.signsIn(h, languages[language].signIn)
			tab.goes(h.at(""), http.StatusOK)
			tab.presses(say.begin)
			tab.fills("simulator", h.simulator)
			tab.presses(say.connect)
			tab.says(say.reached)
			tab.fills("to", "张三")
			tab.picture("guide")
			tab.presses(say.send)
			tab.says(tab.word("handed_in"), say.hello)
			got := h.settled(client.Filter{User: "张三", States: []posthouse.State{posthouse.Sent}})
			tab.presses("张三") // which searches
			tab.says(tab.word("sent"))
			tab.presses(got.ID)
			tab.says(say.hello, tab.word("why"))
		})
	}
}

// The same by the keyboard alone.
func TestFirstStepsByKeyboard(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	h := open(t)
	tab := b.open(t, "en")
	tab.goes(h.link, http.StatusOK)
	enter := func() {
		t.Helper()
		tab.follows(chromedp.KeyEvent(kb.Enter))
	}
	enter() // the button has the focus
	tab.goes(h.at(""), http.StatusOK)
	tab.tabsTo("Begin: three steps to a first message")
	enter()
	tab.tabsInto("simulator")
	tab.do(write(h.simulator))
	enter()
	tab.says("The channel reaches the simulator.")
	tab.tabsInto("to")
	tab.do(write("li.na"))
	tab.tabsTo("Send it")
	enter()
	tab.says("It is handed in.")
	got := h.settled(client.Filter{User: "li.na", States: []posthouse.State{posthouse.Sent}})
	tab.tabsTo("li.na")
	enter()
	tab.tabsTo(got.ID)
	enter()
	tab.says("Why it is where it is", "Hello from Posthouse")
}
