package api_test

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel/builtin"
)

func TestAChannelIsReadChangedAndPutBackWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	h := with(t)
	shown := h.must(200, "GET", "/v1/channels/out", "")
	if strings.Contains(shown.body, "s3cret") || !strings.Contains(shown.body, `"token":"********"`) {
		t.Errorf("the secret is not masked: %s", shown.body)
	}
	if list := h.must(200, "GET", "/v1/channels", "").body; strings.Contains(list, "s3cret") {
		t.Errorf("the list shows the secret: %s", list)
	}
	put := h.must(200, "PUT", "/v1/channels/out", shown.body)
	before, after := read[posthouse.Channel](t, shown), read[posthouse.Channel](t, put)
	if diff := cmp.Diff(before, after, cmpopts.IgnoreFields(posthouse.Channel{}, "Version", "UpdatedAt")); diff != "" || after.Version <= before.Version {
		t.Errorf("putting it back changed it (-before +after):\n%s", diff)
	}
	h.until(h.send("out", "u")[0], posthouse.Sent)
}

func TestAChannelIsPausedResumedTestedAndDeleted(t *testing.T) {
	t.Parallel()
	h := with(t)
	if got := read[posthouse.Channel](t, h.must(200, "POST", "/v1/channels/out/pause", `{"reason":"maintenance"}`)); !got.Paused || got.PauseReason != "maintenance" {
		t.Errorf("got %+v, want it paused", got)
	}
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	h.must(422, "POST", "/v1/channels/out/pause", `{"until":"2020-01-01T00:00:00Z"}`)
	if got := read[posthouse.Channel](t, h.must(200, "POST", "/v1/channels/out/pause", `{"until":"`+until.Format(time.RFC3339)+`"}`)); !got.PausedUntil.Equal(until) || !got.StateUntil.Equal(until) || got.PauseReason != "" {
		t.Errorf("got %+v, want it paused until %s", got, until)
	}
	id := h.send("out", "u")[0]
	if got := read[fault](t, h.must(409, "DELETE", "/v1/channels/out", "")); got.Code != posthouse.CodeConflict {
		t.Errorf("deleting a channel with an open delivery: got %+v", got)
	}
	if got := read[posthouse.Channel](t, h.must(200, "POST", "/v1/channels/out/resume", "")); got.Paused {
		t.Errorf("got %+v, want it resumed", got)
	}
	h.until(id, posthouse.Sent)
	for body, want := range map[string]string{
		"":                          `"ok":true,"class":"ok","code":"PONG"`,
		`{"to":{"user":"u"}}`:       `"ok":true,"class":"ok","provider_ref":"ref-`,
		`{"to":{"user":"refused"}}`: `"ok":false,"class":"recipient","code":"NO_SUCH_USER","error":"nobody of that name"`,
	} {
		if got := h.must(200, "POST", "/v1/channels/out/test", body).body; !strings.Contains(got, want) {
			t.Errorf("test %s: got %s, want %s", body, got, want)
		}
	}
	if n := len(read[list[any]](t, h.must(200, "GET", "/v1/messages?channel=out", "")).Items); n != 1 {
		t.Errorf("a test was stored: %d messages, want 1", n)
	}
	h.must(204, "DELETE", "/v1/channels/out", "")
	for _, r := range []request{{method: "GET", path: ""}, {method: "DELETE", path: ""}, {method: "POST", path: "/pause"}, {method: "POST", path: "/resume"}, {method: "POST", path: "/test"}} {
		if got := h.do(request{method: r.method, path: "/v1/channels/out" + r.path}); got.status != 404 {
			t.Errorf("%s%s after it was deleted: got %d %s", r.method, r.path, got.status, got.body)
		}
	}
}

