package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// PULL-1, PULL-2: every documented address, with the documented fields and no others.
func TestPULL_TheAddressesAnswerAsDocumented(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		h.want(200, "POST", "/api/v1/admin/template", `{"template_name":"验证码模板","template_content":"您的验证码是{code}，用户{name}"}`)
		h.want(200, "POST", "/api/v1/admin/default-sms", `{"phone_number":"13800138001","content":"欢迎使用我们的服务","use_template":false}`)

		sent := h.want(200, "POST", "/api/v1/sms/send", `{"phone_number":"13800138000","content":"code=123456&name=张三","use_template":true,"source":"system_a"}`)
		id := dataOf[taskOf](h, sent).ID
		wantText(h, sent, `{"code":200,"message":"success","data":{"task_id":"ID","status":0,"final_content":"您的验证码是123456，用户张三"}}`, id)
		before := h.want(200, "GET", "/api/v1/sms/task/"+id, "")
		wantText(h, before, `{"code":200,"message":"success","data":{"task_id":"ID","phone_number":"13800138000","content":"您的验证码是123456，用户张三","status":0,"created_at":"TIME","sent_at":null}}`, id)

		handed := h.want(200, "GET", "/api/v1/sms/tasks/pending?limit=10&app_id=sms_app_001", "")
		wantText(h, handed, `{"code":200,"message":"success","data":[{"task_id":"ID","phone_number":"13800138000","content":"您的验证码是123456，用户张三"}]}`, id)
		wantText(h, h.want(200, "GET", "/api/v1/sms/tasks/pending?app_id=sms_app_001", ""), `{"code":200,"message":"success","data":[]}`, id)
		if during := h.story(id).Task; during.Status != 1 {
			h.Errorf("a task that was handed out has status %d", during.Status)
		}
		reported := h.want(200, "POST", "/api/v1/sms/report", `{"task_id":"`+id+`","app_id":"sms_app_001","status":2,"error_message":"","should_retry":false}`)
		wantText(h, reported, `{"code":200,"message":"success"}`, id)
		after := h.want(200, "GET", "/api/v1/sms/task/"+id, "")
		wantText(h, after, `{"code":200,"message":"success","data":{"task_id":"ID","phone_number":"13800138000","content":"您的验证码是123456，用户张三","status":2,"created_at":"TIME","sent_at":"TIME"}}`, id)
		if kind := after.header.Get("Content-Type"); kind != "application/json" {
			h.Errorf("the Content-Type is %q", kind)
		}
	})
}

var smsTime = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"`)

// wantText compares an answer to the letter, but for the task's id and times.
func wantText(h *house, got told, want, id string) {
	h.Helper()
	text := smsTime.ReplaceAllString(strings.ReplaceAll(got.text, id, "ID"), `"TIME"`)
	if diff := cmp.Diff(want, text); diff != "" {
		h.Errorf("the answer (-want +got):\n%s", diff)
	}
}

// PULL-1: HTTP Basic on all of them, 401 with WWW-Authenticate: Basic, and nothing but /health without.
func TestPULL_NobodyIsLetInWithoutThePassword(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		for _, q := range []asked{
			{method: "POST", path: "/api/v1/sms/send"}, {method: "GET", path: "/api/v1/sms/task/x"}, {method: "GET", path: "/api/v1/sms/tasks/pending?app_id=a"},
			{method: "POST", path: "/api/v1/sms/report"}, {method: "POST", path: "/api/v1/admin/template"}, {method: "POST", path: "/api/v1/admin/default-sms"},
			{method: "GET", path: "/api/v1/admin/task-statistics"}, {method: "GET", path: "/api/v1/admin/task-status-info"},
			{method: "POST", path: "/api/v1/admin/recover-zombie-tasks"}, {method: "GET", path: "/api/v1/admin/logs/receive"}, {method: "GET", path: "/api/v1/nothing"},
		} {
			q.user = "-"
			if got := h.ask(q); got.status != 401 || got.header.Get("WWW-Authenticate") != "Basic" || string(got.Data) != "null" {
				h.Errorf("%s %s: got %d %s with WWW-Authenticate %q, want 401 with Basic", q.method, q.path, got.status, got.text, got.header.Get("WWW-Authenticate"))
			}
		}
		for _, pair := range [][2]string{{smsUser, "wrong"}, {"wrong", smsPassword}, {smsUser + "x", smsPassword}, {"admin", "管理员"}, {"\xff\xfe", "\x00"}} {
			if got := h.ask(asked{method: "GET", path: "/api/v1/admin/task-statistics", user: pair[0], password: pair[1]}); got.status != 401 {
				h.Errorf("%q: got %d, want 401", pair, got.status)
			}
		}
		for _, method := range []string{"GET", "HEAD"} {
			if got := h.ask(asked{method: method, path: "/health", user: "-"}); got.status != 200 {
				h.Errorf("%s /health without a password: got %d", method, got.status)
			}
		}
	})
}

