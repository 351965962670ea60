package console_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/consoletest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/wire"
)

// upload sends a file by a form, behind its other fields.
func (h *house) upload(session, path, name, text string, fields ...string) reply {
	h.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			h.Fatal(err)
		}
	}
	file, err := w.CreateFormFile("file", name)
	if err == nil {
		_, err = io.WriteString(file, text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		h.Fatal(err)
	}
	return h.ask(session, path, url.Values{}, func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(&body), int64(body.Len())
		r.Header.Set("Content-Type", w.FormDataContentType())
	})
}

// From a template to a campaign that runs: what is wrong is said beside what was typed, nothing starts before a look.
func TestACampaignByForms(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello") // makes the channel
	h.api("PUT", "/v1/templates/coupon", `{"text":"Hello ${name}"}`, nil)
	const at = "/console/t/default/"
	h.shows(h.page("sender", at+"campaigns"), at+"new-campaign")
	if strings.Contains(h.page("operator", at+"campaigns"), "new-campaign") {
		t.Error("an operator is offered a form that is a sender's")
	}
	form := url.Values{"name": {"spring"}, "channel": {"later"}, "template": {"coupon"}, "payload": {"{"}, "canary": {"x"}, "deadline": {"soon"}}
	bad := h.ask("sender", at+"new-campaign", form)
	if bad.status != http.StatusUnprocessableEntity {
		t.Errorf("a wrong form: %d", bad.status)
	}
	h.shows(bad.body, "want JSON", "canary", "want a day and a time", `value="spring"`)
	for _, name := range []string{"payload", "canary", "deadline"} {
		form.Del(name)
	}
	for name, wrong := range map[string]string{"spread": "a while", "brake": "half", "failures": "few"} {
		bad := url.Values{"name": {"spring"}, "channel": {"later"}, "template": {"coupon"}, "canary": {"1"}, name: {wrong}}
		if got := h.ask("sender", at+"new-campaign", bad); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `data-problem="`+name+`"`) {
			t.Errorf("%s %q: %d\n%s", name, wrong, got.status, got.body)
		}
	}
	h.api("PUT", "/v1/channels/fetched", `{"driver":"pull"}`, nil)
	if strings.Contains(h.page("sender", at+"new-campaign"), "fetched") {
		t.Error("a channel is offered that agents fetch from")
	}
	form.Set("spread", "1s")
	form.Set("brake", "20")
	if got := h.ask("sender", at+"new-campaign", form); got.to() != at+"campaigns/spring?said=stored" {
		t.Fatalf("making it: %d\n%s", got.status, got.body)
	}
	h.shows(h.ask("sender", at+"new-campaign", form).body, "spring") // taken
	h.shows(h.page("sender", at+"campaigns/spring"), "Take the file", `type="file"`)
	var made wire.Campaign
	if h.api("GET", "/v1/campaigns/spring", "", &made); made.Spread != posthouse.Duration(time.Second) || made.Brake == nil || made.Brake.Above != 0.2 || made.Brake.After != 100 {
		t.Errorf("the rules are %v, %+v", made.Spread, made.Brake)
	}
	if strings.Contains(h.page("sender", at+"campaigns/spring"), "Take people from a database") {
		t.Error("a sender is offered a query, which takes an admin")
	}
	h.shows(h.page("admin", at+"campaigns/spring"), "Take people from a database")
	if got := h.ask("admin", at+"campaigns/spring/query", url.Values{"database": {"nowhere"}, "query": {"SELECT 1"}}); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "nowhere") {
		t.Errorf("a database that is not there: %d\n%s", got.status, got.body)
	}
	if got := h.ask("sender", at+"campaigns/spring/followers", url.Values{}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("followers of a channel that has none: %d\n%s", got.status, got.body)
	}

	if got := h.upload("sender", at+"campaigns/spring/members", "people.csv", "name;phone\nLi;1", "address", "nobody"); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "nobody") {
		t.Errorf("a column that is not there: %d\n%s", got.status, got.body)
	}
	text := "address,name\na1,Li Na\na1,Li Na again\na2,\n,nobody\n" + strings.Repeat("x", 10) + ",=1+1\n"
	if got := h.upload("sender", at+"campaigns/spring/members", "people.csv", text); got.to() != at+"campaigns/spring/plan?said=people_said" {
		t.Fatalf("the file: %d\n%s", got.status, got.body)
	}
	h.shows(h.page("sender", at+"campaigns/spring"), "look at the plan")
	h.shows(h.page("sender", at+"campaigns/spring/plan"), "Hello Li Na", "Send to all", at+"campaigns/spring/refused")

	once := url.Values{"to": {"mine"}, "once": {posthouse.NewID()}}
	first, again := h.ask("sender", at+"campaigns/spring/test", once), h.ask("sender", at+"campaigns/spring/test", once)
	_, id, _ := strings.Cut(first.body, "/messages/")
	id, _, _ = strings.Cut(id, `"`)
	if id == "" || !strings.Contains(again.body, "/messages/"+id) {
		t.Errorf("a double click on the test makes another message than %q:\n%s", id, first.body)
	}
	if got := h.ask("viewer", at+"campaigns/spring/start", url.Values{"state": {"ready"}}); got.status != http.StatusForbidden {
		t.Errorf("a viewer starts it: %d", got.status)
	}
	start := url.Values{"state": {"ready"}, "force": {"1"}, "note": {"approved"}}
	if got := h.ask("sender", at+"campaigns/spring/start", start); got.to() != at+"campaigns/spring?said=changed_said" {
		t.Fatalf("the start: %d\n%s", got.status, got.body)
	}
	if got := h.ask("sender", at+"campaigns/spring/start", start); got.status != http.StatusConflict {
		t.Errorf("a second click: %d", got.status)
	}
	var c wire.Campaign
	h.api("GET", "/v1/campaigns/spring", "", &c)
	if c.People.Members != 3 || c.People.Repeated != 1 || c.People.Refused != 1 {
		t.Errorf("the people are %+v", c.People)
	}
}

