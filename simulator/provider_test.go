package simulator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const (
	asForm = "application/x-www-form-urlencoded"
	asJSON = "application/json"
	asXML  = "text/xml; charset=utf-8"
)

func TestProvidersReadAndAnswerTheirWireForms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, path, kind, body string
		status                 int
		answer                 string
		want                   []Arrival
	}{
		{
			"tianyuan takes JSON", "/tianyuan/api/message/send", asJSON,
			`{"touser":"u1","title":"值班","content":"你好","msgId":"m1"}`,
			200, `{"code":0,"msg":"ok","data":{"messageId":"ty-ID"}}`,
			[]Arrival{{Provider: "tianyuan", Key: "m1", User: "u1", Title: "值班", Text: "你好", Answer: Accepted, Status: 200}},
		}, {
			"tianyuan refuses inside a 200", "/tianyuan/api/message/send", asJSON,
			`{"touser":"fail-recipient-1","content":"x"}`,
			200, `{"code":1001,"msg":"no such user"}`,
			[]Arrival{{Provider: "tianyuan", User: "fail-recipient-1", Text: "x", Answer: Refused, Status: 200, Code: UnknownUser}},
		}, {
			"tianyuan names the wait", "/tianyuan/api/message/send", asJSON,
			`{"touser":"too-fast","content":"x"}`,
			200, `{"code":2001,"msg":"too many requests","retryAfter":1}`,
			[]Arrival{{Provider: "tianyuan", User: "too-fast", Text: "x", Answer: Refused, Status: 200, Code: TooFast}},
		}, {
			"tianyuan names a missing field", "/tianyuan/api/message/send", asJSON,
			`{"touser":"u1"}`,
			200, `{"code":1003,"msg":"content is missing"}`,
			[]Arrival{{Provider: "tianyuan", Text: "content is missing", Answer: Refused, Status: 200, Code: Malformed}},
		}, {
			"zhaohu takes a batch as JSON", "/zhaohu/im/v1/notify", asJSON,
			`{"receivers":["u1","refuse-content"],"text":"hi","requestNo":["r1","r2"]}`,
			200, `{"success":false,"errCode":"REFUSED","errMsg":"the content is not allowed","result":[{"user":"u1","status":"OK","id":"zh-ID"},{"user":"refuse-content","status":"REFUSED","message":"the content is not allowed"}]}`,
			[]Arrival{
				{Provider: "zhaohu", Key: "r1", User: "u1", Text: "hi", Answer: Accepted, Status: 200},
				{Provider: "zhaohu", Key: "r2", User: "refuse-content", Text: "hi", Answer: Refused, Status: 200, Code: RefusedContent},
			},
		}, {
			"zhaohu takes a form and tells receivers of one number apart", "/zhaohu/im/v1/notify", asForm,
			`receivers=u1,u2&text=hi&requestNo=r`,
			200, `{"success":true,"result":[{"user":"u1","status":"OK","id":"zh-ID"},{"user":"u2","status":"OK","id":"zh-ID"}]}`,
			[]Arrival{
				{Provider: "zhaohu", Key: "r/u1", User: "u1", Text: "hi", Answer: Accepted, Status: 200},
				{Provider: "zhaohu", Key: "r/u2", User: "u2", Text: "hi", Answer: Accepted, Status: 200},
			},
		}, {
			"zhaohu refuses numbers that do not fit the receivers", "/zhaohu/im/v1/notify", asJSON,
			`{"receivers":["a","b","c"],"text":"hi","requestNo":["1","2"]}`,
			200, `{"success":false,"errCode":"BAD_REQUEST","errMsg":"requestNo has 2 values for 3 receivers: give one, or one for each"}`,
			[]Arrival{{Provider: "zhaohu", Text: "requestNo has 2 values for 3 receivers: give one, or one for each", Answer: Refused, Status: 200, Code: Malformed}},
		}, {
			"zhaohu takes at most 100 receivers", "/zhaohu/im/v1/notify", asForm,
			`receivers=` + strings.Repeat("u,", 101) + `&text=hi`,
			200, `{"success":false,"errCode":"BAD_REQUEST","errMsg":"receivers names 101, at most 100 are allowed"}`,
			[]Arrival{{Provider: "zhaohu", Text: "receivers names 101, at most 100 are allowed", Answer: Refused, Status: 200, Code: Malformed}},
		}, {
			"oa takes a form", "/oa/messages", asForm,
			`to=u1&subject=s&body=b&ref=k`,
			200, `OK|oa-ID`,
			[]Arrival{{Provider: "oa", Key: "k", User: "u1", Title: "s", Text: "b", Answer: Accepted, Status: 200}},
		}, {
			"oa takes XML", "/oa/messages", asXML,
			`<message><to>u1</to><subject>s</subject><body>a &lt; b</body><ref>k</ref></message>`,
			200, `OK|oa-ID`,
			[]Arrival{{Provider: "oa", Key: "k", User: "u1", Title: "s", Text: "a < b", Answer: Accepted, Status: 200}},
		}, {
			"oa answers errors as text", "/oa/messages", asForm,
			`to=too-fast&body=b`,
			200, `ERR|E04|too many requests|1`,
			[]Arrival{{Provider: "oa", User: "too-fast", Text: "b", Answer: Refused, Status: 200, Code: TooFast}},
		}, {
			"generic takes any object on any path", "/generic/a/b", asJSON,
			`{"user":"u1","content":"c","id":7}`,
			202, `{"id":"ge-ID"}`,
			[]Arrival{{Provider: "generic", User: "u1", Text: "c", Answer: Accepted, Status: 202}},
		}, {
			"generic refuses through the status", "/generic/send", asJSON,
			`{"to":"fail-recipient","text":"c","id":"k"}`,
			404, `{"error":{"code":"unknown_user","message":"no such user"}}`,
			[]Arrival{{Provider: "generic", Key: "k", User: "fail-recipient", Text: "c", Answer: Refused, Status: 404, Code: UnknownUser}},
		}, {
			"webhook takes an event's recipient from its data", "/webhook/x", asJSON,
			`{"type":"message","data":{"to":"u1","title":"t","text":"c"}}`,
			200, `{"id":"wh-ID"}`,
			[]Arrival{{Provider: "webhook", User: "u1", Title: "t", Text: "c", Answer: Accepted, Status: 200}},
		}, {
			"webhook takes the recipient from the path otherwise", "/webhook/team/a", asJSON,
			`not JSON`,
			200, `{"id":"wh-ID"}`,
			[]Arrival{{Provider: "webhook", User: "team/a", Text: "not JSON", Answer: Accepted, Status: 200}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sim, url := serve(t, Options{})
			got := call(t, "POST", url+test.path, test.body, "Content-Type", test.kind)
			if got.status != test.status || got.body != test.answer {
				t.Errorf("got %d %s\nwant %d %s", got.status, got.body, test.status, test.answer)
			}
			arrivals := sim.Arrivals(Filter{})
			if diff := cmp.Diff(test.want, arrivals, cmpopts.IgnoreFields(Arrival{}, "Seq", "At", "Path", "ID")); diff != "" {
				t.Errorf("arrivals (-want +got):\n%s", diff)
			}
			for i, a := range arrivals {
				if a.Seq != int64(i+1) || a.At.IsZero() || a.Path != test.path || (a.ID == "") != (a.Answer == Refused) {
					t.Errorf("arrival %d: seq %d, at %s, path %s, id %q", i, a.Seq, a.At, a.Path, a.ID)
				}
			}
		})
	}
}