// PULL-2: errors keep the envelope and say what is wrong; 422 is for a malformed body.
func TestPULL_ErrorsKeepTheEnvelopeAndAreUnderstood(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		send, report := "/api/v1/sms/send", "/api/v1/sms/report"
		for _, c := range []struct {
			method, path, body string
			status             int
			want               string
		}{
			{"POST", send, ``, 422, "the body is not a JSON object"},
			{"POST", send, `[1]`, 422, "the body is not a JSON object"},
			{"POST", send, `{"content":"x"}`, 422, "phone_number is required"},
			{"POST", send, `{"phone_number":13800138000,"content":"x"}`, 422, "phone_number is a number: want a text in double quotes"},
			{"POST", send, `{"phone_number":"13800138000","content":["x"],"use_template":"maybe"}`, 422, `content is a list: want a text in double quotes; use_template is "maybe": want true or false`},
			{"POST", send, `{"phone_number":"13800138000","content":"a\u0000b"}`, 422, "U+0000"},
			{"POST", send, "{\"phone_number\":\"\xff\"}", 422, "the body is not valid UTF-8"},
			{"POST", send, `{"phone_number":"12345","content":"x"}`, 400, "phone_number is"},
			{"POST", send, `{"phone_number":"13800138000","content":"  "}`, 400, "content is blank"},
			{"POST", send, `{"phone_number":"13800138000","content":"x","source":"` + strings.Repeat("s", 200) + `"}`, 400, "source has 200 characters: at most 128 are allowed"},
			{"GET", "/api/v1/sms/task/task_20231201_001", "", 404, "there is no task of this task_id"},
			{"GET", "/api/v1/sms/task/01K0000000000000000000000Z", "", 404, "there is no task of this task_id"},
			{"GET", "/api/v1/sms/task/%FF%00", "", 404, "there is no task of this task_id"},
			{"GET", "/api/v1/sms/tasks/pending", "", 422, "app_id is required"},
			{"GET", "/api/v1/sms/tasks/pending?app_id=a%20", "", 422, "app_id is"},
			{"GET", "/api/v1/sms/tasks/pending?app_id=a&limit=0", "", 422, "want a whole number from 1 to 100"},
			{"GET", "/api/v1/sms/tasks/pending?app_id=a&limit=101", "", 422, "want a whole number from 1 to 100"},
			{"GET", "/api/v1/sms/tasks/pending?app_id=a&limit=ten", "", 422, "want a whole number from 1 to 100"},
			{"POST", report, `{"app_id":"a","status":2}`, 422, "task_id is required"},
			{"POST", report, `{"task_id":"x","app_id":"a"}`, 422, "status is required"},
			{"POST", report, `{"task_id":"x","app_id":"..","status":2}`, 422, "dots alone"},
			{"POST", report, `{"task_id":"x","app_id":"a","status":1}`, 422, "status is 1: want 2 (sent) or 3 (failed)"},
			{"POST", report, `{"task_id":"x","app_id":"a","status":2}`, 404, "there is no task of this task_id"},
			{"POST", "/api/v1/admin/template", `{"template_name":"x"}`, 400, "template_content is blank"},
			{"GET", "/api/v1/nothing", "", 404, "there is no address"},
			{"DELETE", send, "", 405, "want POST"},
			{"HEAD", "/api/v1/sms/tasks/pending?app_id=a", "", 405, ""}, // to look is not to claim
		} {
			got := h.ask(asked{method: c.method, path: c.path, body: c.body})
			if got.status != c.status || !strings.Contains(got.Message, c.want) || c.method != "HEAD" && string(got.Data) != "null" {
				h.Errorf("%s %s %s: got %d %s, want %d with %q", c.method, c.path, c.body, got.status, got.text, c.status, c.want)
			}
		}
		h.want(200, "POST", send, `{"phone_number":"13800138000","content":"x","source":"`+strings.Repeat("源", 50)+`"}`) // as many as the document's column takes
		h.want(200, "POST", "/api/v1/admin/template", `{"template_name":"x","template_content":"y"}`)
		h.want(422, "PUT", "/api/v1/admin/template/1", `{"is_active":null}`)
		loose := h.want(200, "POST", send, `{"phone_number":"13800138000","content":"<b>&\u2028","use_template":"false","source":null,"unknown":{}}`)
		if want := `"final_content":"<b>&` + `\u2028"`; !strings.Contains(loose.text, want) {
			h.Errorf("got %s, want it to contain %s", loose.text, want)
		}
		for _, page := range []asked{
			{method: "POST", path: send, body: `{"phone_number":"13800138000","content":"x"}`, header: http.Header{"Sec-Fetch-Site": {"cross-site"}}},
			{method: "POST", path: send, body: `{"phone_number":"13800138000","content":"x"}`, header: http.Header{"Origin": {"https://evil.example"}}},
			{method: "GET", path: "/api/v1/sms/tasks/pending?app_id=a", header: http.Header{"Sec-Fetch-Site": {"cross-site"}}}, // an image of a page
		} {
			if got := h.ask(page); got.status != 403 || string(got.Data) != "null" {
				h.Errorf("%s by a page of another site: got %d %s, want 403", page.method, got.status, got.text)
			}
		}
	})
}

