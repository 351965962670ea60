package users_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/consoletest"
	"github.com/posthouse/posthouse/wire"
)

const (
	at     = "/console/t/default/directory/zhang.san"
	wishes = at + "/preferences"
)

var tagIn = regexp.MustCompile(`name="tag" value="([^"]*)"`)

// What a user wants is set by the form of the page, over what was read alone, and the audit log names the user; the page says what comes all
// the same, and why the user is left alone.
func TestWhatAUserWantsIsSetByAForm(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/sms", `{"driver":"discard","quiet_hours":[{"from":"21:00","to":"07:00","users":["13800138000"],"time_zone":"Asia/Tokyo"},{"from":"01:00","to":"02:00","users":["other"]}]}`, nil)
	h.API("PUT", "/v1/channels/mail", `{"driver":"discard"}`, nil)
	h.API("PUT", "/v1/tenants/default", `{"mandatory_kinds":["alarm"],"optional_kinds":["news","report"],"quiet_hours":[{"from":"22:00","to":"08:00","except_kinds":["otp"]}]}`, nil)
	h.API("PUT", "/v1/users", `{"users":[{"id":"li.na","name":"李娜"},{"id":"zhang.san","name":"张三","addresses":{"sms":"13800138000","mail":"z@example.com"}}]}`, nil)
	tags := func() (preferences, entry string) {
		found := tagIn.FindAllStringSubmatch(h.Page("admin", at), -1)
		return found[0][1], found[1][1]
	}
	page := h.Page("viewer", at)
	h.Shows(page, "张三", "<fieldset disabled>", "mandatory by the tenant&#39;s settings", "22:00–08:00", "the tenant, for all channels", "each channel&#39;s own", "21:00–07:00", "names this user", "Asia/Tokyo", "everything is wanted", `name="kind" value="news" checked`)
	for _, lacks := range []string{"01:00–02:00", `name="kind" value="alarm"`, wishes + `">x`} {
		if strings.Contains(page, lacks) {
			t.Errorf("the page has %q", lacks)
		}
	}
	h.Shows(h.Page("viewer", at, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }), "必收（租户设置）", "免打扰", "租户设置，全部渠道", "消息偏好")
	preferences, entry := tags()
	form := url.Values{
		"tag": {preferences}, "had_kind": {"news", "report"}, "kind": {"report"}, "had_channel": {"mail", "sms"}, "channel": {"sms", "mail"}, "off": {"report@sms\r\n@mail\r\n"}, "prefer": {"mail， sms"}, "note": {"he asked"},
	}
	bad := url.Values{"tag": {preferences}, "had_kind": {"news"}, "off": {"alarm\r\nreport@fax"}}
	got := h.Ask("admin", wishes, bad)
	h.Shows(got.Body, `data-problem="off[1].kind"`, "is mandatory", "there is no channel &#34;fax&#34;", "report@fax", `name="kind" value="news"/>`)
	if got.Status != http.StatusUnprocessableEntity {
		t.Errorf("a kind that is mandatory is switched off: %d", got.Status)
	}
	if got := h.Ask("viewer", wishes, form); got.Status != http.StatusForbidden {
		t.Errorf("a viewer chooses: %d", got.Status)
	}
	if got := h.Ask("admin", wishes, form); got.To() != at+"?said=stored" {
		t.Fatalf("choosing: %d\n%s", got.Status, got.Body)
	}
	if got := h.Ask("admin", wishes, form); got.Status != http.StatusConflict {
		t.Errorf("over what has changed meanwhile: %d", got.Status)
	}
	var p posthouse.Preferences
	h.API("GET", "/v1/users/zhang.san/preferences", "", &p)
	want := posthouse.Preferences{User: "zhang.san", By: posthouse.PreferredByOperator, Off: []posthouse.Unwanted{{Kind: "news"}, {Kind: "report", Channel: "sms"}, {Channel: "mail"}}, Prefer: []string{"mail", "sms"}}
	if diff := cmp.Diff(want, p, cmpopts.IgnoreFields(posthouse.Preferences{}, "UpdatedAt")); diff != "" {
		t.Error(diff)
	}
	h.Shows(h.Page("admin", at), `name="channel" value="mail">`, ">report@sms\n", `value="mail, sms"`, "operator or a program", "about=users&amp;target=zhang.san")

	if got := h.Ask("admin", at, url.Values{"tag": {entry}, "time_zone": {"Asia/Nowhere"}, "language": {"zh"}}); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "Asia/Nowhere") {
		t.Errorf("a zone that is none: %d", got.Status)
	}
	if got := h.Ask("admin", at, url.Values{"tag": {entry}, "time_zone": {"Asia/Shanghai"}, "language": {"zh"}, "manager": {"li.na"}}); got.To() != at+"?said=stored" {
		t.Fatalf("the entry: %d\n%s", got.Status, got.Body)
	}
	h.Shows(h.Page("admin", at), ">李娜</a>", "Asia/Shanghai <small", "the user&#39;s own", "13800138000", "z@example.com")

	var log struct{ Items []wire.AuditEntry }
	h.API("GET", "/v1/audit?action=users.*&target=zhang.san", "", &log)
	if len(log.Items) != 2 || log.Items[1].TargetName != "张三" || log.Items[1].Note != "he asked" || log.Items[1].Key != "person:admin" {
		t.Errorf("the audit log has %+v", log.Items)
	}
	h.Shows(h.Page("admin", "/console/t/default/audit?about=users&target=zhang.san"), "张三 (zhang.san)", "not wanted", "he asked")
}