// The columns of a file fill the parameters of the provider's template as the form of the plan says: what has the name of one is chosen
// already, what is wrong stays as it was typed, and the plan beside it follows.
func TestColumnsAreMappedByAForm(t *testing.T) {
	t.Parallel()
	providers := httptest.NewServer(simulator.New(simulator.Options{Log: slog.New(slog.DiscardHandler)}))
	t.Cleanup(providers.Close)
	h := open(t, false, func(o *server.Options) { o.AllowPrivate = true })
	h.api("PUT", "/v1/channels/mp", fmt.Sprintf(`{"driver":"wechat","config":{"url":%q,"app_id":"wx1","secret":"a-secret-of-ours"}}`, providers.URL+"/wechat"), nil)
	h.api("PUT", "/v1/templates/coupon", `{"text":"a coupon","external_id":"OPENTM-1"}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"mp","template":"coupon","payload":{"shop":"Bund"}}`, nil)
	const at = "/console/t/default/campaigns/spring"
	if got := h.upload("sender", at+"/members", "people.csv", "openid,name,Time3,odd}name\no1,张三,2030-10-01,x\n"); got.status != http.StatusSeeOther {
		t.Fatalf("the file: %d\n%s", got.status, got.body)
	}
	page := h.page("sender", at+"/content")
	h.shows(page, "What fills the provider&#39;s template", "<code>OPENTM-1</code>", `<legend><code>thing1</code> <small class="quiet">at most 20 characters</small></legend>`, `<option value="name">`, `<option value="shop">`, `<option value="Time3" selected>`)
	if strings.Contains(page, "odd}name</option>") {
		t.Error("a column is offered that no placeholder can name")
	}
	if strings.Contains(h.page("viewer", at+"/plan"), at+"/content") {
		t.Error("a viewer is offered the form")
	}
	form := url.Values{"template": {"coupon"}, "name.0": {"thing1"}, "from.0": {"="}, "text.0": {"Dear ${name"}, "name.1": {"amount2"}, "from.1": {"="}, "text.1": {"20"}, "name.2": {"time3"}, "from.2": {"Time3"}, "text.2": {""}, "name.3": {""}, "from.3": {""}, "text.3": {""}}
	if got := h.ask("sender", at+"/content", form); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a text without its closing brace: %d", got.status)
	} else {
		h.shows(got.body, `data-problem="parameters.thing1"`, `value="Dear ${name"`, `<option value="Time3" selected="">`)
	}
	form.Set("text.0", "Dear ${name}")
	form.Set("name.3", "thing9")
	form.Set("from.3", "shop")
	if got := h.ask("viewer", at+"/content", form); got.status != http.StatusForbidden {
		t.Errorf("a viewer maps columns: %d", got.status)
	}
	if got := h.ask("sender", at+"/content", form); got.to() != at+"/plan?said=stored" {
		t.Fatalf("the form: %d\n%s", got.status, got.body)
	}
	var c wire.Campaign
	h.api("GET", "/v1/campaigns/spring", "", &c)
	if diff := cmp.Diff(map[string]string{"thing1": "Dear ${name}", "amount2": "20", "time3": "${Time3}", "thing9": "${shop}"}, c.Parameters); diff != "" {
		t.Errorf("what fills them (-want +got):\n%s", diff)
	}
	h.shows(h.page("sender", at+"/plan"), "Dear 张三", at+"/content", "at most 20 characters")
	h.shows(h.page("sender", at+"/content"), "Dear 张三", "<legend><code>thing9</code> <small", "优惠券到账通知")
	long := maps.Clone(form)
	long.Set("text.0", strings.Repeat("长", 21))
	h.shows(h.ask("sender", at+"/samples", long).body, "has 21 characters: WeChat takes at most 20 characters as a thing", `<tr class="bad">`, "1 / 1")
	for i := range 4 {
		form.Set(fmt.Sprint("from.", i), "")
	}
	if got := h.ask("sender", at+"/content", form); got.status != http.StatusSeeOther {
		t.Fatalf("nothing of it: %d\n%s", got.status, got.body)
	}
	c = wire.Campaign{}
	h.api("GET", "/v1/campaigns/spring", "", &c)
	if len(c.Parameters) != 0 {
		t.Errorf("%v is left", c.Parameters)
	}
	h.shows(h.page("sender", at+"/plan"), "nothing fills thing1")
}

