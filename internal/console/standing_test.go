package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/wire"
)

// addresses are lines of a file of so many people.
func addresses(n int) string {
	var b strings.Builder
	b.WriteString("address\n")
	for i := range n {
		fmt.Fprintf(&b, "a%d\n", i)
	}
	return b.String()
}

// chinese asks for a page in Chinese.
func chinese(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }

// A campaign whose channel is paused says so, why and until when; and the overview says that it stands still: its members wait in no lane.
func TestACampaignOfAPausedChannelSaysWhyItStandsStill(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	const at = "/console/t/default/"
	h.api("PUT", "/v1/channels/out", `{"driver":"discard","limits":[{"max":10,"per":"1m"}]}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"out","content":{"text":"x"}}`, nil)
	h.api("POST", "/v1/campaigns/spring/members?final=true&format=csv", addresses(300), nil)
	h.api("POST", "/v1/campaigns/spring/start", `{}`, nil)
	h.shows(h.page("viewer", at), `<a href="/console/t/default/campaigns/spring">spring</a></td>`) // it sends, and is no matter
	if page := h.page("viewer", at); strings.Contains(page, "stands still") {
		t.Errorf("a campaign that sends is said to stand still:\n%s", page)
	}

	until := time.Now().Add(time.Hour).UTC()
	h.api("POST", "/v1/channels/out/pause", fmt.Sprintf(`{"reason":"the provider is moved","until":%q}`, until.Format(time.RFC3339)), nil)
	page := h.page("viewer", at+"campaigns/spring", chinese)
	_, why, _ := strings.Cut(page, "当前发不出去：")
	why, _, _ = strings.Cut(why, "</p>")
	h.shows(why, "渠道 out 已暂停：the provider is moved", "直到 "+until.In(time.FixedZone("", 8*3600)).Format("2006-01-02 15:04:05"))
	if strings.Contains(page, "开始时间") {
		t.Error("the end of the pause is called the beginning of the campaign")
	}
	page = h.page("viewer", at)
	h.shows(page, `<a href="/console/t/default/campaigns/spring">spring the campaign stands still; not sent yet: `, `<td>300</td>`, "</a> <small>the channel out is paused: the provider is moved</small></li>")
	if strings.Contains(page, "Nothing waits.") {
		t.Error("nothing waits, the overview says of a campaign with members whom nothing was sent")
	}
}

// The overview says that a campaign stands still where none of its accounts may send, and where its brake has paused it, with the reason of the
// campaign's page. One that a person paused, and what passes within seconds, are no matter.
func TestTheOverviewSaysWhyCampaignsStandStill(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	const at = "/console/t/default/"
	h.fleet("https://example.com")
	for _, name := range []string{"a", "b"} {
		h.api("PUT", "/v1/channels/fleet/accounts/"+name, `{"config":{"agent_id":7,"secret":"s"}}`, nil)
		h.api("POST", "/v1/channels/fleet/accounts/"+name+"/pause", `{"reason":"moved"}`, nil)
	}
	h.api("PUT", "/v1/channels/out", `{"driver":"discard","limits":[{"max":1,"per":"1h"}]}`, nil)
	for name, channel := range map[string]string{"spring": "fleet", "summer": "out", "autumn": "out"} {
		h.api("POST", "/v1/campaigns", `{"name":"`+name+`","channel":"`+channel+`","content":{"text":"x"}}`, nil)
		h.api("POST", "/v1/campaigns/"+name+"/members?final=true&format=csv", addresses(30), nil)
		h.api("POST", "/v1/campaigns/"+name+"/start", `{}`, nil)
	}
	for _, name := range []string{"summer", "autumn"} {
		h.api("POST", "/v1/campaigns/"+name+"/pause", `{}`, nil)
	}
	const braked = "brake: 9 of 10 have failed"
	h.exec("UPDATE posthouse_campaigns SET reason = '" + braked + "' WHERE name = 'summer'") // as the steward pauses it
	page := h.page("viewer", at, chinese)
	matter := func(campaign string) string {
		_, after, _ := strings.Cut(page, `<li><a href="`+at+"campaigns/"+campaign+`">`)
		text, _, _ := strings.Cut(after, "</li>")
		return text
	}
	const stands = " 群发任务停滞，未发送： "
	for name, why := range map[string]string{"spring": "2 个账号都不能发送", "summer": "已自动暂停：10 人中有 9 人失败，超过熔断比例"} {
		if got := matter(name); !strings.HasPrefix(got, name+stands) || !strings.Contains(got, why) {
			t.Errorf("of %s the overview says %q, want %q", name, got, why)
		}
		_, text, _ := strings.Cut(matter(name), "<small>")
		text, _, _ = strings.Cut(text, "</small>")
		h.shows(h.page("viewer", at+"campaigns/"+name, chinese), text)
	}
	if got := matter("autumn"); got != "" {
		t.Errorf("a campaign that a person paused is a matter: %q", got)
	}
}

