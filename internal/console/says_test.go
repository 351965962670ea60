package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/wire"
)

// On a Chinese page what is wrong with a form, why a delivery waits and what the server finds is in Chinese; on an English one in English.
func TestAPageSaysErrorsInItsLanguage(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard","limits":[{"max":1,"per":"1h"}]}`, nil)
	h.api("POST", "/v1/messages", `{"channel":"out","to":[{"user":"u1"}],"not_before":"`+time.Now().Add(24*time.Hour).UTC().Format(time.RFC3339)+`","content":{"text":"x"}}`, nil)
	h.api("POST", "/v1/channels/out/pause", `{"reason":"平台维护"}`, nil)
	one := "deliveries/" + h.deliveries("pending")[0].ID
	h.api("PUT", "/v1/channels/demo", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/channels/demo/pause", `{"reason":"closed for the demo"}`, nil)
	var key wire.NewKey
	h.api("POST", "/v1/keys", `{"name":"given at start","scope":"read"}`, &key)
	const at = "/console/t/default/"
	for _, e := range []struct {
		path   string
		form   url.Values
		zh, en string
	}{
		{one, nil, "<li>还没到定时发送的时间", "<li>not_before has not come"},
		{"drivers/webhook", url.Values{"name": {"hook"}, "config.url": {"ftp://x"}, "config.secret": {""}}, "必填，请填写", "is missing; give"},
		{"drivers/webhook", url.Values{"name": {"hook"}, "config.url": {"ftp://x"}}, "不能填 &#34;ftp://x&#34;，请填写http 或 https 地址", "is not allowed; give"},
		{"compose", url.Values{"channel": {"out"}, "text": {"x"}, "step": {"look"}}, "必填：1 至 1000 个收件人", "is required: 1 to 1000 recipients"},
		{"new-schedule", url.Values{"id": {"r"}, "via": {"out"}, "to": {"u1"}, "text": {"x"}, "cron": {"0 9 31 4 *"}, "time_zone": {"UTC"}, "step": {"look"}}, "永远不会到来", "which never comes"},
		{"suppressions", url.Values{"address": {"a@example.com"}, "channel": {"none"}}, "没有渠道 &#34;none&#34;", "there is no channel"},
		{"suppressions/import", url.Values{"csv": {"address,until\na@example.com,2001-01-01T00:00:00Z\n"}}, "已经过去", "which has passed"},
		{"attention", url.Values{"state": {"expired"}, "outcome": {"replay"}, "all": {"1"}}, "不能一次重发全部投递", "is not meant by accident"},
		{"system", nil, "已暂停：平台维护", "paused: 平台维护"},
		{"audit?since=xx", nil, "应为时间（例如", "want a time such as"},
		{"audit?about=keys", nil, "→ 启动时提供", "→ given at start"},
		{"channels/demo", nil, "<p>演示：此渠道已关闭", "<p>closed for the demo"},
	} {
		for lang, texts := range map[string][2]string{"zh-CN": {e.zh, e.en}, "en": {e.en, e.zh}} {
			got := h.ask("admin", at+e.path, e.form, func(r *http.Request) { r.Header.Set("Accept-Language", lang) })
			if !strings.Contains(got.body, texts[0]) || strings.Contains(got.body, texts[1]) {
				t.Errorf("%s in %s: %d, want %q and not %q\n%s", e.path, lang, got.status, texts[0], texts[1], got.body)
			}
		}
	}
}

// On a Chinese page the place of what is wrong is in words too, and fields have the names that they have on the form.
func TestAPageSaysWhereSomethingIsWrong(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/people/zhao.min", `{"roles":{"default":"viewer"}}`, nil)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard","limits":[{"max":1,"per":"1h"}]}`, nil)
	h.api("PUT", "/v1/channels/mail", `{"driver":"email","config":{"host":"fd12::25","from":"duty@example.com"}}`, nil)
	h.api("PUT", "/v1/rosters/night", `{"days":{"1":["li.na"]}}`, nil)
	h.api("PUT", "/v1/routes/alarm", `{"steps":[{"channels":["out"],"to":[{"user":"gone"}]}]}`, nil)
	h.api("POST", "/v1/messages", `{"channel":"out","kind":"night-shift","ref":"1","to":[{"user":"u1"},{"user":"u2"}],"content":{"text":"x"},"not_before":"`+time.Now().Add(24*time.Hour).UTC().Format(time.RFC3339)+`"}`, nil)
	for i, d := range h.deliveries("pending") {
		h.exec(`UPDATE posthouse_queue SET reason = '` + []string{"recipient", "not_on_duty"}[i] + `', last_error = 'no such user' WHERE id = '` + d.ID + `'`)
	}
	tag := found(t, h.page("admin", "/console/t/default/quiet"), `name="tag" value="([^"]+)"`)
	const at = "/console/t/default/"
	route := func(text string) url.Values {
		return url.Values{"text": {text}, "version": {"1"}, "step": {"look"}}
	}
	for _, e := range []struct {
		path string
		form url.Values
		want []string
		not  string
	}{
		{"drivers/webhook", url.Values{"name": {"x"}, "config.url": {"https://example.com/h"}, "budget": {"5/day@Mars"}}, []string{"预算：</span>"}, "time_zone<"},
		{"drivers/httpapi", url.Values{"name": {"x"}, "config.url": {"https://example.com/h"}, "egress.hosts": {"h.example.com"}, "egress.ports": {"443, 99999999"}}, []string{"允许的端口 第 2 项：</span>"}, "egress ports"},
		{"channels/mail", nil, []string{"config.host：本服务器不访问地址 fd12::25：以 --allow-networks"}, "does not call"},
		{"rosters/night", url.Values{"do": {"import"}, "csv": {"when,who\nFri,q\n"}}, []string{"第 1 行：</span>表头应为"}, "<code>line"},
		{"rosters/night", url.Values{"do": {"import"}, "csv": {"day,user\nFreitag,q\n"}}, []string{"第 2 行：</span>"}, "<code>line"},
		{"directory", url.Values{"csv": {"name\n张三\n"}}, []string{"第 1 行：</span>缺少列 id"}, "<code>line"},
		{"quiet", url.Values{"tag": {tag}, "from0": {"22:00"}, "to0": {"08:00"}, "kinds0": {"news"}, "except0": {"otp"}}, []string{"已填“消息类别”时不能再填“不含类别”"}, "kinds 已说明"},
		{"quiet", url.Values{"tag": {tag}, "max0": {"1"}, "per0": {"1h"}, "max1": {"2"}, "per1": {"1h"}}, []string{"与第 1 条频次上限相同"}, "caps[0] 相同"},
		{"quiet", url.Values{"tag": {"another"}, "max0": {"1"}, "per0": {"1h"}}, []string{">期间有其他人改过"}, "<code>version"},
		{"compose", url.Values{"channel": {"out"}, "text": {"x"}, "to": {strings.Repeat("x", 300)}, "step": {"look"}}, []string{"第 1 个收件人"}, "<code>[0]"},
		{"routes/alarm", route(`{"steps":[{"channels":["out"],"to":[{"user":"u"}],"until":"soon"}]}`), []string{"第 1 步的 until：</span>"}, "<code>steps"},
		{"routes/alarm", route("甲{}"), []string{"而不是字符 &#39;甲&#39;"}, "&#39;ç&#39;"},
		{"routes/alarm", route(`{"steps":[5]}`), []string{"是数字，应为对象"}, "应为 对象"},
		{"attention", url.Values{"state": {"unknown"}, "outcome": {"sent"}, "id": {"x"}}, []string{"若其实没有送达，系统不会再发"}, "再发会让对方收到两次"},
		{"attention", url.Values{"state": {"unknown"}, "outcome": {"retry"}, "id": {"x"}}, []string{"再发会让对方收到两次"}, "系统不会再发"},
		{"people", nil, []string{"从未登录"}, "从未连接"},
		{"search?q=night-shift%2F1", nil, []string{"收件人无效</span> <small", "不在班</span>"}, ">not_on_duty<"},
		{"routes/alarm", nil, []string{"第 1 步，第 1 个收件人：</span>"}, "<code>steps"},
	} {
		got := h.ask("admin", at+e.path, e.form, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") })
		for _, want := range e.want {
			if !strings.Contains(got.body, want) || strings.Contains(got.body, e.not) {
				t.Errorf("%s: %d, want %q and not %q\n%s", e.path, got.status, want, e.not, mainOf(got.body))
			}
		}
	}
}

// mainOf is what a page says itself.
func mainOf(page string) string {
	_, page, _ = strings.Cut(page, "<main")
	return page
}
