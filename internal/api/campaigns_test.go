package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// into decodes an answer.
func into[T any](t testing.TB, r reply) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	return v
}

func withCampaign(t *testing.T) *house {
	h := with(t)
	h.must(200, "PUT", "/v1/templates/coupon", `{"text":"${name}: ${sum} off until ${until}"}`)
	h.must(200, "POST", "/v1/campaigns", `{"name":"coupon-a","channel":"out","template":"coupon","payload":{"until":"Sunday"},"deadline":"2040-01-01T00:00:00Z"}`)
	return h
}

// CAMP-1, CAMP-9, CAMP-10: from a file in parts to a plan, a look-up and an export.
func TestACampaignIsFilledPlannedAndLookedUp(t *testing.T) {
	t.Parallel()
	h := withCampaign(t)
	file := "openid,name,sum\no1,张三,20\no2,=1+1,30\no1,again,1\nbad\no3,李四,40\n"
	first := into[posthouse.Audience](t, h.must(200, "POST", "/v1/campaigns/coupon-a/members", file[:40]))
	if first.State != posthouse.AudienceOpen || first.Offset == 0 || first.Offset > 40 {
		t.Fatalf("after the first part: %+v", first)
	}
	if got := into[wire.Campaign](t, h.must(200, "GET", "/v1/campaigns/coupon-a", "")); got.State != posthouse.CampaignImporting {
		t.Errorf("while importing the campaign is %s", got.State)
	}
	rest := h.do(request{
		method: "POST", path: fmt.Sprintf("/v1/campaigns/coupon-a/members?final=true&offset=%d&sha256=%s", first.Offset, first.SHA256),
		body: gzipped(t, file[first.Offset:]), header: http.Header{"Content-Type": {"application/gzip"}, "Content-Encoding": {"gzip"}},
	})
	if a := into[posthouse.Audience](t, rest); rest.status != 200 || a.State != posthouse.AudienceReady || a.Members != 3 || a.Repeated != 1 || a.Refused != 1 || a.Offset != int64(len(file)) {
		t.Fatalf("after the last part: %d %s", rest.status, rest.body)
	}
	got := into[wire.Campaign](t, h.must(200, "GET", "/v1/campaigns/coupon-a", ""))
	if want := (wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 3, Unsent: 3}, Reasons: []wire.CampaignReason{}}); got.State != posthouse.CampaignReady || !cmp.Equal(got.Progress, want) || got.People.Fields["sum"] != 4 {
		t.Errorf("the campaign is %+v", got)
	}
	plan := into[wire.CampaignPlan](t, h.must(200, "GET", "/v1/campaigns/coupon-a/plan", ""))
	want := wire.CampaignPlan{
		Members: 3, Repeated: 1, Refused: 1, Segments: 1, Mapping: []wire.CampaignParameter{}, Missing: map[string]int64{}, Problems: []wire.Flaw{}, Windows: []wire.Window{}, Forecast: []wire.CampaignForecast{}, Samples: []wire.CampaignSample{
			{Seq: 1, Address: "o1", Content: posthouse.Content{Text: "张三: 20 off until Sunday"}, Problems: []wire.Flaw{}},
			{Seq: 2, Address: "o2", Content: posthouse.Content{Text: "=1+1: 30 off until Sunday"}, Problems: []wire.Flaw{}},
			{Seq: 4, Address: "o3", Content: posthouse.Content{Text: "李四: 40 off until Sunday"}, Problems: []wire.Flaw{}},
		},
	}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
	who := into[wire.CampaignMember](t, h.must(200, "GET", "/v1/campaigns/coupon-a/who?address=o3", ""))
	if who.Seq != 4 || who.Outcome != "unsent" || string(who.Variables) != `{"name":"李四","sum":"40"}` {
		t.Errorf("o3 is %+v", who)
	}
	h.must(404, "GET", "/v1/campaigns/coupon-a/who?address=nobody", "")
	if csv := h.must(200, "GET", "/v1/campaigns/coupon-a/members?format=csv&outcome=unsent", "").body; csv != `seq,address,outcome,code,error,account,segment,variables
1,o1,unsent,,,,,"{""name"":""张三"",""sum"":""20""}"
2,o2,unsent,,,,,"{""name"":""=1+1"",""sum"":""30""}"
4,o3,unsent,,,,,"{""name"":""李四"",""sum"":""40""}"
` {
		t.Errorf("the export is %s", csv)
	}
	if body := h.must(200, "GET", "/v1/campaigns/coupon-a/members?outcome=sent", "").body; body != "" {
		t.Errorf("nobody was sent to, and the export is %s", body)
	}
	if body := h.must(200, "GET", "/v1/campaigns/coupon-a/refused", "").body; body != `{"line":5,"column":4,"reason":"has 1 fields: want 3, one for each column","text":"bad"}`+"\n" {
		t.Errorf("refused are %s", body)
	}
	h.must(409, "POST", "/v1/campaigns/coupon-a/pause", "")
	h.must(200, "POST", "/v1/channels/out/pause", "")
	if got := into[wire.Campaign](t, h.must(200, "POST", "/v1/campaigns/coupon-a/start", "{}")); got.State != posthouse.CampaignRunning || got.StartedAt.IsZero() || got.Version != 1 {
		t.Errorf("after the start: %+v", got)
	}
	h.must(409, "POST", "/v1/campaigns/coupon-a/start", "{}")
	for _, step := range []struct {
		action string
		state  posthouse.CampaignState
	}{{"pause", posthouse.CampaignPaused}, {"repair", posthouse.CampaignPaused}, {"resume", posthouse.CampaignRunning}} {
		if got := into[wire.Campaign](t, h.must(200, "POST", "/v1/campaigns/coupon-a/"+step.action, "")); got.State != step.state {
			t.Errorf("after %s it is %s, want %s", step.action, got.State, step.state)
		}
	}
	if got := into[wire.Campaign](t, h.must(200, "POST", "/v1/campaigns/coupon-a/cancel", "")); got.State != posthouse.CampaignCancelled || got.Progress.Cancelled+got.Progress.Unsent != 3 {
		t.Errorf("after the cancel: %+v", got)
	}
	h.must(409, "POST", "/v1/campaigns/coupon-a/cancel", "")
	h.must(404, "GET", "/v1/campaigns/nobody/watch", "")
	watched := h.watch("/v1/campaigns/coupon-a/watch") // it ends when everybody is cancelled
	if !strings.HasPrefix(watched, "event: progress\ndata: {") || !strings.Contains(watched, `"cancelled":3`) || !strings.HasSuffix(watched, "event: end\ndata: \"the campaign has ended\"\n\n") {
		t.Errorf("who watches is told %s", watched)
	}
	if list := into[wire.Page[posthouse.Campaign]](t, h.must(200, "GET", "/v1/campaigns?state=cancelled", "")); len(list.Items) != 1 || list.Items[0].Name != "coupon-a" {
		t.Errorf("the list is %+v", list)
	}
	for action, n := range map[string]int{"campaigns.create": 1, "campaigns.members": 2, "campaigns.start": 1, "campaigns.pause": 1, "campaigns.cancel": 1} {
		if list := into[wire.Page[wire.AuditEntry]](t, h.must(200, "GET", "/v1/audit?action="+action, "")); len(list.Items) != n || list.Items[0].Target != "coupon-a" {
			t.Errorf("the audit log has %d of %s: %+v", len(list.Items), action, list.Items)
		}
	}
}

