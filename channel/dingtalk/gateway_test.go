package dingtalk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/dingtalk"
)

const accepted = `{"success":true,"code":200,"msg":"ok","data":{"msgid":"m-1"}}`

func gatewayConfig(url string) map[string]any {
	return map[string]any{"baseUrl": url + "/mc/send", "agentId": "AGENT1002", "corpId": "CORP1"}
}

// FLOW-14: the wire form.
func TestTheGatewayIsAskedInItsForm(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, channeltest.Reply(200, accepted))
	outs := to("zhang.san", "li.si", "zhang.san")
	for i := range outs {
		outs[i].TemplateID = "SE1003"
		outs[i].Payload = json.RawMessage(`{"taskName": "应急成像<1>", "taskId": 9007199254740993, "remainMin": 45, "ratio": 0.50, "done": false, "reason": null, "nodes": [ "a", "b" ]}`)
	}
	results := open(t, dingtalk.Gateway(), gatewayConfig(p.URL)).SendBatch(t.Context(), outs)
	for _, r := range results {
		if r.Class != posthouse.ClassOK || r.Ref != "m-1" {
			t.Errorf("got %+v, want ok with the call's msgid", r)
		}
	}
	arrivals := p.Arrivals()
	if len(arrivals) != 1 || arrivals[0].Method != "POST" || arrivals[0].Target != "/mc/send" ||
		arrivals[0].Header.Get("Content-Type") != "application/json" {
		t.Fatalf("got %+v, want one POST of JSON to baseUrl", arrivals)
	}
	want := `{"title":"进站提醒","template_id":"SE1003","template_params":{"done":"false","nodes":"[\"a\",\"b\"]","ratio":"0.50","reason":"",` +
		`"remainMin":"45","taskId":"9007199254740993","taskName":"应急成像<1>"},"userid_list":["zhang.san","li.si"],"agent_id":"AGENT1002","corp_id":"CORP1"}`
	if diff := cmp.Diff(want, string(arrivals[0].Body)); diff != "" {
		t.Errorf("the body (-want +got):\n%s", diff)
	}
	if got, want := arrivals[0].Header.Get("X-Posthouse-Keys"), outs[0].IdemKey+",0002"; got != want {
		t.Errorf("the keys are %q, want %q", got, want)
	}
}

// FLOW-14: one call for a job, however many it has to tell.
func TestFiveHundredRecipientsAreOneCall(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, channeltest.Reply(200, accepted))
	var all []string
	for i := range 500 {
		all = append(all, fmt.Sprintf("user.%d", i))
	}
	kind := dingtalk.Gateway()
	if kind.MaxBatch < 500 {
		t.Fatalf("the most in one call are %d", kind.MaxBatch)
	}
	for _, r := range open(t, kind, gatewayConfig(p.URL)).SendBatch(t.Context(), to(all...)) {
		if r.Class != posthouse.ClassOK || r.Ref != "m-1" {
			t.Fatalf("got %+v, want ok with the call's msgid", r)
		}
	}
	if n := len(p.Arrivals()); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