func TestProvidersRefuseWhatTheyCannotRead(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{})
	for _, test := range []struct {
		name, path, kind, body string
		status                 int
		want                   string
	}{
		{"tianyuan: no JSON", "/tianyuan/api/message/send", asJSON, `{`, 200, `"code":1003`},
		{"tianyuan: no user", "/tianyuan/api/message/send", asJSON, `{"content":"x"}`, 200, "touser is missing"},
		{"zhaohu: no JSON", "/zhaohu/im/v1/notify", asJSON, `[]`, 200, "BAD_REQUEST"},
		{"zhaohu: a broken form", "/zhaohu/im/v1/notify", asForm, `text=%zz`, 200, "the body is not a form"},
		{"zhaohu: no receivers", "/zhaohu/im/v1/notify", asJSON, `{"text":"x"}`, 200, "receivers is missing"},
		{"zhaohu: no text", "/zhaohu/im/v1/notify", asJSON, `{"receivers":"u1"}`, 200, "text is missing"},
		{"oa: no to", "/oa/messages", asForm, `body=b`, 200, "ERR|E01|to is missing"},
		{"oa: no body", "/oa/messages", asForm, `to=u`, 200, "ERR|E01|body is missing"},
		{"oa: broken XML", "/oa/messages", asXML, `<message>`, 200, "ERR|E01|the body is neither a form nor XML"},
		{"generic: no JSON", "/generic/", asJSON, `hello`, 400, "the body is not a JSON object"},
		{"generic: a list", "/generic/", asJSON, `[1]`, 400, "malformed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := call(t, "POST", url+test.path, test.body, "Content-Type", test.kind)
			if got.status != test.status || !strings.Contains(got.body, test.want) {
				t.Errorf("got %d %s, want %d with %q", got.status, got.body, test.status, test.want)
			}
		})
	}
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	for size, want := range map[int]int{maxBody: 202, maxBody + 1: 413} {
		body := `{"to":"u","text":"` + strings.Repeat("x", size-20) + `"}`
		if got := call(t, "POST", url+"/generic/send", body); got.status != want {
			t.Errorf("%d bytes: got %d %s, want %d", len(body), got.status, got.body, want)
		}
	}
	if got := sim.Totals().Arrivals; got != 1 {
		t.Errorf("got %d arrivals, want 1", got)
	}
}

