package wechat_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/wechat"
	"github.com/posthouse/posthouse/simulator"
)

const (
	secret      = "an-app's-<secret>"
	accessToken = "an-access-token-of-ours"
	openID      = "o6_bmjrPTlm6_2sgVt7hMZOPfL2M"
)

func TestContract(t *testing.T) {
	for name, kind := range map[string]channel.Type{"template": wechat.Template(), "subscribe": wechat.Subscribe()} {
		t.Run(name, func(t *testing.T) {
			channeltest.Run(t, channeltest.Case{
				Type: kind,
				Config: func(url string) map[string]any {
					return map[string]any{"url": url, "app_id": "wx1", "secret": secret, "template_id": "T1", "link": "https://example.com/"}
				},
				Address: func(string) string { return openID },
				Accept:  channeltest.Reply(200, `{"errcode":0,"errmsg":"ok","msgid":200228332}`),
				Aside:   giveToken,
				Secrets: []string{secret, accessToken},
			})
		})
	}
}

func giveToken(w http.ResponseWriter, r *http.Request) bool {
	if !strings.HasSuffix(r.URL.Path, "/cgi-bin/stable_token") {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"access_token":"`+accessToken+`","expires_in":7200}`)
	return true
}

// open opens a driver that may reach the simulator.
func open(t *testing.T, kind channel.Type, url string, set ...any) channel.Driver {
	t.Helper()
	config := map[string]any{"url": url + "/" + kind.Name, "app_id": "wx1", "secret": secret}
	for i := 0; i < len(set); i += 2 {
		config[set[i].(string)] = set[i+1]
	}
	c, problems := kind.Validate(config)
	if len(problems) > 0 {
		t.Fatalf("the configuration is refused: %+v", problems)
	}
	d, err := kind.Open(c, channel.Env{Tenant: "t1", Channel: "c1", Log: slog.New(slog.DiscardHandler), Network: channel.Network{AllowPrivate: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.(io.Closer).Close() })
	return d
}

func simulate(t *testing.T) (*simulator.Simulator, string) {
	t.Helper()
	sim := simulator.New(simulator.Options{})
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	return sim, server.URL
}

func to(address string) channel.Outgoing {
	message := posthouse.NewID()
	id := posthouse.DeliveryID(message, 1)
	return channel.Outgoing{
		Message: message, Delivery: id, IdemKey: id, Attempt: 1, Content: posthouse.Content{Text: "您的订单已发货"}, TemplateID: "T1",
		Recipient: posthouse.Recipient{User: "u1", Address: address},
	}
}

// A message is the parameters of its payload, or its text, or the call that its content is.
func TestParameters(t *testing.T) {
	t.Parallel()
	sim, url := simulate(t)
	d := open(t, wechat.Template(), url, "template_id", "T0")
	payload, text, whole, bare := to("a"), to("b"), to("c"), to("d")
	payload.Payload = json.RawMessage(`{"first":"您好","amount":12.50,"list":["x"]}`)
	whole.Content = posthouse.Content{Type: posthouse.TemplateContent, Extra: json.RawMessage(`{"template_id":"T9","url":"https://example.com/9","data":{"k":{"value":"v"}}}`)}
	bare.TemplateID = ""
	for _, out := range []channel.Outgoing{payload, text, whole, bare} {
		if got := d.Send(t.Context(), out); got.Class != posthouse.ClassOK || got.Ref == "" {
			t.Fatalf("got %+v", got)
		}
	}
	got := map[string]string{}
	for _, a := range sim.Arrivals(simulator.Filter{Provider: "wechat", Limit: 10}) {
		got[a.User] = a.Title + " " + a.Text
	}
	want := map[string]string{"a": "T1 amount: 12.50\nfirst: 您好\nlist: [\"x\"]", "b": "T1 content: 您的订单已发货", "c": "T9 k: v", "d": "T0 content: 您的订单已发货"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arrived (-want +got):\n%s", diff)
	}
	none := to("e")
	none.TemplateID = ""
	if got := open(t, wechat.Template(), url).Send(t.Context(), none); got.Class != posthouse.ClassContent || got.Code != "NO_TEMPLATE" {
		t.Errorf("without a template: %+v", got)
	}
	if got := d.Send(t.Context(), to("")); got.Class != posthouse.ClassRecipient || got.Code != "NO_ADDRESS" {
		t.Errorf("without an openid: %+v", got)
	}
}

// A repeated template message is known by its client_msg_id; a subscription notice is not.
func TestARepeatedMessage(t *testing.T) {
	t.Parallel()
	sim, url := simulate(t)
	for _, kind := range []channel.Type{wechat.Template(), wechat.Subscribe()} {
		d, out := open(t, kind, url), to("lost-answer")
		first, second := d.Send(t.Context(), out), d.Send(t.Context(), out)
		if first.Class != posthouse.ClassUnknown || second.Class != posthouse.ClassOK {
			t.Errorf("%s: got %+v and %+v", kind.Name, first, second)
		}
	}
	if totals := sim.Totals(); totals.Repeats != 1 {
		t.Errorf("got %+v, want one repeat that was recognised", totals)
	}
}

func TestTokensAreRefreshed(t *testing.T) {
	t.Parallel()
	_, url := simulate(t)
	d := open(t, wechat.Template(), url)
	for range 2 {
		if got := d.Send(t.Context(), to("a")); got.Class != posthouse.ClassOK {
			t.Errorf("got %+v", got)
		}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, url+"/wechat/tokens", http.NoBody)
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != http.StatusNoContent {
			t.Fatalf("the tokens were not dropped: %v", err)
		}
		res.Body.Close()
	}
	if got := open(t, wechat.Template(), url, "secret", "wrong").(channel.Tester).Test(t.Context()); got.Class != posthouse.ClassAccount || got.Code != "40125" {
		t.Errorf("a wrong secret: %+v", got)
	}
}

// What WeChat's codes mean. The day's quota ends at midnight in China.
func TestCodes(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]posthouse.Class{
		"-1": posthouse.ClassTransient, "45009": posthouse.ClassRate, "45011": posthouse.ClassRate, "48001": posthouse.ClassAccount,
		"43004": posthouse.ClassRecipient, "43101": posthouse.ClassRecipient, "40037": posthouse.ClassContent, "47003": posthouse.ClassContent,
		"99999": posthouse.ClassTransient,
	} {
		p := channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
			if !giveToken(w, r) {
				fmt.Fprintf(w, `{"errcode":%s,"errmsg":"no rid: 5f3"}`, code)
			}
		})
		got := open(t, wechat.Template(), p.URL).Send(t.Context(), to("a"))
		if got.Class != want || got.Code != code || got.Error != "no" {
			t.Errorf("%s: got %+v, want %s", code, got, want)
		}
		if end := time.Now().Add(got.After).In(time.FixedZone("UTC+8", 8*60*60)); code == "45009" && (end.Round(time.Minute).Format("15:04") != "00:00" || got.After > 24*time.Hour) {
			t.Errorf("the quota begins anew at %s", end)
		}
	}
}

func TestAddressesAreOpenIDs(t *testing.T) {
	t.Parallel()
	config, _ := wechat.Template().Validate(map[string]any{"app_id": "a", "secret": "s"})
	for address, good := range map[string]bool{openID: true, "张三": false, "a b": false, strings.Repeat("x", 65): false} {
		if _, err := wechat.Template().Address(config, address); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
	if problems := wechat.Template().Content(config, posthouse.Content{Type: "image"}); len(problems) != 1 || problems[0].Path != "content.type" {
		t.Errorf("an image: %+v", problems)
	}
}

// CAMP-9: the followers of an account are listed page by page; what WeChat answers in place of a page is told, without the token.
func TestFollowers(t *testing.T) {
	t.Parallel()
	_, url := simulate(t)
	list := func(app, behind string) ([]string, bool, error) {
		return open(t, wechat.Template(), url, "app_id", app).(channel.Lister).List(t.Context(), behind)
	}
	first, more, err := list("wx-10002", "")
	if err != nil || len(first) != 10_000 || !more {
		t.Fatalf("the first page: %d, %t, %v", len(first), more, err)
	}
	rest, more, err := list("wx-10002", first[9_999])
	if err != nil || len(rest) != 2 || more || rest[0] == first[9_999] {
		t.Errorf("the second page: %v, %t, %v", rest, more, err)
	}
	if none, more, err := list("wx-0", ""); err != nil || len(none) != 0 || more {
		t.Errorf("of nobody: %v, %t, %v", none, more, err)
	}
	for app, want := range map[string]string{"wrong": "40013", "wx-10002": "40003"} {
		if _, _, err := list(app, "nobody"); err == nil || !strings.Contains(err.Error(), "WeChat does not list the followers: "+want) {
			t.Errorf("%s: %v; want %s", app, err, want)
		}
	}
	answer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !giveToken(w, r) {
			io.WriteString(w, answer)
		}
	}))
	t.Cleanup(server.Close)
	for _, answer = range []string{`{"errcode":45009,"errmsg":"reach max api daily quota limit of ` + accessToken + `"}`, `{"errcode":0,"errmsg":"ok"}`, `<html>`, `{"total":2,"data":{"openid":"o1"}}`} {
		page, more, err := open(t, wechat.Template(), server.URL).(channel.Lister).List(t.Context(), "")
		if err == nil || len(page) > 0 || more || strings.Contains(err.Error(), accessToken) {
			t.Errorf("%s: %v, %t, %v", answer, page, more, err)
		}
	}
}

// CAMP: what WeChat refuses of a template's parameters is said by their names, before anything is sent.
func TestParametersAreHeldAgainstTheirNames(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"thing1":"` + strings.Repeat("字", 20) + `","name2":"张三","phrase3":"已完成","number4":12.5,"character_string5":"NO-1","phone_number6":"+86 138-0000","anything":"` + strings.Repeat("x", 99) + `"}`: "",
		`{"thing1":"` + strings.Repeat("字", 21) + `"}`: "payload.thing1 has 21 characters: WeChat takes at most 20 characters as a thing",
		`{"thing2":" "}`: "payload.thing2 is empty, which WeChat refuses",
		`{"name1":"` + strings.Repeat("张", 11) + `"}`: "payload.name1 has 11 characters: WeChat takes at most 10 characters as a name",
		`{"number1":"twelve"}`:                        `payload.number1 is "twelve": WeChat takes digits only as a number`,
		`{"time1":"15:01","time2":"2026年10月1日 15:01~16:30","date3":"2026-10-01 08:00","date4":"2026年2月28日","amount5":"¥36.50","amount6":"100元"}`: "",
		`{"time1":"notatime"}`:        `payload.time1 is "notatime": as a parameter time WeChat takes a text such as 15:01, or 2026年10月1日 15:01`,
		`{"time1":"25:01"}`:           `payload.time1 is "25:01": as a parameter time WeChat takes a text such as 15:01, or 2026年10月1日 15:01`,
		`{"date1":"2026-13-45"}`:      `payload.date1 is "2026-13-45": as a parameter date WeChat takes a text such as 2026年10月1日, or 2026-10-01 15:01`,
		`{"amount1":"abc"}`:           `payload.amount1 is "abc": as a parameter amount WeChat takes a text such as ¥36.5, or 36.5元`,
		`{"phrase1":"done"}`:          `payload.phrase1 is "done": WeChat takes Chinese characters only as a phrase`,
		`{"character_string9":"订单1"}`: `payload.character_string9 is "订单1": WeChat takes digits, letters and symbols of ASCII only as a character_string`,
	} {
		var got []string
		for _, p := range wechat.Template().Parameters(json.RawMessage(payload)) {
			got = append(got, p.Path+" "+p.Message)
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("%s: %s, want %s", payload, text, want)
		}
	}
}

