package notifications_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/consoletest"
)

const at = "/console/t/default/"

// A route is made by the form, a message follows it, its page says whether the person was told, and an operator acknowledges it.
func TestARouteIsMadeAndItsNotificationAcknowledged(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.Shows(h.Page("viewer", at+"routes"), "There is no route yet")
	steps := `{"steps":[{"channels":["out"],"until":"acknowledged","within":"10m"},{"channels":["out"],"to":[{"roster":"night"}]}]}`
	if got := h.Ask("operator", at+"routes", url.Values{"name": {"night"}, "text": {steps}}); got.Status != http.StatusForbidden {
		t.Errorf("an operator makes a route: %d", got.Status)
	}
	for bad, names := range map[string]string{`{"steps":[]}`: "steps", `{"step":1}`: "step", `{`: "text", `{"steps":[{"channels":["none"]}]}`: "steps[0].channels[0]"} {
		got := h.Ask("admin", at+"routes", url.Values{"name": {"night"}, "text": {bad}})
		if got.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", bad, got.Status)
		}
		h.Shows(got.Body, `data-problem="`+names+`"`, `aria-invalid="true"`)
	}
	if got := h.Ask("admin", at+"routes", url.Values{"name": {"night"}, "text": {steps}}); got.To() != at+"routes/night?said=stored" {
		t.Fatalf("a route is made: %d %s", got.Status, got.Body)
	}
	h.Shows(h.Page("viewer", at+"routes/night"), "acknowledged", "10m", "night", "the message&#39;s recipients")
	var sent posthouse.Accepted
	h.API("PUT", "/v1/users", `{"users":[{"id":"zhang","name":"张三"}]}`, nil)
	h.API("POST", "/v1/messages", `{"route":"night","to":[{"user":"zhang"}],"content":{"text":"x"}}`, &sent)
	page := at + "notifications/" + posthouse.DeliveryID(sent.ID, 1)
	h.Shows(h.Page("viewer", at+"notifications"), "zhang", "waiting")
	h.Shows(h.Page("viewer", at+"messages/"+sent.ID), "zhang", "waiting")
	if got := h.Ask("viewer", page+"/ack", url.Values{"by": {"zhang"}}); got.Status != http.StatusForbidden {
		t.Errorf("a viewer acknowledges: %d", got.Status)
	}
	if got := h.Ask("operator", page+"/ack", url.Values{"by": {"张三"}, "note": {"by telephone"}}); got.To() != page+"?said=changed_said" {
		t.Fatalf("an operator acknowledges: %d %s", got.Status, got.Body)
	}
	h.Shows(h.Page("viewer", page), "Yes: acknowledged by", "zhang", "by telephone")
	h.Shows(h.Page("viewer", page, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }), "已知晓，确认人")
	h.Shows(h.Page("viewer", at+"notifications?state=acknowledged"), "zhang")
	h.Shows(h.Page("viewer", at+"notifications?person=zhang&route=night&since=1h"), "zhang knew at", "acknowledged by API, command or console", `href="?person=zhang&amp;since=1h"`)
	h.Shows(h.Page("viewer", at+"notifications?person=张三&route=night&since=1h"), "zhang knew at")
	h.Shows(h.Page("viewer", at+"notifications?person=nobody"), "There is no notification", "no user of this id or name: nobody")
	h.Shows(h.Page("viewer", at+"notifications?person=zhang&by=2020-01-01T03:10"), "There is no notification")
	h.Shows(h.Page("viewer", at+"notifications?route=day"), "There is no notification")
	h.Shows(h.Page("viewer", at+"notifications?person=zhang&by=03:10"), `name="by" value="20`, `T03:10"`)
	if got := h.Ask("viewer", at+"notifications?person=zhang&by=nonsense&since=ever", nil); got.Status != http.StatusUnprocessableEntity {
		t.Errorf("times that are none are taken: %d", got.Status)
	} else {
		h.Shows(got.Body, "want a time such as 2026-10-01T08:30", "want a duration such as 24h")
	}
	ahead := time.Now().Add(48 * time.Hour).Format("2006-01-02T15:04")
	if got := h.Ask("viewer", at+"notifications?person=zhang&by="+ahead, nil); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "which lies ahead: want a time that has come, such as 2026-10-01T08:30") {
		t.Errorf("what zhang will know by %s is told: %d", ahead, got.Status)
	}
	tag := consoletest.Hidden(h.Page("admin", at+"routes/night"), "tag")
	shorter := strings.Replace(steps, "10m", "5m", 1)
	if got := h.Ask("admin", at+"routes/night", url.Values{"text": {shorter}, "tag": {tag}}); got.To() != at+"routes/night?said=stored" {
		t.Errorf("a route is changed: %d %s", got.Status, got.Body)
	}
	late := h.Ask("admin", at+"routes/night", url.Values{"text": {strings.Replace(steps, "10m", "20m", 1)}, "tag": {tag}})
	if late.Status != http.StatusConflict {
		t.Errorf("a page that was drawn before: %d", late.Status)
	}
	h.Shows(late.Body, "Somebody else has stored a version", "&#34;within&#34;: &#34;5m&#34;", "&#34;within&#34;: &#34;20m&#34;")
	if got := h.Ask("admin", at+"routes/night/delete", url.Values{"typed": {"night"}}); got.To() != at+"routes?said=removed_said" {
		t.Errorf("a route is deleted: %d %s", got.Status, got.Body)
	}
	h.Shows(h.Ask("admin", at+"routes/night", url.Values{"text": {shorter}, "tag": {tag}}).Body, "was deleted since you opened the page")
	if got := h.Ask("viewer", at+"routes/night", nil); got.Status != http.StatusNotFound {
		t.Errorf("what was deleted was made anew: %d", got.Status)
	}
}

