package simulator

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

func TestFaultsAreSetShownAndCleared(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	body := `{"faults":[{"kind":"business","probability":0.5,"recipient":"u*","times":3,"latency":"1m","jitter":"1s","retry_after":7,"code":"too_fast"},` +
		`{"kind":"redirect","status":307,"location":"/x"}],"limit":{"max":20,"per":"1s","lockout":"10s"}}`
	if got := call(t, "PUT", url+"/faults/oa", body); got.status != 200 || got.body != body+"\n" {
		t.Errorf("PUT: got %d %s\nwant %s", got.status, got.body, body)
	}
	if got := call(t, "GET", url+"/faults/oa", ""); got.body != body+"\n" {
		t.Errorf("GET: got %s\nwant %s", got.body, body)
	}
	all := decode[map[string]Behaviour](t, call(t, "GET", url+"/faults", "").body)
	if got := slices.Sorted(maps.Keys(all)); !cmp.Equal(got, []string{"apns", "dingtalk", "dingtalk_card", "dingtalk_robot", "dingtalk_work", "fcm", "feishu", "generic", "huawei", "mail", "oa", "phones", "sms_aliyun", "sms_tencent", "tianyuan", "webhook", "wechat", "wechat_subscribe", "wecom", "wecom_robot", "zhaohu"}) || len(all["oa"].Faults) != 2 {
		t.Errorf("GET /faults: got %+v", all)
	}
	if got := call(t, "DELETE", url+"/faults/oa", ""); got.status != 204 {
		t.Errorf("DELETE: got %d", got.status)
	}
	if got := call(t, "GET", url+"/faults/oa", ""); got.body != "{\"faults\":[]}\n" {
		t.Errorf("after DELETE: got %s", got.body)
	}
	if got := len(sim.Behaviours()["oa"].Faults); got != 0 {
		t.Errorf("after DELETE: %d faults", got)
	}
}