// The templates that an account keeps are listed with what fills them; what WeChat answers in place of a list is told, without the token.
func TestTheTemplatesOfAnAccountAreListed(t *testing.T) {
	t.Parallel()
	_, url := simulate(t)
	for _, kind := range []channel.Type{wechat.Template(), wechat.Subscribe()} {
		list, err := open(t, kind, url, "template_id", "T9").(channel.TemplateLister).Templates(t.Context())
		want := []channel.ProviderTemplate{{ID: "OPENTM-1", Title: "优惠券到账通知", Parameters: []string{"thing1", "amount2", "time3"}}}
		if err != nil || !cmp.Equal(list, want) {
			t.Errorf("%s: %+v, %v; want %+v", kind.Name, list, err, want)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !giveToken(w, r) {
			fmt.Fprintf(w, `{"errcode":48001,"errmsg":"api unauthorized %s"}`, accessToken)
		}
	}))
	t.Cleanup(server.Close)
	lister := open(t, wechat.Template(), server.URL, "template_id", "T9").(channel.TemplateLister)
	if _, err := lister.Templates(t.Context()); err == nil || !strings.Contains(err.Error(), "48001") || strings.Contains(err.Error(), accessToken) {
		t.Errorf("an account that may not ask: %v", err)
	}
	if a, b := lister.TemplateOf("T1"), lister.TemplateOf(""); a != "T1" || b != "T9" {
		t.Errorf("messages go by %s and %s", a, b)
	}
}