// watch reads a stream that ends by itself.
func (h *house) watch(path string) string {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.url+path, http.NoBody)
	if err != nil {
		h.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.keys["admin"])
	res, err := h.http.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		h.Fatalf("%s answers %d, %v", path, res.StatusCode, err)
	}
	return string(text)
}

// A file that is larger than a body may be is read as it comes.
func TestAFileOfPeopleMayBeLargerThanABody(t *testing.T) {
	t.Parallel()
	h := withCampaign(t)
	var b strings.Builder
	b.WriteString("openid,name\n")
	for i := range 40_000 {
		fmt.Fprintf(&b, "o6_bmjrPTlm6_2sgVt7hM%07d,张三\n", i)
	}
	if b.Len() < 1<<20 {
		t.Fatal("the file is no larger than a body may be")
	}
	a := into[posthouse.Audience](t, h.must(200, "POST", "/v1/campaigns/coupon-a/members?final=true", b.String()))
	if a.Members != 40_000 {
		t.Errorf("%+v", a)
	}
	plan := into[wire.CampaignPlan](t, h.must(200, "GET", "/v1/campaigns/coupon-a/plan", ""))
	if diff := cmp.Diff(map[string]int64{"sum": 40_000}, plan.Missing); diff != "" || plan.Segments != 40 || len(plan.Samples) != 5 || len(plan.Samples[0].Problems) != 1 {
		t.Errorf("the plan has %d segments and %+v (-want +got):\n%s", plan.Segments, plan.Samples, diff)
	}
}