// A campaign without a text gets it after its file: the columns go into it, and before it is kept one sees what the first members get, as the
// channel shows it, with what stays empty.
func TestATextIsWrittenWithTheColumns(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/sms", `{"driver":"sms","config":{"provider":"aliyun","access_key":"key","secret":"a-secret-of-ours","sign":"驿站"},"limits":[{"max":1,"per":"1m"}]}`, nil)
	const at = "/console/t/default/"
	made := h.ask("sender", at+"new-campaign", url.Values{"name": {"autumn"}, "channel": {"sms"}})
	if made.to() != at+"campaigns/autumn?said=stored" {
		t.Fatalf("a campaign without a text: %d\n%s", made.status, made.body)
	}
	file := h.upload("sender", at+"campaigns/autumn/members", "people.csv", "手机号,name\n13800138000,张三\n13900139000,\n")
	if file.to() != at+"campaigns/autumn/content?said=people_content_said" {
		t.Fatalf("the file leads to %q: %d\n%s", file.to(), file.status, file.body)
	}
	h.shows(h.page("sender", at+"campaigns/autumn/content"), `data-put="${name}"`, "<small>1</small>", `name="next" value="plan"`, `name="next" value="people"`)
	form := url.Values{"text": {"你好，"}, "put": {"name"}}
	h.shows(h.ask("sender", at+"campaigns/autumn/samples", form).body, "你好，${name}</textarea>", "【驿站】你好，张三", "1 text messages", `<mark class="bad">${name}</mark>`, "<code>name</code> × 1", "1 / 2")
	h.shows(h.page("sender", at+"campaigns/autumn/plan"), "a text of its own: </span>is not written yet")
	form.Del("put")
	form.Set("text", "你好，${name")
	if got := h.ask("sender", at+"campaigns/autumn/content", form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "own_text.text") || !strings.Contains(got.body, "你好，${name</textarea>") {
		t.Errorf("a placeholder that does not end: %d\n%s", got.status, got.body)
	}
	form.Set("text", "你好，${name}")
	form.Set("next", "people")
	if got := h.ask("sender", at+"campaigns/autumn/content", form); got.to() != at+"campaigns/autumn?said=stored" {
		t.Fatalf("keeping it and going to another step: %d\n%s", got.status, got.body)
	}
	h.shows(h.page("sender", at+"campaigns/autumn/content"), "你好，${name}</textarea>", "你好，张三")
	h.shows(h.page("sender", at+"campaigns/autumn/plan"), "你好，张三", "<rect ", at+"campaigns/autumn/content")
	if strings.Contains(h.page("sender", at+"new-campaign"), "campaign:") {
		t.Error("the text of one campaign is offered to another")
	}
}

