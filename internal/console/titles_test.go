package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// The title of a page names what it shows: of tabs beside each other one sees no more.
func TestTitlesNameWhatPagesShow(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	for path, want := range map[string]string{
		"search?channel=later&state=pending": "待发送 · later · 查询 ·", "search": "查询 ·", "?wall=1": "大屏 · 总览 ·", "decisions": "批量处理记录 ·", "new-schedule": "新建定时 ·", "channels/later": "later · 渠道 ·",
		"attention": "待处理 ·", "attention?state=failed": "失败 · 待处理 ·", "attention?state=none": "未知 · 待处理 ·", "channels?state=halted": "停发 · 渠道 ·", "channels?state=paused": "已暂停 · 渠道 ·", "channels?state=%3Cb%3E": "渠道 ·",
		"campaigns?state=running": "进行中 · 群发任务 ·", "digests?state=waiting": "收集中 · 汇总 ·", "digests?state=": "汇总 ·", "suppressions": "禁发名单 ·", "suppressions/gone@example.com": "gone@example.com · 禁发 ·", "notifications?state=not_told": "未通知到 · 通知 ·", "notifications?held=true": "恢复后挂起 · 通知 ·", "notifications": "通知 ·", "phones?state=silent": "离线 · 发送端 ·", "phones?state=none": "发送端 ·", "drivers/webhook": "webhook · 新建渠道 ·",
	} {
		page := h.page("admin", "/console/t/default/"+path, chinese)
		_, title, _ := strings.Cut(page, "<title>")
		title, _, _ = strings.Cut(title, "</title>")
		if i := strings.Index(title, ") "); strings.HasPrefix(title, "(") && i > 0 {
			title = title[i+2:]
		}
		if !strings.HasPrefix(title, want) {
			t.Errorf("%s is called %q, want %q", path, title, want)
		}
	}
}

// The form of a new channel belongs to the channels: the menu marks them, and the way to it begins with them.
func TestTheWayToANewChannel(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	for _, path := range []string{"drivers", "drivers/webhook"} {
		page := h.page("admin", "/console/t/default/"+path)
		if h.shows(page, `href="/console/t/default/channels" aria-current="page">`); path != "drivers" {
			h.shows(page, `<ol><li><a href="/console/t/default/channels">Channels</a></li><li><span aria-current="page">webhook</span></li></ol>`)
		}
	}
}

// A page has no link to what the person may not do, and a refusal has none back to the refused page.
func TestLinksLeadWhereThePersonMayGo(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/rosters/duty", `{"days":{"1":["li.na"]}}`, nil)
	const at = "/console/t/default/"
	if page := h.page("viewer", at+"rosters/duty"); strings.Contains(page, "and a new one") || !strings.Contains(page, "rosters?all=1") {
		t.Error("a viewer is led to make a roster, or not back to the list")
	}
	h.shows(h.page("admin", at+"rosters/duty"), "and a new one")
	got := h.ask("viewer", at+"people", nil)
	if got.status != http.StatusForbidden || strings.Contains(got.body, `<a href="/console/t/default/people">`) || !strings.Contains(got.body, `<a href="/console/">Overview</a>`) {
		t.Errorf("the page that is refused: %d\n%s", got.status, got.body)
	}
}

// A recipient whom the directory does not know is named before a letter is sent.
func TestALetterNamesStrangers(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	h.api("PUT", "/v1/users", `{"users":[{"id":"li.na","name":"李娜"}]}`, nil)
	form := url.Values{"channel": {"later"}, "by": {"user"}, "to": {"li.na\nnobody.here"}, "text": {"x"}, "step": {"look"}}
	page := h.ask("admin", "/console/t/default/compose", form, chinese).body
	if h.shows(page, "通讯录中没有：", "<strong>nobody.here</strong>"); strings.Contains(page, "<strong>li.na</strong>") {
		t.Error("somebody of the directory is called a stranger")
	}
}