// A stored list is used by several campaigns, and other tenants see nothing of either.
func TestAStoredListServesSeveralCampaigns(t *testing.T) {
	t.Parallel()
	h := with(t)
	h.must(200, "POST", "/v1/audiences", `{"name":"vip","channel":"out"}`)
	draft := func(name string) string {
		return `{"name":"` + name + `","channel":"out","content":{"text":"hello"},"audience":"vip"}`
	}
	if got := h.must(422, "POST", "/v1/campaigns", draft("early")); !strings.Contains(got.body, "vip is still being imported") {
		t.Errorf("a campaign for a list that is not complete: %s", got.body)
	}
	h.must(200, "POST", "/v1/audiences/vip/members?final=true&format=ndjson&address=to", `{"to":"o1"}`+"\n"+`{"to":"o2"}`)
	for _, name := range []string{"a", "b"} {
		got := into[wire.Campaign](t, h.must(200, "POST", "/v1/campaigns", draft(name)))
		if got.State != posthouse.CampaignReady || got.People.Members != 2 || got.Audience != "vip" {
			t.Errorf("%s is %+v", name, got)
		}
	}
	h.must(409, "POST", "/v1/campaigns", draft("a"))
	h.must(409, "POST", "/v1/campaigns/a/members", "openid\no3\n")
	if list := into[wire.Page[posthouse.Audience]](t, h.must(200, "GET", "/v1/audiences", "")); len(list.Items) != 1 || list.Items[0].Name != "vip" {
		t.Errorf("the lists are %+v", list)
	}
	for _, path := range []string{"/v1/campaigns/a", "/v1/campaigns/a/plan", "/v1/campaigns/a/members", "/v1/campaigns/a/refused", "/v1/campaigns/a/who?address=o1", "/v1/audiences/vip", "/v1/audiences/vip/refused"} {
		if got := h.do(request{method: "GET", path: path, key: "other"}); got.status != 404 {
			t.Errorf("another tenant gets %d of %s: %s", got.status, path, got.body)
		}
	}
	if got := h.do(request{method: "POST", path: "/v1/campaigns/a/cancel", key: "read"}); got.status != 403 {
		t.Errorf("a key that reads cancels: %d", got.status)
	}
}

func TestWhatIsWrongWithACampaignIsSaid(t *testing.T) {
	t.Parallel()
	h := withCampaign(t)
	h.must(201, "PUT", "/v1/channels/phones", `{"driver":"pull"}`)
	for _, tt := range []struct{ body, want string }{
		{`{}`, "name: is required"},
		{`{"name":"x","channel":"nowhere","content":{"text":"a"}}`, `channel: there is no channel \"nowhere\", or it is not open`},
		{`{"name":"x","channel":"phones","content":{"text":"a"}}`, "channel: is fetched by agents"},
		{`{"name":"x","channel":"out"}`, "template: is required, or a content"},
		{`{"name":"x","channel":"out","template":"none"}`, `template: there is no template \"none\"`},
		{`{"name":"x","channel":"out","template":"coupon","content":{"text":"a"}}`, "content: stands beside a template"},
		{`{"name":"x","channel":"out","template":"coupon","on_unknown":"query"}`, `on_unknown: is \"query\": want hold or retry`},
		{`{"name":"x","channel":"out","template":"coupon","deadline":"2020-01-01T00:00:00Z"}`, "deadline: is 2020-01-01T00:00:00Z, which has passed"},
		{`{"name":"x","channel":"out","template":"coupon","segment_size":10001}`, "segment_size"},
		{`{"name":"x","channel":"out","template":"coupon","audience":"none"}`, `audience: there is no audience \"none\"`},
	} {
		got := h.do(request{method: "POST", path: "/v1/campaigns", body: tt.body})
		if field, message, _ := strings.Cut(tt.want, ": "); got.status != 422 || !strings.Contains(got.body, `"path":"`+field+`"`) || !strings.Contains(got.body, message) {
			t.Errorf("%s: got %d %s, want %s", tt.body, got.status, got.body, tt.want)
		}
	}
	for _, tt := range []struct {
		query, body, want string
		status            int
	}{
		{"offset=-1", "x", "query.offset", 422},
		{"format=xlsx", "x", "query.format", 422},
		{"encoding=big5", "x", "query.encoding", 422},
		{"delimiter=%22", "x", "query.delimiter", 422},
		{"final=perhaps", "x", "query.final", 422},
		{"offset=7", "x", "the import goes on at 0", 409},
		{"", "name\nx\n", "which column has the address", 422},
		{"address=" + url.QueryEscape("手机"), "openid\nx\n", "there is no column", 422},
		{"final=true", gzipped(t, strings.Repeat("openid\n", 9))[:20], "cut off", 422},
	} {
		got := h.do(request{method: "POST", path: "/v1/campaigns/coupon-a/members?" + tt.query, body: tt.body})
		if got.status != tt.status || !strings.Contains(got.body, tt.want) {
			t.Errorf("%s with %q: got %d %s, want %d %s", tt.query, tt.body, got.status, got.body, tt.status, tt.want)
		}
	}
	if plan := into[wire.CampaignPlan](t, h.must(200, "GET", "/v1/campaigns/coupon-a/plan", "")); len(plan.Problems) != 1 || plan.Problems[0].Path != "people" {
		t.Errorf("a plan without people has the problems %+v", plan.Problems)
	}
	h.must(409, "GET", "/v1/campaigns/coupon-a/who?address=o1", "")
	h.must(422, "GET", "/v1/campaigns/coupon-a/who", "")
}