// FLOW-14: a user without a user name fails for good, and holds up nobody.
func TestAUserWithoutANameFailsAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		kind   channel.Type
		config func(string) map[string]any
		body   string
	}{
		{"gateway", dingtalk.Gateway(), gatewayConfig, accepted},
		{"work", dingtalk.Work(), workConfig, `{"errcode":0,"task_id":7,"access_token":"t","expires_in":7200}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := channeltest.NewProvider(t, channeltest.Reply(200, c.body))
			d := open(t, c.kind, c.config(p.URL))
			got := d.SendBatch(t.Context(), to("zhang.san", "", "li.si"))
			if got[0].Class != posthouse.ClassOK || got[2].Class != posthouse.ClassOK {
				t.Errorf("the others got %+v, %+v, want ok", got[0], got[2])
			}
			if got[1].Class != posthouse.ClassRecipient || got[1].Code != "NO_ADDRESS" || !strings.Contains(got[1].Error, "address") {
				t.Errorf("got %+v, want recipient, and what is missing", got[1])
			}
			before := len(p.Arrivals())
			if got := d.Send(t.Context(), to("")[0]); got.Class != posthouse.ClassRecipient || len(p.Arrivals()) != before {
				t.Errorf("got %+v after %d calls, want recipient without one", got, len(p.Arrivals())-before)
			}
		})
	}
}

// FLOW-14, and reliability's "a split surrogate pair is refused with the whole call".
func TestALongTitleIsCutBetweenCharactersAndWarnedOf(t *testing.T) {
	t.Parallel()
	family := "👨‍👩‍👧‍👦"
	for _, c := range []struct{ name, unit, title, want string }{
		{"short enough", "utf16", strings.Repeat("字", 20), strings.Repeat("字", 20)},
		{"too long", "utf16", strings.Repeat("字", 21), strings.Repeat("字", 20)},
		{"an emoji at the end", "utf16", strings.Repeat("字", 19) + "😀了", strings.Repeat("字", 19)},
		{"an emoji that fits", "utf16", strings.Repeat("字", 18) + "😀了", strings.Repeat("字", 18) + "😀"},
		{"an emoji by characters", "characters", strings.Repeat("字", 19) + "😀了", strings.Repeat("字", 19) + "😀"},
		{"a family by graphemes", "graphemes", strings.Repeat("字", 19) + family + "了", strings.Repeat("字", 19) + family},
		{"a family by characters", "characters", strings.Repeat("字", 19) + family + "了", strings.Repeat("字", 19)},
		{"an accent of its own", "utf16", strings.Repeat("e\u0301", 11), strings.Repeat("e\u0301", 10)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := channeltest.NewProvider(t, channeltest.Reply(200, accepted))
			config := gatewayConfig(p.URL)
			config["titleUnit"] = c.unit
			var log bytes.Buffer
			d := open(t, dingtalk.Gateway(), config, func(env *channel.Env) { env.Log = slog.New(slog.NewTextHandler(&log, nil)) })
			out := to("zhang.san")[0]
			out.Content.Title = c.title
			d.Send(t.Context(), out)
			var got struct{ Title string }
			if err := json.Unmarshal(p.Arrivals()[0].Body, &got); err != nil || got.Title != c.want {
				t.Errorf("got %q, %v, want %q", got.Title, err, c.want)
			}
			if warned := strings.Contains(log.String(), "level=WARN") && strings.Contains(log.String(), out.Message); warned != (c.title != c.want) {
				t.Errorf("the log says %q", log.String())
			}
			if strings.Contains(log.String(), c.want) {
				t.Errorf("the log shows the title: %q", log.String())
			}
		})
	}
}

func TestWhatTheGatewaysAnswersMean(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		class      posthouse.Class
		code, ref  string
	}{
		{"accepted", accepted, posthouse.ClassOK, "200", "m-1"},
		{"accepted without a code", `{"success":true,"data":{"msgid":"m-1"}}`, posthouse.ClassOK, "", "m-1"},
		{"a null code", `{"success":true,"code":null,"data":{"msgid":77}}`, posthouse.ClassOK, "", "77"},
		{"texts for all", `{"success":"true","code":"200","data":{"msgid":"m-1"}}`, posthouse.ClassOK, "200", "m-1"},
		{"no msgid", `{"success":true,"code":200}`, posthouse.ClassOK, "200", ""},
		{"an empty list for data", `{"success":true,"code":200,"msg":"ok","data":[]}`, posthouse.ClassOK, "200", ""},
		{"a number for msg, a text for data", `{"success":true,"code":200,"msg":1,"data":"m-1"}`, posthouse.ClassOK, "200", ""},
		{"refused with a text for data", `{"success":false,"code":422,"msg":"no","data":""}`, posthouse.ClassContent, "422", ""},
		{"malformed", `{"success":false,"code":400,"msg":"no"}`, posthouse.ClassRequest, "400", ""},
		{"no permission", `{"success":false,"code":"403","msg":"no"}`, posthouse.ClassAccount, "403", ""},
		{"unknown user", `{"success":false,"code":404,"msg":"no"}`, posthouse.ClassRecipient, "404", ""},
		{"refused content", `{"success":false,"code":422,"msg":"no"}`, posthouse.ClassContent, "422", ""},
		{"too fast", `{"success":false,"code":429,"msg":"no"}`, posthouse.ClassRate, "429", ""},
		{"an error of its own", `{"success":false,"code":500,"msg":"no"}`, posthouse.ClassUnknown, "500", ""},
		{"no answer of what is behind it", `{"success":false,"code":504,"msg":"no"}`, posthouse.ClassUnknown, "504", ""},
		{"a class of the channel's for such an error", `{"success":false,"code":502,"msg":"no"}`, posthouse.ClassTransient, "502", ""},
		{"already told", `{"success":false,"code":409,"msg":"no"}`, posthouse.ClassUnknown, "409", ""},
		{"busy", `{"success":false,"code":503,"msg":"no"}`, posthouse.ClassTransient, "503", ""},
		{"a code of its own", `{"success":false,"code":"E77","msg":"no"}`, posthouse.ClassTransient, "E77", ""},
		{"no code", `{"success":false,"msg":"no"}`, posthouse.ClassTransient, "", ""},
		{"a class of the channel's", `{"success":false,"code":"E78","msg":"no"}`, posthouse.ClassContent, "E78", ""},
		{"a success of the channel's", `{"success":true,"code":0,"msg":"ok","data":{"msgid":"m-1"}}`, posthouse.ClassOK, "0", "m-1"},
		{"success with a strange code", `{"success":true,"code":7}`, posthouse.ClassUnknown, "7", ""},
		{"success with an error", `{"success":true,"code":500}`, posthouse.ClassUnknown, "500", ""},
		{"no success with 200", `{"success":false,"code":200,"msg":"busy"}`, posthouse.ClassTransient, "200", ""},
		{"a strange success with 200", `{"success":"maybe","code":200}`, posthouse.ClassUnknown, "200", ""},
		{"neither", `{}`, posthouse.ClassUnknown, "", ""},
		{"not JSON", `OK`, posthouse.ClassUnknown, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			own := codes(map[string]posthouse.Class{"E78": posthouse.ClassContent, "0": posthouse.ClassOK, "502": posthouse.ClassTransient})
			got := answers(t, dingtalk.Gateway(), gatewayConfig, c.body, own).Send(t.Context(), to("zhang.san")[0])
			if got.Class != c.class || got.Code != c.code || got.Ref != c.ref {
				t.Errorf("got %q, code %q, ref %q (%s), want %q, %q, %q", got.Class, got.Code, got.Ref, got.Error, c.class, c.code, c.ref)
			}
		})
	}
}

// A channel's codes name a status by its number, or as HTTP_500, where the answer is one of HTTP alone.
func TestTheChannelsCodesCoverTheGatewaysStatuses(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]posthouse.Class{
		"500": posthouse.ClassTransient, "HTTP_500": posthouse.ClassTransient, "501": posthouse.ClassUnknown, "HTTP_50": posthouse.ClassUnknown,
	} {
		for _, status := range []string{"", `{"success":false,"code":502}`} {
			p := channeltest.NewProvider(t, channeltest.Reply(500, status))
			d := open(t, dingtalk.Gateway(), gatewayConfig(p.URL), codes(map[string]posthouse.Class{code: posthouse.ClassTransient}))
			if got := d.Send(t.Context(), to("zhang.san")[0]); got.Class != want || got.Code != "HTTP_500" {
				t.Errorf("with codes for %s an HTTP 500 saying %q is %q, code %q; want %q", code, status, got.Class, got.Code, want)
			}
		}
	}
}

func TestAMessageWithoutATemplateCarriesItsText(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, channeltest.Reply(200, accepted))
	config := gatewayConfig(p.URL)
	config["userList"] = "text"
	open(t, dingtalk.Gateway(), config).SendBatch(t.Context(), to("a", "b"))
	want := `"template_id":"","template_params":{"content":"请提前准备"},"userid_list":"a,b"`
	if body := string(p.Arrivals()[0].Body); !strings.Contains(body, want) {
		t.Errorf("the body is %s, want it to hold %s", body, want)
	}
}

func TestAPayloadThatIsNoObjectIsNotSent(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, channeltest.Reply(200, accepted))
	out := to("a")[0]
	out.Payload = json.RawMessage(`[1]`)
	got := open(t, dingtalk.Gateway(), gatewayConfig(p.URL)).Send(t.Context(), out)
	if got.Class != posthouse.ClassContent || len(p.Arrivals()) != 0 {
		t.Errorf("got %+v after %d calls, want content without one", got, len(p.Arrivals()))
	}
}

func TestTheGatewaysConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	_, problems := dingtalk.Gateway().Validate(map[string]any{"baseUrl": "ftp://x", "headers": map[string]any{"a b": "c"}})
	var paths []string
	for _, p := range problems {
		paths = append(paths, p.Path)
	}
	if diff := cmp.Diff([]string{"config.baseUrl", "config.agentId", "config.corpId", "config.headers.a b"}, paths); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
