package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

// wrong is a request that is refused, with all that is said about it. Problems are given as path
// and message, in turn.
type wrong struct {
	name, method, path, body string
	status                   int
	detail                   string
	problems                 []string
}

const refused = "the request cannot be accepted"

var wrongMessages = []wrong{
	{"empty", "POST", "/v1/messages", "", 400, "the body is empty: want a JSON object", nil},
	{"blank", "POST", "/v1/messages", " \n ", 400, "the body is empty: want a JSON object", nil},
	{"malformed", "POST", "/v1/messages", "{\n \"channel\": oa}", 400, "the body is not JSON: line 2, column 13: invalid character 'o' looking for beginning of value", nil},
	{"cut off", "POST", "/v1/messages", `{"channel": "oa"`, 400, "the body is not JSON: line 1, column 16: unexpected end of JSON input", nil},
	{"trailing text", "POST", "/v1/messages", `{"channel": "oa"} {}`, 400, "the body is not JSON: line 1, column 19: invalid character '{' after top-level value", nil},
	{"not UTF-8", "POST", "/v1/messages", "{\"channel\": \"\xff\"}", 400, "the body is not valid UTF-8", nil},
	{"too deep", "POST", "/v1/messages", `{"payload":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, 413, "the body nests deeper than 32 levels", nil},
	{"far too deep", "POST", "/v1/messages", strings.Repeat("[", 100_000), 413, "the body nests deeper than 32 levels", nil},
	{"a list", "POST", "/v1/messages", `[]`, 422, refused, []string{"", "is a list: want an object"}},
	{"no fields", "POST", "/v1/messages", `{}`, 422, "the message cannot be accepted", []string{
		"channel", "is required: the name of a configured channel, or a route",
		"to", "is required: 1 to 1000 recipients",
		"content", "is required, or a template with a payload",
	}},
	{"everything at once", "POST", "/v1/messages", `{
		"chanel": "oa", "to": [{"user": 7}, {}, {"user": "a\nb", "adress": "x"}], "content": {"text": true, "title": "t"}, "template": "T",
		"priority": "urgent", "priority": "high", "not_before": "tomorrow", "on_unknown": "guess", "payload": [1]}`, 422, refused, []string{
		"chanel", "there is no field of this name; did you mean channel?",
		"to[0].user", "is a number: want a string",
		"to[2].adress", "there is no field of this name; did you mean address?",
		"content.text", "is true or false: want a string",
		"priority", "stands twice in its object",
		"not_before", `is "tomorrow": want a time such as 2026-10-01T08:30:00+08:00`,
		"channel", "is required: the name of a configured channel, or a route",
		"on_unknown", `is "guess": want retry, hold, query or assume_sent`,
		"to[1]", "names nobody: want a user or an address, a roster or a role",
		"to[2].user", "holds a line break: one line is allowed",
		"payload", "must be a JSON object",
	}},
	{"unknown channel", "POST", "/v1/messages", `{"channel":"nowhere","to":[{"user":"u"}],"content":{"text":"x"}}`, 422, "the message cannot be accepted", []string{
		"channel", `there is no channel "nowhere"; no channels are configured yet`,
	}},
	{"half a surrogate", "POST", "/v1/messages", `{"channel":"c","to":[{"user":"\ud800x"}],"content":{"text":"x"}}`, 422, refused, []string{
		"to[0].user", `holds half of a surrogate pair (\ud800 to \udfff), which is no character`,
		"channel", `there is no channel "c"; no channels are configured yet`,
	}},
	{"an empty list", "POST", "/v1/messages", `{"messages":[]}`, 422, refused, []string{"messages", "has 0 messages: want 1 to 1000"}},
	{"a list that is too long", "POST", "/v1/messages", `{"messages":[` + strings.Repeat("{},", 1000) + `{}]}`, 422, refused, []string{"messages", "has 1001 messages: want 1 to 1000"}},
	{"a list beside a message", "POST", "/v1/messages", `{"channel":"x","messages":[{"to":[{"user":"u"}],"content":{"text":"x"}}]}`, 422, refused, []string{
		"messages", "stands beside fields of a single message: give one of both",
	}},
	{"the third of a list", "POST", "/v1/messages", `{"messages":[{},{"channel":"c"},{"channel":"c","to":[{"user":"u","type":1}],"content":{}}]}`, 422, refused, []string{
		"messages[2].to[0].type", "is a number: want a string",
		"messages[0].channel", "is required: the name of a configured channel, or a route",
		"messages[0].to", "is required: 1 to 1000 recipients",
		"messages[0].content", "is required, or a template with a payload",
		"messages[1].to", "is required: 1 to 1000 recipients",
		"messages[1].content", "is required, or a template with a payload",
		"messages[1].channel", `there is no channel "c"; no channels are configured yet`,
		"messages[2].content.text", "is required",
		"messages[2].channel", `there is no channel "c"; no channels are configured yet`,
	}},
	{"a user with a space behind", "PUT", "/v1/users", `{"users":[{"id":"li.na "}]}`, 422, refused, []string{"users[0].id", `is "li.na ": spaces at its ends are not allowed`}},
	{"a mandatory kind twice", "PUT", "/v1/tenants/default", `{"mandatory_kinds":["alarm","otp","alarm"]}`, 422, refused, []string{"mandatory_kinds[2]", `is "alarm", which stands here twice`}},
	{"a user twice in quiet hours", "PUT", "/v1/tenants/default", `{"quiet_hours":[{"from":"22:00","to":"08:00","users":["li.na","li.na"]}]}`, 422, refused, []string{"quiet_hours[0].users[1]", `is "li.na", which stands here twice`}},
	{"a mandatory kind with a space behind", "PUT", "/v1/tenants/default", `{"mandatory_kinds":["alarm "]}`, 422, refused, []string{"mandatory_kinds[0]", `is "alarm ": spaces at its ends are not allowed`}},
	{"cancel by nothing", "POST", "/v1/messages/cancel", `{"kind":""}`, 422, refused, []string{"kind", "is required", "ref", "is required"}},
}

var wrongSettings = []wrong{
	{"channel without a driver", "PUT", "/v1/channels/c", `{}`, 422, refused, []string{"driver", "is required, or a preset: one of apns, console, dingtalk, dingtalk_robot, dingtalk_work, discard, email, fcm, feishu, httpapi, huawei, pull, sms, test, webhook, wechat, wechat_subscribe, wecom, wecom_robot"}},
	{"channel of another driver", "PUT", "/v1/channels/c", `{"driver":"carrier-pigeon"}`, 422, "the channel cannot be stored", []string{
		"driver", `is "carrier-pigeon", which is not a driver; the drivers are apns, console, dingtalk, dingtalk_robot, dingtalk_work, discard, email, fcm, feishu, httpapi, huawei, pull, sms, test, webhook, wechat, wechat_subscribe, wecom, wecom_robot`,
	}},
	{"channel with wrong settings", "PUT", "/v1/channels/C%20d", `{"driver":"test","tries":-1,"timeout":"1h","time_zone":"Mars","limits":[{"max":0,"per":"1s"}],"config":{"size":10,"tokn":"x"}}`, 422,
		"the channel cannot be stored", []string{
			"name", `is "C d": want 1 to 63 of a-z, 0-9, '-', '_' and '.', the first a letter or digit`,
			"timeout", "is 1h: want 100ms to 5m",
			"tries", "-1 is not between 1 and 1000",
			"time_zone", `is "Mars", which is not an IANA time zone such as Asia/Shanghai`,
			"limits[0].max", "is 0, must be from 1 to 1000000000; no limit is an empty list",
			"config.size", "10 is not allowed; give a whole number from 1 to 9",
			"config.tokn", "there is no setting of this name; did you mean token?",
		}},
	{"channel with wrong types", "PUT", "/v1/channels/c", `{"driver":"test","tries":"3","every":60,"jitter":"x","limits":{},"name":"d","tenant":"other"}`, 422, refused, []string{
		"tries", "is a string: want a whole number",
		"every", `is a number: want a duration such as "500ms", "90s", "5m", "1h30m" or "7d"`,
		"jitter", "is a string: want a number",
		"limits", "is an object: want a list",
		"name", `is "d", but the path says "c"`,
		"tenant", "is not the key's: leave it out",
	}},
	{"pausing nothing", "POST", "/v1/channels/c/pause", `{"reason":"a\nb"}`, 422, refused, []string{"reason", "holds a line break: one line is allowed"}},
	{"roster", "PUT", "/v1/rosters/duty", `{"days":{"8":["u"],"1":["",2]},"overrides":{"2026-13-01":[]},"hand_over":"25:00","time_zone":"Mars"}`, 422, refused, []string{
		"days.1[1]", "is a number: want a string",
		"days.1[0]", "an empty user id",
		"days.8", `"8" is not a day of the week from 1 (Monday) to 7`,
		"overrides.2026-13-01", `"2026-13-01" is not a date such as 2026-10-01`,
		"hand_over", `"25:00" is not a time of day such as 08:30, from 00:00 to 23:59`,
		"time_zone", `"Mars" is not a time zone such as Asia/Shanghai or UTC`,
	}},
	{"roster named as its CSV", "PUT", "/v1/rosters/duty.csv", `{"days":{"1":["u"]}}`, 422, refused, []string{
		"name", "ends in .csv, which asks for a roster in that form when it is read: leave it out",
	}},
	{"roster named as its calendar", "PUT", "/v1/rosters/duty.ics", `{"days":{"1":["u"]}}`, 422, refused, []string{
		"name", "ends in .ics, which asks for a roster in that form when it is read: leave it out",
	}},
	{"template", "PUT", "/v1/templates/a%2Fb", `{"title":"${","variables":[1]}`, 422, refused, []string{
		"variables[0]", "is a number: want a string",
		"name", `is "a/b": /, \, ?, #, % and spaces at the ends are not allowed in a name`,
		"text", "is required",
		"title", `line 1, column 1: "${" has no closing "}" on its line; write "$${" for the text "${"`,
	}},
	{"preview of nothing", "POST", "/v1/templates/t/preview", `{"payload":{},"text":"${x"}`, 422, refused, []string{"text", `line 1, column 1: "${" has no closing "}" on its line; write "$${" for the text "${"`}},
	{"users", "PUT", "/v1/users", `{"users":[{"name":"n"},{"id":"b","tenant":"other","addresses":{"sms":"1\n2"},"roles":["a","b;c",""]}]}`, 422, refused, []string{
		"users[0].id", "is required",
		"users[1].tenant", "is not the key's: leave it out",
		"users[1].roles[1]", `is "b;c": want a name without ;`,
		"users[1].roles[2]", `is "": want a name without ;`,
		"users[1].addresses.sms", "holds a line break: one line is allowed",
	}},
	{"no users", "PUT", "/v1/users", `{}`, 422, refused, []string{"users", "has 0 users: want 1 to 10000"}},
	{"key", "POST", "/v1/keys", `{"name":"","scope":"root"}`, 422, refused, []string{"name", "is required: who or what uses the key", "scope", `is "root": want one of read, send, admin, agent`}},
	{"key of nothing", "POST", "/v1/keys", `{"name":1}`, 422, refused, []string{"name", "is a number: want a string", "scope", `is "": want one of read, send, admin, agent`}},
	{"notice", "POST", "/v1/notices", `{"userId":"","userType":"boss","platform":"pigeon","messageContent":1}`, 422, refused, []string{
		"messageContent", "is a number: want a string",
		"userId", "is required",
		"platform", `is "pigeon": want tianyuan (天元) or zhaohu (招呼)`,
		"userType", `is "boss": want head_office (总行) or branch (分行)`,
	}},
	{"notice without a channel", "POST", "/v1/notices", `{"userId":"u","userType":"总行","platform":"天元","messageContent":"x"}`, 422, refused, []string{
		"platform", "has no channel yet: configure it with PUT /v1/channels/tianyuan",
	}},
	{"resolve of everything", "POST", "/v1/deliveries/resolve", `{"outcome":"sent","states":["failed","quarantined"],"max":-1}`, 422, refused, []string{
		"max", "is -1: want 1 to 100000", "states[0]", `is "failed": want one of unknown, quarantined`, "outcome", "is sent, and quarantined deliveries were not: want not_sent or retry for these",
		"channel", "or kind, ref, user, account, reason, since or until is required: a decision about everything is not meant by accident",
		"confirm", `is "": want the confirm of a count, the same request with dry_run`,
	}},
	{"replay of unknown", "POST", "/v1/deliveries/replay", `{"channel":"out","states":["unknown"]}`, 422, refused, []string{
		"states[0]", "is unknown: whether these arrived is decided by POST /v1/deliveries/resolve, whose outcome retry sends them again",
	}},
	{"resolve", "POST", "/v1/deliveries/x/resolve", `{"outcome":"maybe"}`, 422, refused, []string{"outcome", `is "maybe": want one of sent, not_sent, retry`}},
	{"replay of everything", "POST", "/v1/deliveries/replay", `{"states":["sent"],"max":-1}`, 422, refused, []string{
		"max", "is -1: want 1 to 100000",
		"states[0]", `is "sent": want one of failed, expired, quarantined, undelivered`,
		"channel", "or kind, ref, user, account, reason, since or until is required: a replay of everything is not meant by accident",
	}},
	{"a query for nothing", "GET", "/v1/messages?chanel=x&limit=0&since=now&state=lost,sent&limit=3", "", 422, refused, []string{
		"query.chanel", "there is no query parameter of this name; did you mean channel?",
		"query.limit", "stands 2 times: once is allowed",
		"query.state", `is "lost": want one of pending, sending, unknown, quarantined, sent, delivered, undelivered, failed, cancelled, expired, suppressed`,
		"query.since", `is "now": want a time such as 2026-10-01T08:30:00+08:00 (with + escaped as %2B)`,
		"query.limit", `is "0": want a whole number from 1 to 1000`,
	}},
	{"a query that ends before it begins", "GET", "/v1/deliveries?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "", 422, refused, []string{"query.until", "must be later than since"}},
	{"a tampered cursor", "GET", "/v1/messages?cursor=abc", "", 422, refused, []string{"query.cursor", "is not one that this list returned: leave it out to begin anew"}},
	{"a query where there is none", "DELETE", "/v1/rosters/r?force=1", "", 422, refused, []string{"query.force", "there is no query parameter of this name, and none is known"}},
}