func TestDriversDescribeTheirForms(t *testing.T) {
	t.Parallel()
	h := open(t)
	type field struct {
		Name, Kind string
		Secret     bool
		Default    any
		Min, Max   int
	}
	type driver struct {
		Name   string
		Fields []field
	}
	drivers := read[list[driver]](t, h.must(200, "GET", "/v1/drivers", "")).Items
	for _, d := range drivers {
		if d.Name != "test" {
			continue
		}
		want := []field{{Name: "token", Kind: "secret", Secret: true}, {Name: "size", Kind: "int", Default: 3.0, Min: 1, Max: 9}}
		if diff := cmp.Diff(want, d.Fields); diff != "" {
			t.Errorf("the fields (-want +got):\n%s", diff)
		}
	}
	if want := len(builtin.Types()) + 1; len(drivers) != want { // and the test's own
		t.Errorf("got %d drivers, want %d", len(drivers), want)
	}
}

func TestTemplatesKeepTheirVersions(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.must(200, "PUT", "/v1/templates/hello", `{"title":"${who}","text":"hello {name}"}`)
	second := read[posthouse.Template](t, h.must(200, "PUT", "/v1/templates/hello", `{"text":"bye ${name}"}`))
	if diff := cmp.Diff([]string{"name"}, second.Variables); second.Version != 2 || diff != "" {
		t.Errorf("got %+v, want version 2 with the variable name", second)
	}
	first := read[posthouse.Template](t, h.must(200, "GET", "/v1/templates/hello?version=1", ""))
	if diff := cmp.Diff([]string{"who", "name"}, first.Variables); first.Text != "hello {name}" || diff != "" {
		t.Errorf("got %+v, want the first version", first)
	}
	h.must(404, "GET", "/v1/templates/hello?version=3", "")
	h.must(422, "GET", "/v1/templates/hello?version=zero", "")
	if list := read[list[posthouse.Template]](t, h.must(200, "GET", "/v1/templates", "")).Items; len(list) != 1 || list[0].Version != 2 {
		t.Errorf("the list: got %+v, want version 2 alone", list)
	}
	for body, want := range map[string]string{
		`{"payload":{"name":"天元"}}`:                       `{"content":{"text":"bye 天元"},`,
		`{"payload":{}}`:                                  `"problems":[{"path":"payload.name",`,
		`{"text":"try ${a}","payload":{"a":1}}`:           `{"content":{"text":"try 1"},`,
		`{"text":"try ${a}","payload":{},"lenient":true}`: `{"content":{"text":"try ${a}"},`,
	} {
		if got := h.must(200, "POST", "/v1/templates/hello/preview", body).body; !strings.Contains(got, want) {
			t.Errorf("preview %s: got %s, want %s", body, got, want)
		}
	}
	if got := h.must(200, "POST", "/v1/templates/hello/preview", `{"text":"好${a}","payload":{"a":"👍🏽"}}`).body; !strings.Contains(got, `"text_length":{"bytes":11,"utf16":5,"characters":3,"graphemes":2}`) {
		t.Errorf("got %s", got)
	}
	h.must(204, "DELETE", "/v1/templates/hello", "")
	h.must(404, "GET", "/v1/templates/hello", "")
	h.must(404, "DELETE", "/v1/templates/hello", "")
	h.must(404, "POST", "/v1/templates/hello/preview", `{}`)
}

func asCSV(path, body string) request {
	return request{method: "PUT", path: path, body: body, header: http.Header{"Content-Type": {"text/csv; charset=utf-8"}}}
}