func TestProvidersTakePostOnly(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{})
	for _, p := range table(t.Context(), Options{}, newPhones()) {
		got := call(t, "PUT", url+p.path, "")
		if got.status != 405 || got.header.Get("Allow") != "POST" || !strings.Contains(got.body, "use POST") {
			t.Errorf("%s: got %d %s", p.path, got.status, got.body)
		}
	}
}

func TestGenericRecognisesIdempotencyKeys(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	body := `{"to":"u1","text":"x"}`
	for range 3 {
		call(t, "POST", url+"/generic/send", body, "Idempotency-Key", "k1")
	}
	call(t, "POST", url+"/generic/send", body, "Idempotency-Key", "k2")
	arrivals := sim.Arrivals(Filter{})
	if arrivals[0].Repeat || !arrivals[1].Repeat || !arrivals[2].Repeat || arrivals[3].Repeat {
		t.Errorf("got repeats %+v", arrivals)
	}
	if arrivals[0].ID != arrivals[2].ID || arrivals[0].ID == arrivals[3].ID {
		t.Errorf("got ids %s, %s, %s; want the first one again and then another", arrivals[0].ID, arrivals[2].ID, arrivals[3].ID)
	}
	want := Count{Provider: "generic", Key: "k1", Arrivals: 3, Taken: 1, Repeats: 2}
	if got := sim.Count("generic", "k1"); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	wantTotals := Totals{Arrivals: 4, Accepted: 4, Repeats: 2}
	if got := sim.Totals(); got != wantTotals {
		t.Errorf("got %+v, want %+v", got, wantTotals)
	}
}

func TestProvidersWithoutKeysTakeDuplicates(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	for range 2 {
		_, err := tianyuan(t, url, "u1")
		must(t, err)
	}
	want := Totals{Arrivals: 2, Accepted: 2, Duplicates: 1}
	if got := sim.Totals(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if a := sim.Arrivals(Filter{}); a[0].Duplicate || !a[1].Duplicate || a[0].ID == a[1].ID {
		t.Errorf("got %+v", a)
	}
}