// codes are the codes of the statuses that wrong input gets.
var codes = map[int]posthouse.Code{400: posthouse.CodeInvalid, 413: posthouse.CodeTooLarge, 422: posthouse.CodeInvalid}

func problemsOf(pairs []string) []posthouse.Problem {
	var list []posthouse.Problem
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, posthouse.Problem{Path: pairs[i], Message: pairs[i+1]})
	}
	return list
}

func TestWrongInputIsNamedAtOnceAndChangesNothing(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, w := range append(wrongMessages, wrongSettings...) {
		got := h.do(request{method: w.method, path: w.path, body: w.body, header: http.Header{"Content-Type": {"application/json"}}})
		want := fault{Status: w.status, Code: codes[w.status], Detail: w.detail, Problems: problemsOf(w.problems)}
		if got.status != w.status || got.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: got %d %s, want %d", w.name, got.status, got.header, w.status)
		}
		if diff := cmp.Diff(want, read[fault](t, got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", w.name, diff)
		}
	}
	for _, path := range []string{"messages", "deliveries", "channels", "templates", "rosters", "users", "notices"} {
		if got := h.must(200, "GET", "/v1/"+path, ""); got.body != "{\"items\":[]}\n" {
			t.Errorf("%s are stored after wrong input only: %s", path, got.body)
		}
	}
	if got := len(read[list[posthouse.Key]](t, h.must(200, "GET", "/v1/keys", "")).Items); got != 4 {
		t.Errorf("got %d keys, want the 4 of the house", got)
	}
}