// Files for people to take away open in Excel, without formulas, and are refused as pages are.
func TestFilesOfACampaign(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"later","content":{"text":"x"}}`, nil)
	const at = "/console/t/default/campaigns/"
	if got := h.upload("sender", at+"spring/members", "people.csv", "address,name\na1,=1+1\n,nobody\n"); got.status != http.StatusSeeOther {
		t.Fatalf("the file: %d\n%s", got.status, got.body)
	}
	for path, want := range map[string]string{"spring/members": "a1", "spring/refused": "3"} {
		got := h.ask("viewer", at+path, nil)
		rest, marked := strings.CutPrefix(got.body, "\ufeff")
		rows, err := csv.NewReader(strings.NewReader(rest)).ReadAll()
		if !marked || err != nil || len(rows) != 2 || !strings.Contains(strings.Join(rows[1], " "), want) || !strings.Contains(got.header.Get("Content-Disposition"), ".csv") {
			t.Errorf("%s: %d %q, %v", path, got.status, got.body, err)
		}
	}
	if got := h.ask("viewer", at+"none/members", nil); got.status != http.StatusNotFound || !strings.Contains(got.body, "There is nothing here") {
		t.Errorf("the members of no campaign: %d", got.status)
	}
	if got := h.ask("viewer", at+"spring/members?outcome=nonsense", nil); got.status != http.StatusUnprocessableEntity {
		t.Errorf("an outcome that is none: %d", got.status)
	}
}

// Times follow the zone that the browser keeps, and every page says which that is.
func TestTimesInTheViewersZone(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	h.exec("UPDATE posthouse_messages SET created_at = 1893456000000000") // 2030-01-01 00:00 UTC
	const path = "/console/zone"
	got := h.ask("", path, url.Values{"zone": {"Mars/Olympus"}, "back": {"/console/t/default/"}})
	if got.status != http.StatusUnprocessableEntity {
		t.Errorf("a zone that is none: %d", got.status)
	}
	got = h.ask("", path, url.Values{"zone": {"Asia/Tokyo"}, "back": {"https://elsewhere.example/"}})
	if cookie := got.header.Get("Set-Cookie"); got.to() != "/console/" || !strings.Contains(cookie, "posthouse-zone=Asia/Tokyo") {
		t.Errorf("the choice leads to %q with %q", got.to(), cookie)
	}
	page := h.page("viewer", "/console/t/default/deliveries/"+id, func(r *http.Request) {
		r.AddCookie(&http.Cookie{Name: "posthouse-zone", Value: "Asia/Tokyo"})
	})
	h.shows(page, "2030-01-01 09:00:00", "Asia/Tokyo")
	h.shows(h.page("viewer", "/console/t/default/deliveries/"+id), "2030-01-01 08:00:00", "Asia/Shanghai")
}

// The page of a campaign leads from each reason to the people of that reason, as a file too, and sends again to who failed by one click.
func TestFailuresLeadToTheirPeople(t *testing.T) {
	t.Parallel()
	providers := httptest.NewServer(simulator.New(simulator.Options{Log: slog.New(slog.DiscardHandler)}))
	t.Cleanup(providers.Close)
	h := open(t, false, func(o *server.Options) { o.AllowPrivate = true })
	h.api("PUT", "/v1/channels/mp", fmt.Sprintf(`{"driver":"wechat","config":{"url":%q,"app_id":"wx1","secret":"a-secret-of-ours"}}`, providers.URL+"/wechat"), nil)
	h.api("PUT", "/v1/templates/coupon", `{"text":"a coupon","external_id":"OPENTM-1","parameters":{"thing1":"${name}"}}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"mp","template":"coupon"}`, nil)
	const at = "/console/t/default/campaigns/spring"
	h.upload("sender", at+"/members", "people.csv", "openid,name\no1,张三\nfail-recipient,李四\no3,"+strings.Repeat("长", 3)+"\n")
	if got := h.ask("sender", at+"/start", url.Values{"state": {"ready"}, "force": {"1"}}); got.status != http.StatusSeeOther {
		t.Fatalf("the start: %d\n%s", got.status, got.body)
	}
	for c := (wire.Campaign{}); c.State != posthouse.CampaignDone; h.api("GET", "/v1/campaigns/spring", "", &c) {
		runtime.Gosched()
	}
	const of = "?code=40003&outcome=failed"
	h.shows(h.page("sender", at), strings.ReplaceAll(at+of, "&", "&amp;"), "Again to the failed × 1")
	page := h.page("viewer", at+of)
	h.shows(page, at+"?address=fail-recipient", at+"/members?code=40003&amp;outcome=failed")
	if strings.Contains(page, "Again to the failed") {
		t.Error("a viewer is offered to send again")
	}
	if file := h.ask("viewer", at+"/members"+of, nil).body; !strings.Contains(file, "fail-recipient") || strings.Contains(file, "o1,") {
		t.Errorf("the file of the reason:\n%s", file)
	}
	if got := h.ask("sender", at+"/again", url.Values{"outcome": {"failed"}}); got.to() != at+"-again/plan?said=again_said" {
		t.Errorf("again to the failed: %d to %q", got.status, got.to())
	}
}

// The rules of a campaign that has not begun are changed on one page, over what it showed; what is left empty holds no more, and a copy has
// another name.
func TestRulesAreChangedBeforeTheStart(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"out","content":{"text":"x"},"spread":"2h","brake":{"above":0.1,"after":50,"classes":["auth"]}}`, nil)
	const at = "/console/t/default/campaigns/spring"
	page := h.page("sender", at+"/edit")
	h.shows(page, `name="spread" data-lasting value="2h`, `name="brake" min="1" max="100" value="10"`)
	version := found(t, page, `name="version" value="([^"]+)"`)
	form := url.Values{"version": {version}, "priority": {"low"}, "deadline": {"2099-01-02T03:04"}, "brake": {"20"}, "brake_after": {"70"}, "canary": {"10"}, "failures": {"5"}, "not_told_within": {"soon"}}
	zh := func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }
	bad := h.ask("sender", at+"/edit", form, zh)
	h.shows(bad.body, `data-problem="not_told_within"`, `value="soon"`, `value="2099-01-02T03:04"`)
	if bad.status != http.StatusUnprocessableEntity {
		t.Errorf("what cannot be read: %d", bad.status)
	}
	form.Set("not_told_within", "24h")
	if got := h.ask("sender", at+"/edit", form); got.to() != at+"?said=stored" {
		t.Fatalf("it is changed: %d\n%s", got.status, got.body)
	}
	var c wire.Campaign
	h.api("GET", "/v1/campaigns/spring", "", &c)
	if c.Spread != 0 || c.Brake == nil || c.Brake.Above != 0.2 || c.Brake.After != 70 || len(c.Brake.Classes) != 1 || c.Canary == nil || c.Canary.Members != 10 || c.Priority != posthouse.Low || c.Deadline.IsZero() || c.NotToldWithin.Std() != 24*time.Hour {
		t.Errorf("the campaign is %+v", c.Campaign)
	}
	if got := h.ask("sender", at+"/edit", form); got.status != http.StatusConflict {
		t.Errorf("over another state: %d", got.status)
	}
	form.Set("version", found(t, h.page("sender", at+"/edit"), `name="version" value="([^"]+)"`))
	form.Set("name", "march")
	if got := h.ask("sender", at+"/edit", form); got.to() != "/console/t/default/campaigns/march?said=stored" {
		t.Fatalf("it is renamed: %d\n%s", got.status, got.body)
	}
	h.api("PATCH", "/v1/campaigns/march", `{"name":"spring"}`, nil)
	if got := h.ask("operator", at+"/edit", form); got.status != http.StatusForbidden {
		t.Errorf("an operator changes rules: %d", got.status)
	}
	h.upload("sender", at+"/members", "people.csv", "address\no1\no2\n")
	if got := h.ask("sender", at+"/copy", url.Values{"name": {"spring"}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a name that is taken: %d", got.status)
	}
	if got := h.ask("sender", at+"/copy", url.Values{"name": {"summer"}}); got.to() != "/console/t/default/campaigns/summer?said=stored" {
		t.Errorf("a copy: %d to %q\n%s", got.status, got.to(), got.body)
	}
}