// A step for the managers of the recipients says so.
func TestARouteShowsItsManagers(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.API("PUT", "/v1/routes/up", `{"steps":[{"channels":["out"],"until":"acknowledged","within":"10m"},{"channels":["out"],"to":[{"manager":1}],"until":"acknowledged","within":"10m"},{"channels":["out"],"to":[{"manager":2}]}]}`, nil)
	h.Shows(h.Page("viewer", at+"routes/up"), "<div>the recipient&#39;s manager</div>", "<div>the recipient&#39;s manager · level 2</div>")
}

// A preview says who would get what when, in both languages, and what is wrong with the message stands beside its field.
func TestAPreviewOfARouteIsLookedAt(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.API("PUT", "/v1/routes/night", `{"steps":[{"channels":["out"],"until":"acknowledged","within":"10m"},{"channels":["out"],"to":[{"user":"li.na"}]}]}`, nil)
	h.API("POST", "/v1/suppressions", `{"address":"gone","channel":"out","reason":"has left"}`, nil)
	page := at + "routes/night/preview"
	chinese := func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }
	h.Shows(h.Page("viewer", at+"routes/night"), page)
	h.Shows(h.Page("viewer", page), "Say whom a message is for", "Recipients, one a line")
	h.Shows(h.Page("viewer", page, chinese), "填写收件人和消息的情况")
	day := time.Now().Add(72 * time.Hour).Format(time.DateOnly)
	form := url.Values{"to": {"zhang.san\n"}, "by": {"user"}, "kind": {"news"}, "priority": {"high"}, "not_before": {day + "T03:04"}, "text": {"x"}}
	h.Shows(h.Ask("viewer", page, form).Body, "zhang.san", "li.na", day+" 03:04", day+" 03:14", "after 10m<", ">would be sent<", `value="`+day+`T03:04"`, `value="high" selected`)
	h.API("PUT", "/v1/channels/later", `{"driver":"discard","quiet_hours":[{"from":"22:00","to":"07:00"}]}`, nil)
	h.API("PUT", "/v1/routes/late", `{"steps":[{"channels":["later"]}]}`, nil)
	tight := url.Values{"to": {"zhang.san\n"}, "by": {"user"}, "kind": {"news"}, "not_before": {day + "T03:04"}, "deadline": {day + "T05:00"}, "text": {"x"}}
	h.Shows(h.Ask("viewer", at+"routes/late/preview", tight).Body, "quiet hours last until "+day+" 07:00:00, and its deadline comes before")
	h.Shows(h.Ask("viewer", at+"routes/late/preview", tight, chinese).Body, "免打扰时段到 "+day+" 07:00:00 才结束，晚于它的截止时间")
	gone := url.Values{"to": {"gone"}, "by": {"address"}, "text": {"x"}}
	h.Shows(h.Ask("viewer", page, gone).Body, "would not be sent", "address_suppressed", "has left", "li.na")
	h.Shows(h.Ask("viewer", page, gone, chinese).Body, "不会发送", "地址在禁发名单中")
	for field, form := range map[string]url.Values{
		"to": {"text": {"x"}}, "content": {"to": {"u"}}, "payload": {"to": {"u"}, "text": {"x"}, "payload": {"{"}}, "not_before": {"to": {"u"}, "text": {"x"}, "not_before": {"soon"}},
		"priority": {"to": {"u"}, "text": {"x"}, "priority": {"urgent"}},
	} {
		got := h.Ask("viewer", page, form, chinese)
		if got.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", field, got.Status)
		}
		h.Shows(got.Body, `data-problem="`+field+`"`, `aria-invalid="true"`)
	}
	if got := h.Ask("viewer", at+"routes/none/preview", nil); got.Status != http.StatusNotFound {
		t.Errorf("the preview of a route that is not there: %d", got.Status)
	}
}