func TestWhatIsNotOfTheAPIIsRefused(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, w := range []struct {
		name   string
		r      request
		status int
		code   posthouse.Code
		detail string
	}{
		{"address", request{method: "GET", path: "/v1/mesages"}, 404, "not_found", `there is no address "/v1/mesages"; /openapi.json lists all there are`},
		{"content type", request{method: "POST", path: "/v1/messages", body: "a=b", header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}}, 415, "invalid", `the Content-Type is "application/x-www-form-urlencoded": want application/json`},
		{"content type of a roster", request{method: "PUT", path: "/v1/rosters/r", body: "<a>", header: http.Header{"Content-Type": {"text/xml"}}}, 415, "invalid", `the Content-Type is "text/xml": want application/json or text/csv or text/calendar`},
		{"content encoding", request{method: "POST", path: "/v1/messages", body: "x", header: http.Header{"Content-Encoding": {"gzip"}}}, 415, "invalid", `the Content-Encoding is "gzip": send the body as it is`},
		{"large body", request{method: "POST", path: "/v1/messages", body: `"` + strings.Repeat("x", 1<<20) + `"`}, 413, "too_large", "the body is larger than the 1048576 bytes that are allowed"},
		{"large roster", request{method: "PUT", path: "/v1/users", body: strings.Repeat("x", 1<<20+1), header: http.Header{"Content-Type": {"text/csv"}}}, 413, "too_large", "the body is larger than the 1048576 bytes that are allowed"},
	} {
		got := h.do(w.r)
		want := fault{Status: w.status, Code: w.code, Detail: w.detail}
		if diff := cmp.Diff(want, read[fault](t, got)); diff != "" || got.status != w.status {
			t.Errorf("%s: status %d (-want +got):\n%s", w.name, got.status, diff)
		}
	}
}