// PULL-3: without a content the phone's own is sent, once, whoever asks at the same time.
func TestPULL_TheDefaultContentIsTakenExactlyOnce(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		ask := asked{method: "POST", path: "/api/v1/sms/send", body: `{"phone_number":"+86 138-0013-8000"}`}
		if got := h.ask(ask); got.status != 400 || !strings.Contains(got.Message, "no default content") {
			h.Errorf("no default: got %d %s, want 400", got.status, got.text)
		}
		h.want(200, "POST", "/api/v1/admin/default-sms", `{"phone_number":"13800138000","content":"欢迎"}`)
		var mu sync.Mutex
		byStatus := map[int]int{}
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				got, err := h.try(ask)
				mu.Lock()
				defer mu.Unlock()
				byStatus[got.status]++
				if err != nil || got.status == 400 && !strings.Contains(got.Message, "was sent already") || got.status == 200 && !strings.Contains(got.text, "欢迎") {
					h.Errorf("got %s and error %v", got.text, err)
				}
			})
		}
		all.Wait()
		if want := map[int]int{200: 1, 400: 11}; !cmp.Equal(byStatus, want) {
			h.Errorf("got %v, want %v", byStatus, want)
		}
		if tasks := h.fetch("app", 100); len(tasks) != 1 || tasks[0].Content != "欢迎" || tasks[0].Phone != "13800138000" {
			h.Errorf("got %+v, want the one text", tasks)
		}
		h.want(200, "POST", "/api/v1/admin/default-sms", `{"phone_number":"13800138000","content":"再次欢迎"}`)
		if got := h.want(200, "POST", ask.path, ask.body); !strings.Contains(got.text, "再次欢迎") {
			h.Errorf("set anew: got %s", got.text)
		}
		shown := dataOf[map[string]any](h, h.want(200, "GET", "/api/v1/admin/default-sms/13800138000", ""))
		if shown["is_sent"] != true || shown["content"] != "再次欢迎" {
			h.Errorf("the default is shown as %v", shown)
		}
	})
}