func TestWrongBehavioursNameTheFieldAndChangeNothing(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	must(t, sim.Behave("oa", Behaviour{Faults: []Fault{{Kind: Hang}}}))
	many := "[" + strings.TrimSuffix(strings.Repeat(`{"kind":"hang"},`, 101), ",") + "]"
	for _, test := range []struct {
		body string
		want []string // path: message
	}{
		{``, []string{"body: it is not a JSON object: unexpected end of JSON input"}},
		{`[]`, []string{"body: it is not a JSON object: it is a JSON array and must be an object"}},
		{`null`, []string{"body: it is not a JSON object"}},
		{`{} {}`, []string{"body: it is not a JSON object: invalid character '{' after top-level value"}},
		{`{"fault":[]}`, []string{"fault: there is no such field; allowed are accounts, faults, limit"}},
		{`{"faults":{}}`, []string{"faults: it cannot be read: it is a JSON object and must be a list"}},
		{`{"faults":[1]}`, []string{"faults[0]: it is not a JSON object: it is a JSON number and must be an object"}},
		{`{"faults":[{}]}`, []string{`faults[0].kind: "" is not a kind of fault; allowed are latency, rate_limited, server_error, business, cut_before, cut_after, garbage, hang, redirect`}},
		{`{"faults":[{"kind":"hang"},{"kind":"hang","tmies":1,"times":"x"}]}`, []string{
			"faults[1].times: it cannot be read: it is a JSON string and must be a whole number",
			"faults[1].tmies: there is no such field; allowed are code, jitter, kind, latency, location, probability, recipient, retry_after, status, times",
		}},
		{`{"faults":[{"kind":"hang","probability":0},{"kind":"hang","probability":1.5}]}`, []string{
			"faults[0].probability: 0 is out of range; it must be above 0 and at most 1",
			"faults[1].probability: 1.5 is out of range; it must be above 0 and at most 1",
		}},
		{`{"faults":[{"kind":"hang","recipient":"[a"}]}`, []string{`faults[0].recipient: "[a" is not a pattern; *, ? and [a-z] are allowed`}},
		{`{"faults":[{"kind":"hang","times":-1}]}`, []string{"faults[0].times: -1 is out of range; 0 to 2147483648 is allowed"}},
		{`{"faults":[{"kind":"latency"}]}`, []string{"faults[0].latency: it is missing; a latency fault needs a latency or a jitter such as 200ms"}},
		{`{"faults":[{"kind":"latency","latency":"soon"}]}`, []string{`faults[0].latency: it cannot be read: "soon" is not a duration such as 500ms, 90s, 5m, 1h30m or 7d`}},
		{`{"faults":[{"kind":"latency","latency":5}]}`, []string{`faults[0].latency: it cannot be read: it is a JSON number and must be a duration such as "200ms" or "90s"`}},
		{`{"faults":[{"kind":"latency","latency":"11m","jitter":"-1s"}]}`, []string{
			"faults[0].latency: 11m is out of range; 0s to 10m is allowed",
			"faults[0].jitter: -1s is out of range; 0s to 10m is allowed",
		}},
		{`{"faults":[{"kind":"hang","status":500,"code":"busy","location":"/","retry_after":1}]}`, []string{
			"faults[0].retry_after: a hang fault has no such field; it goes with rate_limited, server_error, business",
			"faults[0].status: a hang fault has no such field; it goes with server_error, redirect",
			"faults[0].code: a hang fault has no such field; it goes with business",
			"faults[0].location: a hang fault has no such field; it goes with redirect",
		}},
		{`{"faults":[{"kind":"server_error","status":404},{"kind":"redirect","status":304},{"kind":"business","code":"malformed"}]}`, []string{
			"faults[0].status: 404 is out of range; 500 to 599 is allowed",
			"faults[1].status: 304 is not a redirect; allowed are 301, 302, 303, 307 and 308",
			`faults[2].code: "malformed" is not a refusal; allowed are unknown_user, refused_content, too_fast, busy`,
		}},
		{`{"faults":[{"kind":"rate_limited","retry_after":-1}]}`, []string{"faults[0].retry_after: -1 is out of range; 0 to 86400 is allowed"}},
		{`{"faults":` + many + `}`, []string{"faults: there are 101, at most 100 are allowed"}},
		{`{"limit":{"max":0,"lockout":"25h","every":"1s"}}`, []string{"limit.every: there is no such field; allowed are lockout, max, per"}},
		{`{"limit":{"max":0,"lockout":"25h"}}`, []string{
			"limit.max: 0 is out of range; 1 to 100000 is allowed",
			"limit.per: 0s is out of range; 1ms to 24h is allowed",
			"limit.lockout: 25h is out of range; 0s to 24h is allowed",
		}},
	} {
		t.Run(test.body[:min(len(test.body), 60)], func(t *testing.T) {
			t.Parallel()
			got := call(t, "PUT", url+"/faults/oa", test.body)
			if got.status != 400 || got.header.Get("Content-Type") != "application/problem+json" {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			answer := decode[struct{ Problems []posthouse.Problem }](t, got.body)
			var texts []string
			for _, p := range answer.Problems {
				texts = append(texts, p.Path+": "+p.Message)
			}
			if diff := cmp.Diff(test.want, texts); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if left := sim.Behaviours()["oa"]; len(left.Faults) != 1 || left.Faults[0].Kind != Hang {
				t.Errorf("a wrong request left %+v", left)
			}
		})
	}
}

func TestWrongRequestsAreExplained(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{})
	for _, test := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/nothing", 404, "GET /nothing is not served"},
		{"POST", "/messages", 404, "POST /messages is not served"},
		{"GET", "/faults/pigeon", 404, `there is no provider \"pigeon\"; there are tianyuan, zhaohu, oa, generic, webhook`},
		{"DELETE", "/faults/pigeon", 404, "there is no provider"},
		{"GET", "/messages?provider=pigeon", 400, `\"pigeon\" is not a provider`},
		{"GET", "/messages?limit=0", 400, `\"0\" is not a number from 1 to 10000`},
		{"GET", "/messages?since=x&limti=1", 400, `"path":"limti"`},
		{"GET", "/messages?since=x", 400, `"path":"since"`},
		{"GET", "/counts?key=k", 400, "it is missing; a key is a provider's own"},
		{"GET", "/counts?at_least=0", 400, `"path":"at_least"`},
		{"GET", "/?provider=pigeon", 400, `"path":"provider"`},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			t.Parallel()
			got := call(t, test.method, url+test.path, "")
			if got.status != test.status || !strings.Contains(got.body, test.want) {
				t.Errorf("got %d %s, want %d with %s", got.status, got.body, test.status, test.want)
			}
		})
	}
}