func TestRostersGoThroughJSONAndCSVUnchanged(t *testing.T) {
	t.Parallel()
	h := open(t)
	put := read[posthouse.Roster](t, h.must(200, "PUT", "/v1/rosters/duty", `{"days":{"1":["u1","u2"]},"overrides":{"2026-10-01":["u9"],"2026-10-02":[]},"hand_over":"08:30","time_zone":"UTC"}`))
	csv := h.must(200, "GET", "/v1/rosters/duty.csv", "")
	if kind := csv.header.Get("Content-Type"); kind != "text/csv; charset=utf-8" {
		t.Errorf("the CSV has type %s", kind)
	}
	again := h.do(asCSV("/v1/rosters/duty", csv.body))
	if again.status != 200 {
		t.Fatalf("got %d %s", again.status, again.body)
	}
	if diff := cmp.Diff(put, read[posthouse.Roster](t, again), cmpopts.IgnoreFields(posthouse.Roster{}, "UpdatedAt")); diff != "" {
		t.Errorf("through CSV (-put +got):\n%s", diff)
	}
	shown := h.must(200, "GET", "/v1/rosters/duty", "").body
	h.must(200, "PUT", "/v1/rosters/duty", shown)
	if got := h.do(asCSV("/v1/rosters/duty", csv.body+"9,u1\n")); got.status != 422 || !strings.Contains(got.body, `"path":"line `) {
		t.Errorf("a wrong line: got %d %s, want a problem with its line", got.status, got.body)
	}
	h.must(204, "DELETE", "/v1/rosters/duty", "")
	h.must(404, "GET", "/v1/rosters/duty", "")
}

// Calendars know passwords only: a key is one where a calendar is read, and nowhere else.
func TestACalendarIsReadWithAKeyAsPassword(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.must(200, "PUT", "/v1/rosters/duty", `{"days":{"1":["u1"],"2":["u1"],"3":["u1"],"4":["u1"],"5":["u1"],"6":["u1"],"7":["u1"]},"hand_over":"08:30"}`)
	basic := func(password string) http.Header {
		return http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("calendar:"+password))}}
	}
	got := h.do(request{method: "GET", path: "/v1/rosters/duty.ics", key: "none", header: basic(h.keys["read"])})
	if got.status != 200 || got.header.Get("Content-Type") != "text/calendar; charset=utf-8" || strings.Count(got.body, "RRULE:FREQ=WEEKLY\r\nSUMMARY:duty: u1\r\n") != 7 {
		t.Errorf("got %d %s", got.status, got.body)
	}
	for _, r := range []request{
		{method: "GET", path: "/v1/rosters/duty.ics", key: "none"},
		{method: "GET", path: "/v1/rosters/duty.ics", key: "none", header: basic("ph_wrong")},
		{method: "GET", path: "/v1/rosters/duty.csv", key: "none", header: basic(h.keys["read"])},
		{method: "PUT", path: "/v1/rosters/duty.ics", body: `{"days":{}}`, key: "none", header: basic(h.keys["admin"])},
	} {
		got := h.do(r)
		asks := slices.ContainsFunc(got.header.Values("WWW-Authenticate"), func(s string) bool { return strings.HasPrefix(s, "Basic ") })
		if got.status != 401 || asks != (r.method == "GET" && strings.HasSuffix(r.path, ".ics")) {
			t.Errorf("%s %s: got %d, asked for %q", r.method, r.path, got.status, got.header.Values("WWW-Authenticate"))
		}
	}
}

func TestARosterIsCheckedAndAskedForToday(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.must(200, "PUT", "/v1/rosters/duty", `{"days":{"1":["u1"],"2":["u1"],"3":["u2"],"4":["u3"],"5":["u4"],"6":["u5"],"7":[]},"overrides":{"2020-01-01":["u9"]}}`)
	want := `{"name":"duty","empty_days":["7"],"overlaps":{"u1":["1","2"]},"past_overrides":["2020-01-01"]}` + "\n"
	if got := h.must(200, "GET", "/v1/rosters/duty/check", "").body; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	type today struct {
		Configured bool
		Users      []string
		Weekday    int
	}
	got := read[today](t, h.must(200, "GET", "/v1/rosters/duty/today", ""))
	users := [][]string{{"u1"}, {"u1"}, {"u2"}, {"u3"}, {"u4"}, {"u5"}, {}}[got.Weekday-1]
	if diff := cmp.Diff(today{len(users) > 0, users, got.Weekday}, got); diff != "" { // Sunday is empty: nothing is said of it
		t.Errorf("today (-want +got):\n%s", diff)
	}
	h.must(200, "PUT", "/v1/rosters/none", `{"days":{}}`)
	if got := read[today](t, h.must(200, "GET", "/v1/rosters/none/today", "")); got.Configured || got.Users == nil {
		t.Errorf("got %+v, want it not configured, with an empty list", got)
	}
}