// PULL-3: the default's own use_template counts, not the request's.
func TestPULL_TheDefaultContentHasItsOwnTemplateFlag(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		h.want(200, "POST", "/api/v1/admin/template", `{"template_name":"t","template_content":"Hi {name}"}`)
		h.want(200, "POST", "/api/v1/admin/default-sms", `{"phone_number":"13800138000","content":"name=Li","use_template":true}`)
		h.want(200, "POST", "/api/v1/admin/default-sms", `{"phone_number":"13800138001","content":"name=Li","use_template":false}`)
		h.want(400, "POST", "/api/v1/admin/default-sms", `{"phone_number":"13800138002","content":"name","use_template":true}`)
		for body, want := range map[string]string{
			`{"phone_number":"13800138000","content":"","use_template":false}`:  "Hi Li",
			`{"phone_number":"13800138001","content":null,"use_template":true}`: "name=Li",
		} {
			if got := dataOf[map[string]any](h, h.want(200, "POST", "/api/v1/sms/send", body))["final_content"]; got != want {
				h.Errorf("%s: got %q, want %q", body, got, want)
			}
		}
	})
}

// PULL-4: the first active template by its number; values are inserted as they are.
func TestPULL_TemplatesAreFilledLiterally(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		filled := func(content string) told {
			body, err := json.Marshal(map[string]any{"phone_number": "13800138000", "content": content, "use_template": true})
			h.must(err)
			return h.ask(asked{method: "POST", path: "/api/v1/sms/send", body: string(body)})
		}
		if got := filled("a=1"); got.status != 400 || !strings.Contains(got.Message, "no active template") {
			h.Errorf("no template: got %d %s, want 400", got.status, got.text)
		}
		for _, text := range []string{"first {a}", "{a} and {b}", "third {a}"} {
			h.want(200, "POST", "/api/v1/admin/template", fmt.Sprintf(`{"template_name":"t","template_content":%q}`, text))
		}
		h.want(200, "PUT", "/api/v1/admin/template/1", `{"is_active":false}`)
		for content, want := range map[string]string{
			"a={b}&b=SECRET":                "{b} and SECRET",
			"a=1%2B1&b=Smith%26Sons":        "1+1 and Smith&Sons",
			"a=%E5%BC%A0%E4%B8%89&b=李 四":    "张三 and 李 四",
			"a=x+y&b=":                      "x y and ",
			"b=2&a=1&c=not+in+the+template": "1 and 2",
		} {
			if got := filled(content); got.status != 200 || dataOf[map[string]any](h, got)["final_content"] != want {
				h.Errorf("%s: got %s, want %q", content, got.text, want)
			}
		}
		for content, want := range map[string]string{
			"a=1&b=100%":  "place 10",
			"a=%zz&b=1":   "place 3",
			"a=1&b":       "place 5",
			"a=%FF&b=1":   "not UTF-8",
			"a=1":         `does not give "b"`,
			"a=1&b=%e5%b": "place 10",
		} {
			if got := filled(content); got.status != 400 || !strings.Contains(got.Message, want) {
				h.Errorf("%s: got %d %s, want 400 with %q", content, got.status, got.text, want)
			}
		}
		var active []bool
		for _, t := range dataOf[[]struct {
			ID     int  `json:"id"`
			Active bool `json:"is_active"`
		}](h, h.want(200, "GET", "/api/v1/admin/template", "")) {
			active = append(active, t.Active)
		}
		if !cmp.Equal(active, []bool{false, true, true}) {
			h.Errorf("the templates are active: %v", active)
		}
	})
}