// A campaign that does not start because records lack a variable says so at the box that starts it all the same, and what was typed stays.
func TestWhatSpeaksAgainstAStartStandsAtItsBox(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	const at = "/console/t/default/campaigns/spring"
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("PUT", "/v1/templates/coupon", `{"text":"Hello ${name}"}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"out","template":"coupon"}`, nil)
	h.api("POST", "/v1/campaigns/spring/members?final=true&format=csv", "address,name\na1,Li Na\na2,\n", nil)
	form := url.Values{"state": {"ready"}, "here": {at + "/plan"}, "click": {"c"}, "note": {"approved by Wang"}}
	for _, lang := range []string{"zh-CN", "en"} {
		in := func(r *http.Request) { r.Header.Set("Accept-Language", lang) }
		got := h.ask("sender", h.ask("sender", at+"/start", form, in).to(), nil, in)
		beside(t, "start", "force", lang, got)
		h.shows(got.body, `value="approved by Wang"`)
		if got.status != http.StatusUnprocessableEntity {
			t.Errorf("the answer is %d", got.status)
		}
	}
	form.Set("force", "1")
	form.Del("click")
	form.Del("here")
	if got := h.ask("sender", at+"/start", form); got.to() != at+"?said=changed_said" {
		t.Errorf("started all the same: %d\n%s", got.status, got.body)
	}
	if got := h.ask("sender", at+"/start", form); got.status != http.StatusConflict {
		t.Errorf("started twice: %d", got.status)
	}
}

// An estimate promises no more than the limits of the channel allow: neither the plan, nor the page of a campaign whose first window was filled at once.
func TestAnEstimateHoldsTheLimitsOfTheChannel(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	const at = "/console/t/default/campaigns/spring"
	h.api("PUT", "/v1/channels/out", `{"driver":"discard","limits":[{"max":1,"per":"1m"}]}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"out","content":{"text":"x"}}`, nil)
	h.api("POST", "/v1/campaigns/spring/members?final=true&format=csv", addresses(300), nil)
	plan := h.page("sender", at+"/plan", chinese)
	h.shows(plan, "<dd>约 5 小时</dd>", "<span>最多 15 / 15 分钟</span>")
	_, axis, _ := strings.Cut(plan, `<p class="axis">`)
	axis, _, _ = strings.Cut(axis, "</p>")
	if times := regexp.MustCompile(`<span>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d</span>`).FindAllString(axis, -1); len(times) != 2 || times[0] >= times[1] {
		t.Errorf("the chart goes from and to %q:\n%s", times, axis)
	}

	h.api("POST", "/v1/campaigns/spring/start", `{}`, nil)
	var c wire.Campaign
	if h.api("GET", "/v1/campaigns/spring", "", &c); c.Progress.Left.Std() < 290*time.Minute || c.Progress.Left.Std() > 300*time.Minute {
		t.Errorf("of %+v are left %s, want what their windows take", c.Progress.CampaignCounts, c.Progress.Left)
	}
}

// A campaign with a text of its own says so, its counts of nobody are grey, and what is wrong with its plan is named as the forms do.
func TestTheWordsOfACampaign(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	const at = "/console/t/default/campaigns/spring"
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"out","own_text":{"text":"您需支付 ${sum}"}}`, nil)
	h.api("POST", "/v1/campaigns/spring/members?final=true&format=csv", "address,sum\na1,10\na2,\n", nil)
	plan := h.page("sender", at+"/plan", chinese)
	h.shows(plan, "受众：</span>前 2 人中有 1 人无法发送；a2：变量 sum 没有取值")
	if strings.Contains(plan, "<code>people</code>") {
		t.Error("the plan names people in English")
	}
	h.shows(h.page("sender", at+"/plan"), "People: </span>1 of the first 2 cannot be sent to")
	h.api("POST", "/v1/campaigns/spring/start", `{"force":true}`, nil)
	page := h.page("viewer", at, chinese)
	h.shows(page, "<dd>自己的文本</dd>", `<dt>已送达</dt><dd class="zero">0</dd>`, `<dt>已过期</dt><dd class="zero">0</dd>`, `<dt>未知</dt><dd class="zero">0</dd>`)
	if strings.Contains(page, "campaign:01") {
		t.Error("the page names the template that nobody has named")
	}
	if got := h.ask("sender", at+"/content", nil); got.to() != at {
		t.Errorf("what is said by a campaign that has begun: %d, to %q", got.status, got.to())
	}
}

// The pages of an account name it and its channel, and lead to what was changed of it alone, also to its pauses.
func TestAnAccountsPagesNameItAndItsChanges(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.fleet("https://example.com")
	const at = "/console/t/default/channels/fleet/"
	for _, name := range []string{"a1", "b2"} {
		h.api("PUT", "/v1/channels/fleet/accounts/"+name, `{"config":{"agent_id":7,"secret":"s"}}`, nil)
		h.api("POST", "/v1/channels/fleet/accounts/"+name+"/pause", `{"reason":"moved `+name+`"}`, nil)
	}
	page := h.page("admin", at+"accounts/a1")
	h.shows(page, "<title>a1 · fleet · ", `<a href="/console/t/default/channels/fleet">fleet</a></li><li><span aria-current="page">a1</span>`)
	h.shows(h.page("admin", at+"accounts/a1/edit"), "<title>a1 · fleet · ")
	h.shows(h.page("admin", at+"new-account"), "<title>fleet · New account · ")
	link := regexp.MustCompile(`href="([^"]*audit[^"]*account=a1[^"]*)"`).FindStringSubmatch(page)
	if link == nil {
		t.Fatalf("the page leads to no changes of a1:\n%s", page)
	}
	changes := h.page("admin", html.UnescapeString(link[1]))
	h.shows(changes, "accounts.put", "accounts.pause", "moved a1")
	if strings.Contains(changes, "moved b2") {
		t.Error("the changes of another account stand among those of a1")
	}
	h.shows(h.page("admin", "/console/t/default/audit?about=channels&target=fleet"), "moved a1", "moved b2")
}