// The page of a notification whose alert is resolved says so, and since when.
func TestANotificationOfWhatIsResolvedSaysSo(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.API("PUT", "/v1/routes/night", `{"steps":[{"channels":["out"],"until":"acknowledged","within":"10m"}]}`, nil)
	var front struct{ Path, Token string }
	h.API("PUT", "/v1/fronts/alerts", `{"kind":"alertmanager","route":"night","to":[{"user":"zhang"}]}`, &front)
	for _, status := range []string{"firing", "resolved"} {
		h.API("POST", front.Path+"/"+front.Token, `{"version":"4","groupKey":"disk","status":"`+status+`","groupLabels":{},"commonLabels":{},"commonAnnotations":{},
			"alerts":[{"status":"`+status+`","labels":{"alertname":"Disk"},"annotations":{},"startsAt":"2026-11-27T05:00:00Z","fingerprint":"1"}]}`, nil)
	}
	var list struct{ Items []posthouse.Notification }
	h.API("GET", "/v1/notifications", "", &list)
	if len(list.Items) != 1 || list.Items[0].ResolvedAt.IsZero() {
		t.Fatalf("the notifications are %+v", list.Items)
	}
	page := at + "notifications/" + list.Items[0].ID
	h.Shows(h.Page("viewer", page), "resolved at <time")
	h.Shows(h.Page("viewer", page, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }), "已恢复，时间 <time")
}

// What a new epoch holds stands on the list and on its page, where an operator lets it go on.
func TestAHeldNotificationIsLetGo(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.API("PUT", "/v1/routes/night", `{"steps":[{"channels":["out"],"until":"acknowledged","within":"10m"}]}`, nil)
	var sent posthouse.Accepted
	h.API("POST", "/v1/messages", `{"route":"night","to":[{"user":"zhang"}],"content":{"text":"x"}}`, &sent)
	page := at + "notifications/" + posthouse.DeliveryID(sent.ID, 1)
	if got := h.Page("operator", at+"notifications"); strings.Contains(got, "held=true") {
		t.Error("the list speaks of a restore that was none")
	}
	h.Exec("UPDATE posthouse_plans SET held = 'epoch_hold', next_at = 0, version = version + 1 WHERE type = 'notification'")
	h.Shows(h.Page("viewer", at+"notifications"), "The database was restored", `href="?held=true"`)
	h.Shows(h.Page("viewer", at+"notifications?held=true"), "zhang")
	h.Shows(h.Page("operator", page, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }), "这条通知已挂起", "继续通知")
	if got := h.Ask("viewer", page+"/resume", url.Values{}); got.Status != http.StatusForbidden {
		t.Errorf("a viewer lets it go: %d", got.Status)
	}
	if got := h.Ask("operator", page+"/resume", url.Values{"note": {"nobody has heard of it"}}); got.To() != page+"?said=changed_said" {
		t.Fatalf("an operator lets it go: %d %s", got.Status, got.Body)
	}
	h.Shows(h.Page("viewer", at+"notifications?held=true"), "There is no notification")
	if got := h.Page("operator", page); strings.Contains(got, "is held") {
		t.Error("it is held still")
	}
}