func TestAnotherMethodIsToldTheAllowedOnes(t *testing.T) {
	t.Parallel()
	h := open(t)
	for path, want := range map[string]string{
		"/v1/messages": "GET, POST, HEAD", "/v1/channels/x": "GET, PUT, DELETE, HEAD", "/v1/deliveries/replay": "GET, POST, HEAD", "/healthz": "GET, HEAD",
	} {
		got := h.do(request{method: "PATCH", path: path})
		if allow := strings.Join(got.header["Allow"], ", "); got.status != 405 || allow != want {
			t.Errorf("PATCH %s: got %d, Allow %q; want 405, Allow %q", path, got.status, allow, want)
		}
	}
}

func TestLargeHeadersAreRefused(t *testing.T) {
	t.Parallel()
	h := open(t)
	got := h.do(request{method: "GET", path: "/v1/messages", header: http.Header{"X-Large": {strings.Repeat("x", 64<<10)}}})
	if got.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %d, want 431", got.status)
	}
}

func TestManyProblemsAreCutAtAHundred(t *testing.T) {
	t.Parallel()
	h := open(t)
	for name, body := range map[string]string{
		"of types":  `{"to":[` + strings.Repeat("1,", 200) + `1],"content":{"text":"x"}}`,
		"of values": `{"messages":[` + strings.Repeat("{},", 200) + `{}]}`,
	} {
		got := read[fault](t, h.must(422, "POST", "/v1/messages", body)).Problems
		want := posthouse.Problem{Message: "there are more problems than the 100 listed"}
		if len(got) != 101 || got[100] != want {
			t.Errorf("%s: got %d problems, the last %+v; want 100 and %+v", name, len(got), got[len(got)-1], want)
		}
	}
}