func TestUsersComeFromCSV(t *testing.T) {
	t.Parallel()
	h := open(t)
	csv := "\ufefftype,id,name,roles,out,sms,manager,time_zone,language\r\nhead_office,u1,\"Li, 四\",planner; 操作员;,a1,,u2,Asia/Urumqi,zh_cn\r\n,u2,,,,138,,,\r\n"
	if got := h.do(asCSV("/v1/users", csv)); got.status != 200 || got.body != `{"stored":2,"warnings":["there is no channel \"out\", in which users have addresses: 1 of these","there is no channel \"sms\", in which users have addresses: 1 of these"]}`+"\n" {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	got := read[list[posthouse.User]](t, h.must(200, "GET", "/v1/users", "")).Items
	want := []posthouse.User{
		{Tenant: "default", ID: "u1", Name: "Li, 四", Type: "head_office", Addresses: map[string]string{"out": "a1"}, Roles: []string{"planner", "操作员"}, TimeZone: "Asia/Urumqi", Language: "zh-CN", Manager: "u2"},
		{Tenant: "default", ID: "u2", Addresses: map[string]string{"sms": "138"}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(posthouse.User{}, "UpdatedAt"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, test := range map[string]struct {
		csv  string
		want []string
	}{
		"nothing":        {"\n", []string{"line 1", "cannot be read: want a header such as id,name,type,dingtalk"}},
		"no id":          {"name\nx\n", []string{"line 1", "has no column id: want a header such as id,name,type,dingtalk"}},
		"a column twice": {"id,out,out\nu,1,2\n", []string{"line 1", `has the column "out" twice`}},
		"only a header":  {"id\n", []string{"users", "has 0 users: want 1 to 10000"}},
		"short line":     {"id,name\nu1\nu2,x\n", []string{"line 2", "wrong number of fields"}},
		"no id in it":    {"id,name\nu1,x\n,y\n", []string{"line 3.id", "is required"}},
		"blank lines":    {"id,name\n\n\nu1,x\n,y\n", []string{"line 5.id", "is required"}},
		"a long name":    {"id,name\nu1," + strings.Repeat("x", 256) + "\n", []string{"line 2.name", "has 256 bytes: at most 255 are allowed"}},
	} {
		got := h.do(asCSV("/v1/users", test.csv))
		if diff := cmp.Diff(problemsOf(test.want), read[fault](t, got).Problems); diff != "" || got.status != 422 {
			t.Errorf("%s: got %d (-want +got):\n%s", name, got.status, diff)
		}
	}
	h.must(200, "GET", "/v1/users/u1", "")
	h.must(204, "DELETE", "/v1/users/u1", "")
	h.must(404, "GET", "/v1/users/u1", "")
}

func TestAKeysSecretIsShownOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	made := read[map[string]any](t, h.must(201, "POST", "/v1/keys", `{"name":"job","scope":"send"}`))
	shown, _ := made["secret"].(string)
	if got := h.do(request{method: "GET", path: "/v1/messages", key: shown}); got.status != 200 {
		t.Errorf("the new key: got %d %s", got.status, got.body)
	}
	listed := h.must(200, "GET", "/v1/keys", "").body
	if secret := shown[strings.LastIndexByte(shown, '_')+1:]; strings.Contains(listed, secret) || !strings.Contains(listed, `"name":"job"`) {
		t.Errorf("the list: got %s, want the key without its secret", listed)
	}
	id, _ := made["id"].(string)
	h.must(204, "DELETE", "/v1/keys/"+id, "")
	if got := h.do(request{method: "GET", path: "/v1/messages", key: shown}); got.status != 401 {
		t.Errorf("the revoked key: got %d", got.status)
	}
	if listed := h.must(200, "GET", "/v1/keys", "").body; !strings.Contains(listed, "revoked_at") {
		t.Errorf("the list does not show that it is revoked: %s", listed)
	}
}