// Of a workbook with several sheets one is chosen: the look shows the first with addresses, another one keeps what is known of the file, and
// nothing is stored before it was said.
func TestASheetIsChosen(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/sms", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"sms","content":{"text":"x"}}`, nil)
	const at = "/console/t/default/campaigns/spring"
	book := consoletest.Workbook(t, consoletest.Sheet{Name: "说明", Rows: [][]any{{"字段", "说明"}, {"手机号", "必填"}}},
		consoletest.Sheet{Name: "五月", Rows: [][]any{{"手机号"}, {"13800138000"}}}, consoletest.Sheet{Name: "六月", Rows: [][]any{{"电话"}, {"13900139000"}}})
	look := h.upload("sender", at+"/preview", "people.xlsx", book)
	h.shows(look.body, `<select name="sheet"`, `<option value="五月" selected>`, `name="sheets" value="六月"`, "<td>13800138000</td>", "Choose the file again")
	look = h.upload("sender", at+"/preview", "people.xlsx", book, "sheets", "五月", "sheets", "六月", "sheet", "六月")
	h.shows(look.body, `<option value="六月" selected>`, `<option value="电话" selected>`)
	wrong := h.upload("sender", at+"/preview", "people.xlsx", book, "sheets", "五月", "sheets", "六月", "sheet", "五月", "address", "电话")
	h.shows(wrong.body, `data-problem`, "there is no column", `<option value="五月" selected>`, `<option value="六月">`)
	if got := h.upload("sender", at+"/members", "people.xlsx", book); got.status != http.StatusUnprocessableEntity {
		t.Errorf("one of three sheets is taken: %d to %q", got.status, got.to())
	} else {
		h.shows(got.body, `data-problem="sheet"`, `<option value="五月" selected="">`)
	}
	var c wire.Campaign
	if h.api("GET", "/v1/campaigns/spring", "", &c); c.People.Members != 0 {
		t.Fatalf("%d are stored of a sheet that nobody chose", c.People.Members)
	}
	if got := h.upload("sender", at+"/members", "people.xlsx", book, "sheet", "六月"); got.status != http.StatusSeeOther {
		t.Fatalf("the file: %d\n%s", got.status, got.body)
	}
	h.shows(h.page("sender", at+"?address=13900139000"), "13900139000: ")
}