// PULL-13: up to 200 characters, whatever their bytes; numbers of the mainland and E.164; the parts are counted.
func TestPULL_LengthsAndNumbersAreChecked(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		send := func(phone, content string) told {
			body, err := json.Marshal(map[string]any{"phone_number": phone, "content": content})
			h.must(err)
			return h.ask(asked{method: "POST", path: "/api/v1/sms/send", body: string(body)})
		}
		for _, c := range []struct{ text, parts, encoding string }{
			{"hello", "1", "gsm7"}, {strings.Repeat("a", 160), "1", "gsm7"}, {strings.Repeat("a", 161), "2", "gsm7"}, {strings.Repeat("[", 81), "2", "gsm7"},
			{strings.Repeat("验", 70), "1", "ucs2"}, {strings.Repeat("验", 71), "2", "ucs2"}, {strings.Repeat("验", 200), "3", "ucs2"}, {strings.Repeat("😀", 200), "7", "ucs2"},
		} {
			got := send("13800138000", c.text)
			if got.status != 200 || got.header.Get("X-Sms-Parts") != c.parts || got.header.Get("X-Sms-Encoding") != c.encoding {
				h.Errorf("%.10s…: got %d %s in %q parts of %q, want %s of %s", c.text, got.status, got.text, got.header.Get("X-Sms-Parts"), got.header.Get("X-Sms-Encoding"), c.parts, c.encoding)
			}
			task := h.story(dataOf[taskOf](h, got).ID).Task
			if task.Content != c.text || fmt.Sprint(task.SMS.Parts) != c.parts || task.SMS.Encoding != c.encoding {
				h.Errorf("the task is %+v", task)
			}
		}
		if got := send("13800138000", strings.Repeat("验", 201)); got.status != 400 || got.Message != "content has 201 characters: at most 200 are allowed" {
			h.Errorf("201 characters: got %d %s", got.status, got.text)
		}
		for given, want := range map[string]string{
			"13800138000": "13800138000", "+8613800138000": "13800138000", "0086 138 0013 8000": "13800138000", "１３８００１３８０００": "13800138000",
			"+85251234567": "+85251234567", "+14155552671": "+14155552671",
		} {
			got := send(given, "x")
			if got.status != 200 {
				h.Errorf("%s: got %d %s", given, got.status, got.text)
			} else if shown := h.story(dataOf[taskOf](h, got).ID).Task.Phone; shown != want {
				h.Errorf("%s is shown as %s, want %s", given, shown, want)
			}
		}
		for _, wrong := range []string{"", "12345", "138001380001", "23800138000", "+999123456789", "13800138000,13800138001", "abc", "01012345678", "10086"} {
			if got := send(wrong, "x"); got.status != 400 && got.status != 422 || !strings.HasPrefix(got.Message, "phone_number ") {
				h.Errorf("%q: got %d %s, want it refused", wrong, got.status, got.text)
			}
		}
	})
}

// PULL-2: a repeat with an Idempotency-Key is the same task, also of a default content.
func TestPULL_ARepeatedRequestIsOneTask(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		h.want(200, "POST", "/api/v1/admin/default-sms", `{"phone_number":"13800138001","content":"welcome"}`)
		for i, body := range []string{`{"phone_number":"13800138000","content":"x"}`, `{"phone_number":"13800138001"}`} {
			q := asked{method: "POST", path: "/api/v1/sms/send", body: body, header: http.Header{"Idempotency-Key": {fmt.Sprint("key ", i)}}}
			first, again := h.ask(q), h.ask(q)
			if first.status != 200 || first.text != again.text {
				h.Errorf("got %s and then %s", first.text, again.text)
			}
			q.body = strings.Replace(body, "{", `{"source":"other",`, 1)
			if got := h.ask(q); got.status == 200 {
				h.Errorf("the key with another body: got %s", got.text)
			}
		}
		if tasks := h.fetch("app", 10); len(tasks) != 2 {
			h.Errorf("got %+v, want two tasks", tasks)
		}
	})
}

// Ten requests with one key at once are one task, also of a default content, which the first of them uses up.
func TestPULL_ARequestThatComesTenTimesAtOnceIsOneTask(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		for round := range 10 {
			number := fmt.Sprintf("138001380%02d", round)
			h.want(200, "POST", "/api/v1/admin/default-sms", `{"phone_number":"`+number+`","content":"welcome"}`)
			q := asked{method: "POST", path: "/api/v1/sms/send", body: `{"phone_number":"` + number + `"}`, header: http.Header{"Idempotency-Key": {"key " + number}}}
			var all sync.WaitGroup
			texts := make([]string, 10)
			for i := range texts {
				all.Go(func() { texts[i] = h.ask(q).text })
			}
			all.Wait()
			for _, text := range texts {
				if text != texts[0] || !strings.Contains(text, "task_id") {
					h.Fatalf("round %d: one was answered %s, another %s", round, texts[0], text)
				}
			}
		}
		if tasks := h.fetch("app", 100); len(tasks) != 10 {
			h.Errorf("got %d tasks, want 10", len(tasks))
		}
	})
}

// The front door's handler is no part of the native API where it is closed.
func TestPULL_WithoutAPasswordThereIsNoFrontDoor(t *testing.T) {
	t.Parallel()
	h := open(t, databases[0].dsn(t))
	status, _ := h.call(http.MethodGet, "/api/v1/admin/task-statistics", "", "")
	if status != http.StatusNotFound {
		t.Errorf("got %d, want 404", status)
	}
}