func TestMessagesAreListedOverHTTP(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{})
	type page struct {
		Messages []Arrival
		Totals   Totals
	}
	if got := call(t, "GET", url+"/messages", ""); !strings.HasPrefix(got.body, `{"messages":[],"totals":{"arrivals":0,`) {
		t.Errorf("empty: got %s", got.body)
	}
	send(t, url, "a", "b", "a", "fail-recipient")
	for query, want := range map[string][]int64{
		"":                           {1, 2, 3, 4},
		"?user=a":                    {1, 3},
		"?since=1&limit=2":           {2, 3},
		"?limit=1":                   {4},
		"?provider=oa":               {},
		"?provider=tianyuan&key=b":   {2},
		"?since=0&limit=10000&key=a": {1, 3},
	} {
		got := decode[page](t, call(t, "GET", url+"/messages"+query, "").body)
		if !cmp.Equal(seqs(got.Messages), want) {
			t.Errorf("%s: got %v, want %v", query, seqs(got.Messages), want)
		}
		if want := (Totals{Arrivals: 4, Accepted: 3, Refused: 1, Duplicates: 1}); got.Totals != want {
			t.Errorf("%s: got totals %+v, want %+v", query, got.Totals, want)
		}
	}
	counts := call(t, "GET", url+"/counts", "").body
	if want := `{"counts":[{"provider":"tianyuan","key":"a","arrivals":2,"taken":2,"repeats":0}],"total":1}` + "\n"; counts != want {
		t.Errorf("got %s, want %s", counts, want)
	}
	if got := call(t, "GET", url+"/counts?provider=tianyuan&key=b", "").body; !strings.Contains(got, `"key":"b","arrivals":1`) {
		t.Errorf("got %s", got)
	}
	if got := call(t, "DELETE", url+"/messages", ""); got.status != 204 {
		t.Errorf("DELETE: got %d", got.status)
	}
	if got := decode[page](t, call(t, "GET", url+"/messages", "").body); len(got.Messages) != 0 || got.Totals != (Totals{}) {
		t.Errorf("after DELETE: got %+v", got)
	}
}

func TestStatsNameEachProvider(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	send(t, url, "a", "cut")
	call(t, "POST", url+"/oa/messages", "")
	got := decode[Status](t, call(t, "GET", url+"/stats", "").body)
	if len(got.Providers) != len(sim.Providers()) || got.StartedAt.IsZero() || got.Kept != 3 {
		t.Errorf("got %+v", got)
	}
	if want := (Stats{Totals: Totals{Arrivals: 1, Refused: 1}, Requests: 1, Malformed: 1}); got.Providers["oa"] != want {
		t.Errorf("oa: got %+v, want %+v", got.Providers["oa"], want)
	}
}

func TestBehaveRefusesUnknownProviders(t *testing.T) {
	t.Parallel()
	err := New(Options{}).Behave("pigeon", Behaviour{})
	if got := posthouse.CodeOf(err); got != posthouse.CodeNotFound {
		t.Errorf("got %s: %v", got, err)
	}
	err = New(Options{}).Behave("oa", Behaviour{Faults: []Fault{{Kind: "x"}}})
	if got := posthouse.CodeOf(err); got != posthouse.CodeInvalid {
		t.Errorf("got %s: %v", got, err)
	}
}

func TestRoutesOfProvidersDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, p := range table(t.Context(), Options{}, newPhones()) {
		for _, unique := range []string{"name " + p.name, "path " + p.path, "prefix " + p.prefix} {
			if other, taken := seen[unique]; taken {
				t.Errorf("%s and %s share %s", p.name, other, unique)
			}
			seen[unique] = p.name
		}
		if p.title == "" || p.titleZH == "" || !strings.HasPrefix(p.path, "/"+p.name+"/") {
			t.Errorf("%s is incomplete: %s", p.name, fmt.Sprint(p.title, p.titleZH, p.path))
		}
	}
}

func TestAnotherSitesPageCommandsNothing(t *testing.T) {
	t.Parallel()
	sim := New(Options{})
	for name, test := range map[string]struct {
		method, path string
		header       map[string]string
		want         int
	}{
		"a program":               {"DELETE", "/messages", nil, 204},
		"our own page":            {"DELETE", "/messages", map[string]string{"Sec-Fetch-Site": "same-origin"}, 204},
		"another site":            {"DELETE", "/messages", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"another site's form":     {"POST", "/generic/x", map[string]string{"Origin": "https://stranger.example"}, 403},
		"another site that looks": {"GET", "/messages", map[string]string{"Sec-Fetch-Site": "cross-site"}, 200},
	} {
		r := httptest.NewRequest(test.method, "http://127.0.0.1:8090"+test.path, nil)
		for key, value := range test.header {
			r.Header.Set(key, value)
		}
		w := httptest.NewRecorder()
		sim.ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("%s: got %d %s, want %d", name, w.Code, w.Body, test.want)
		}
	}
}
