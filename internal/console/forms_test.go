package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// A channel is made by the form that its driver's fields draw, changed without typing its secret again, and tested.
func TestAChannelIsMadeByForm(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.shows(h.page("admin", "/console/t/default/drivers"), "drivers/httpapi", "drivers/webhook")
	at := "/console/t/default/drivers/webhook"
	h.shows(h.page("admin", at), `name="config.url"`, `type="password"`, `name="config.secret"`)
	form := url.Values{"name": {"hook"}, "config.url": {"ftp://x"}, "config.secret": {"short"}, "tries": {"many"}, "limits": {"20/1s nonsense"}}
	wrong := h.ask("admin", at, form)
	if wrong.status != http.StatusUnprocessableEntity || strings.Contains(wrong.body, `value="short"`) {
		t.Errorf("a wrong form: %d", wrong.status)
	}
	h.shows(wrong.body, `value="ftp://x"`, "want a whole number", "is not a limit such as 20/1s", "give an http or https URL", "What you typed here is not kept")
	if unnamed := h.ask("admin", at, url.Values{"config.url": {"ftp://x"}, "tries": {"-1"}}); strings.Count(unnamed.body, `role="alert"`) < 4 {
		t.Errorf("a form without a name says:\n%s", unnamed.body)
	}
	form.Set("tries", "3")
	form.Set("limits", "20/1s\r\n1000/1m")
	h.shows(h.ask("admin", at, form).body, "ftp://x", `role="alert"`)
	form.Set("config.url", "https://example.com/in")
	form.Set("config.secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if got := h.ask("admin", at, form); got.to() != "/console/t/default/channels/hook?said=stored" {
		t.Fatalf("storing: %d\n%s", got.status, got.body)
	}
	if got := h.ask("admin", at, form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "There is one of this name already") {
		t.Errorf("the same name again: %d", got.status)
	}
	taken := url.Values{"name": {"hook"}, "config.url": {"ftp://x"}, "config.secret": {"short"}}
	h.shows(h.ask("admin", at, taken).body, "There is one of this name already", "give an http or https URL")
	edit := "/console/t/default/channels/hook/edit"
	page := h.page("admin", edit)
	h.shows(page, `value="https://example.com/in"`, "stored; empty keeps it", "20/1s\n1000/1m")
	if strings.Contains(page, "MfKQ9r8G") {
		t.Error("the form shows a secret")
	}
	change := url.Values{"version": {versionOf(page)}, "config.url": {"https://example.org/in"}, "tries": {"4"}, "limits": {""}}
	if got := h.ask("admin", edit, change); got.to() != "" {
		t.Errorf("another address would get the stored secret: %d to %q", got.status, got.to())
	}
	change.Set("config.url", "https://example.com/in")
	if got := h.ask("admin", edit, change); got.to() == "" {
		t.Errorf("changing: %d\n%s", got.status, got.body)
	}
	if got := h.ask("admin", edit, change); got.status != http.StatusConflict {
		t.Errorf("a second click: %d", got.status)
	}
	page = h.page("admin", edit)
	same := url.Values{"version": {versionOf(page)}, "config.url": {"https://example.com/in"}, "tries": {"4"}, "limits": {""}}
	if got := h.ask("admin", edit, same); got.to() == "" {
		t.Errorf("storing what is there: %d\n%s", got.status, got.body)
	}
	var ch posthouse.Channel
	h.api("GET", "/v1/channels/hook", "", &ch)
	if ch.Tries != 4 || len(ch.Limits) != 0 || ch.Config["secret"] == nil || ch.Version != 2 {
		t.Errorf("the channel is %+v", ch)
	}
	for _, path := range []string{"drivers/none", "channels/none/edit"} {
		if got := h.ask("admin", "/console/t/default/"+path, nil); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

// A field of names and values is a text of lines, and what the form does not have stays.
func TestAFormKeepsWhatItDoesNotShow(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/oa", `{"driver":"httpapi","max_inflight":7,"config":{"url":"https://example.com/in","body":"{}","headers":{"X-Two":"2","X-One":"1"},"codes":{"E2":"rate","E1":"recipient"}}}`, nil)
	edit := "/console/t/default/channels/oa/edit"
	page := h.page("admin", edit)
	h.shows(page, "X-One: ********\nX-Two: ********", "E1: recipient\nE2: rate")
	form := url.Values{"version": {versionOf(page)}, "config.url": {"https://example.com/in"}, "config.body": {"{}"}, "config.headers": {"X-One: ********\n\n"}, "config.success_values": {"0\nOK"}, "config.success_path": {"$.code"}, "note": {"as agreed"}}
	if got := h.ask("admin", edit, form); got.to() == "" {
		t.Fatalf("changing: %d\n%s", got.status, got.body)
	}
	var ch posthouse.Channel
	h.api("GET", "/v1/channels/oa", "", &ch)
	headers, _ := ch.Config["headers"].(map[string]any)
	values, _ := ch.Config["success_values"].([]any)
	if ch.MaxInflight != 7 || len(headers) != 1 || headers["X-One"] != "********" || len(values) != 2 || ch.Config["codes"] != nil {
		t.Errorf("the channel is %+v", ch)
	}
	var log struct{ Items []wire.AuditEntry }
	h.api("GET", "/v1/audit?target=oa&key=person:admin", "", &log)
	if len(log.Items) != 1 || log.Items[0].Note != "as agreed" {
		t.Errorf("the audit log has %+v", log.Items)
	}
}

// A form has the options of a field in words of the reader's language over the values that are stored, and folds what few need, but for a
// group in which something is set or refused.
func TestAFormIsInWordsAndFolded(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	at := "/console/t/default/drivers/httpapi"
	h.shows(h.page("admin", at), `<option value="as_written">As written`, `<option value="hold">Hold for a person</option>`, `<details class="group"><summary>Access token</summary>`, `<details class="group"><summary>Receipts</summary>`)
	chinese := func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }
	h.shows(h.page("admin", at, chinese), `<option value="as_written">按原样`, `<option value="transient">未接收，稍后重试</option>`, `<option value="">从现在起的秒数（默认）</option>`, `<option value="hold">等人处理</option>`, `<summary>访问令牌</summary>`)
	h.api("PUT", "/v1/channels/oa", `{"driver":"httpapi","tries":3,"config":{"url":"https://example.com/in","body":"{}","addresses":"phone_cn","other_codes":"rate"}}`, nil)
	edit := h.page("admin", "/console/t/default/channels/oa/edit", chinese)
	h.shows(edit, `<option value="phone_cn" selected>`, `<details class="group" open><summary>响应的更多设置`, `<details class="group"><summary>访问令牌</summary>`, `<details class="group" open><summary>重试与结果未知</summary>`, `<details class="group"><summary>网络与应答</summary>`)
	wrong := h.ask("admin", "/console/t/default/channels/oa/edit", url.Values{"version": {versionOf(edit)}, "config.url": {"https://example.com/in"}, "config.body": {"{}"}, "config.receipt_id": {"x"}})
	h.shows(wrong.body, `<details class="group" open=""><summary>Receipts</summary>`, `<details class="group"><summary>Access token</summary>`)
}

// A test shows what was sent and answered.
func TestATestShowsTheAnswer(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("short and stout"))
	}))
	t.Cleanup(provider.Close)
	h := open(t, false)
	h.api("PUT", "/v1/channels/oa", `{"driver":"httpapi","test_to":["zhang.san"],"config":{"url":"`+provider.URL+`/in","body":"{\"to\":\"${user}\"}"}}`, nil)
	if got := h.ask("operator", "/console/t/default/channels/oa/test", url.Values{"to": {"li.na"}, "text": {"hello"}}); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "test_to") {
		t.Errorf("an operator tests with a stranger: %d", got.status)
	}
	got := h.ask("operator", "/console/t/default/channels/oa/test", url.Values{"to": {"zhang.san"}, "text": {"hello"}})
	if got.status != http.StatusOK {
		t.Fatalf("testing: %d\n%s", got.status, got.body)
	}
	h.shows(got.body, `id="tried"`, "zhang.san", "state failed")
	nobody := h.ask("admin", "/console/t/default/channels/oa/test", url.Values{"title": {"T"}, "text": {"kept <b>"}})
	if nobody.status != http.StatusUnprocessableEntity || strings.Contains(nobody.body, `id="tried"`) {
		t.Errorf("a test without an address, of a channel without a check: %d", nobody.status)
	}
	h.shows(nobody.body, "This channel has no check of its own", "kept &lt;b&gt;</textarea>", `value="T"`)
}

// Pages do not use up what the tenant's programs may ask for.
func TestPagesCountAgainstNoQuota(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/tenants/default", `{"quota":{"requests":[{"max":1,"per":"1h"}]}}`, nil)
	for range 3 {
		h.page("viewer", "/console/t/default/search?q=u1")
	}
}