// The look at a file knows what the channel's addresses are, and marks numbers of which a spreadsheet has cut off digits; the import refuses their lines.
func TestTheColumnOfAFileIsOfTheChannelsKind(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/app", `{"driver":"wecom","config":{"corp_id":"ww1","agent_id":1000002,"secret":"s"}}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"app","content":{"text":"x"}}`, nil)
	const at, file = "/console/t/default/campaigns/spring", "用户编号,姓名,手机号\nzhang.san,张三,1.38E+10\nli.si,李四,13900139000\n"
	look := h.upload("sender", at+"/preview", "people.csv", file)
	h.shows(look.body, `<option value="用户编号" selected>`, `<td class="bad">1.38E&#43;10</td>`, "<td>13900139000</td>", "export it again: 1</p>")
	other := h.upload("sender", at+"/preview", "people.csv", file, "address", "手机号")
	h.shows(other.body, "手机号 is 1.38E&#43;10: a spreadsheet has cut off digits of the number. Format the column as text there, and export it again")
	if got := h.upload("sender", at+"/members", "people.csv", file+"1.2E+10,王五,13700137000\n"); got.status != http.StatusSeeOther {
		t.Fatalf("the file: %d\n%s", got.status, got.body)
	}
	var c wire.Campaign
	if h.api("GET", "/v1/campaigns/spring", "", &c); c.People.Members != 2 || c.People.Refused != 1 {
		t.Errorf("of three lines one has lost digits: %+v", c.People)
	}
	h.shows(h.page("sender", at+"?address=zhang.san"), "zhang.san: ")
}

// A browser without JavaScript takes a file without a look before: one whose column of addresses cannot be told comes back with its columns.
func TestAColumnOfAddressesIsChosen(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/wx", `{"driver":"discard"}`, nil)
	files := map[string]string{
		"people.csv":  "客户,备注\nwang,a\nli,b\n" + strings.Repeat("zhao,c\n", 20_000), // longer than what is looked at
		"people.xlsx": consoletest.Workbook(t, consoletest.Sheet{Name: "名单", Rows: [][]any{{"客户", "备注"}, {"wang", "a"}}}),
	}
	for name, file := range files {
		campaign := strings.TrimPrefix(name, "people.")
		h.api("POST", "/v1/campaigns", fmt.Sprintf(`{"name":%q,"channel":"wx","content":{"text":"x"}}`, campaign), nil)
		at := "/console/t/default/campaigns/" + campaign
		got := h.upload("sender", at+"/members", name, file)
		if got.status != http.StatusUnprocessableEntity {
			t.Fatalf("%s without an address: %d to %q", name, got.status, got.to())
		}
		h.shows(got.body, `data-problem="address"`, `<option value="客户">`, "<td>wang</td>", "Choose the file again")
		if got := h.upload("sender", at+"/members", name, file, "address", "客户"); got.status != http.StatusSeeOther {
			t.Errorf("%s with its column: %d\n%s", name, got.status, got.body)
		}
		h.shows(h.page("sender", at+"?address=wang"), "wang: ")
	}
}