// CAMP-10: a campaign is shown to a few as an ordinary message, with given variables or those of the first member, before its start and
// after its end; nothing of the campaign changes. A repeat of the call sends nothing again.
func TestACampaignIsShownToAFew(t *testing.T) {
	t.Parallel()
	h := withCampaign(t)
	shown := func(body, text string) posthouse.Accepted {
		t.Helper()
		key := http.Header{"Idempotency-Key": {"test of " + text}}
		sent := h.do(request{method: "POST", path: "/v1/campaigns/coupon-a/test", body: body, header: key})
		again := h.do(request{method: "POST", path: "/v1/campaigns/coupon-a/test", body: body, header: key})
		acc := into[posthouse.Accepted](t, sent)
		if sent.status != 202 || again.status != 202 || into[posthouse.Accepted](t, again).ID != acc.ID {
			t.Errorf("%d %s, and again %d %s", sent.status, sent.body, again.status, again.body)
		}
		m := into[wire.Message](t, h.must(200, "GET", "/v1/messages/"+acc.ID, ""))
		if m.Ref != "test:coupon-a" || m.Channel != "out" || m.Content.Text != text {
			t.Errorf("the message is %+v, want %q", m, text)
		}
		return acc
	}
	h.must(422, "POST", "/v1/campaigns/coupon-a/test", `{"to":["o7"]}`) // nobody is in it yet whose variables there were
	shown(`{"to":["o7"],"variables":{"name":"Eve","sum":5}}`, "Eve: 5 off until Sunday")
	h.must(200, "POST", "/v1/campaigns/coupon-a/members?final=true", "openid,name,sum\no1,Ann,20\no2,Bob,30\n")
	before := h.must(200, "GET", "/v1/campaigns/coupon-a", "").body
	if acc := shown(`{"to":["o1","o8","o1"]}`, "Ann: 20 off until Sunday"); len(acc.Deliveries) != 2 {
		t.Errorf("%+v: want one for o1 and one for o8", acc)
	}
	if after := h.must(200, "GET", "/v1/campaigns/coupon-a", "").body; after != before {
		t.Errorf("the campaign was %s and is %s", before, after)
	}
	h.must(200, "POST", "/v1/campaigns/coupon-a/cancel", "")
	shown(`{"to":["o9"],"variables":{"name":"Cid","sum":9}}`, "Cid: 9 off until Sunday")
	for body, want := range map[string]string{
		`{"to":[]}`: "to", `{"to":["o1"],"variables":[1]}`: "variables", `{"to":["o1"],"variable":{}}`: "variable",
		`{"to":["` + strings.Repeat(`o","`, 100) + `o"]}`: "to",
	} {
		if got := h.do(request{method: "POST", path: "/v1/campaigns/coupon-a/test", body: body}); got.status != 422 && got.status != 400 || !strings.Contains(got.body, `"path":"`+want+`"`) {
			t.Errorf("%.60s: %d %s, want a problem of %s", body, got.status, got.body, want)
		}
	}
	h.must(404, "POST", "/v1/campaigns/nothing/test", `{"to":["o1"]}`)
}
