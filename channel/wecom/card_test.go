package wecom_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/signed"
	"github.com/posthouse/posthouse/channel/wecom"
	"github.com/posthouse/posthouse/simulator"
)

// A card that waits for an answer gets a task id where it has none: that of its call, the same each time; and shares no call with
// another message then, since what is pressed could be of either.
func TestCardsThatAskAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		card  string
		names bool // the driver does
	}{
		"buttons":         {`{"card_type":"button_interaction"}`, true},
		"a vote":          {`{"card_type":"vote_interaction","task_id":""}`, true},
		"a choice":        {`{"card_type":"multiple_interaction"}`, true},
		"a menu":          {`{"card_type":"text_notice","action_menu":{"action_list":[{"key":"k"}]}}`, true},
		"a named one":     {`{"card_type":"button_interaction","task_id":"T-7"}`, false},
		"one to be read":  {`{"card_type":"text_notice"}`, false},
		"a menu of none":  {`{"card_type":"news_notice","action_menu":null}`, false},
		"a type that is ": {`{"card_type":7}`, false},
	} {
		sim, url := simulate(t)
		content := posthouse.Content{Type: posthouse.TemplateContent, Extra: json.RawMessage(c.card)}
		outs := to(content, "li.na", "wang.wei")
		for range 2 {
			for _, r := range app(t, url).SendBatch(t.Context(), outs) {
				if r.Class != ok {
					t.Errorf("%s: got %+v", name, r)
				}
			}
		}
		list := sim.Arrivals(simulator.Filter{})
		var card struct {
			Task string `json:"task_id"`
		}
		if err := json.Unmarshal([]byte(list[0].Text), &card); err != nil || (card.Task == outs[0].Delivery) != c.names {
			t.Errorf("%s: the card arrived as %s, %v; its first delivery is %s", name, list[0].Text, err, outs[0].Delivery)
		}
		for _, a := range list[1:] {
			if a.Text != list[0].Text {
				t.Errorf("%s: the card arrived as %s, then as %s", name, list[0].Text, a.Text)
			}
		}
		if wecom.App().Shares(content, "li.na") == c.names {
			t.Errorf("%s: it may share a call is %t", name, !c.names)
		}
	}
	member := to(posthouse.Content{Type: posthouse.TemplateContent, Extra: json.RawMessage(`{"card_type":"button_interaction"}`)}, "li.na")[0]
	member.Delivery = posthouse.NewID() + ".17" // of a campaign
	sim, url := simulate(t)
	app(t, url).Send(t.Context(), member)
	if got := sim.Arrivals(simulator.Filter{})[0].Text; !strings.Contains(got, strings.Replace(member.Delivery, ".", "@", 1)) {
		t.Errorf("the card of %s arrived as %s: WeCom takes no dot", member.Delivery, got)
	}
}

// A card without what its type needs would be refused by WeCom after it was accepted: each type names what it lacks.
func TestCardsNeedWhatTheirTypeNeeds(t *testing.T) {
	t.Parallel()
	const title, link = `"main_title":{"title":"t"}`, `"card_action":{"type":1,"url":"https://example.com"}`
	const options = `"question_key":"q","option_list":[{"id":"1","text":"a"}]`
	for _, c := range []struct {
		card string
		want []string
	}{
		{`"card_type":"text_notice",` + title + `,` + link, nil},
		{`"card_type":"text_notice","sub_title_text":"t",` + link, nil},
		{`"card_type":"text_notice","main_title":{"title":"\u200b","desc":"d"},` + link, []string{".main_title.title"}},
		{`"card_type":"text_notice"`, []string{".main_title.title", ".card_action"}},
		{`"card_type":"news_notice",` + title + `,"card_image":{"url":"https://example.com/a.png"},` + link, nil},
		{`"card_type":"news_notice",` + title + `,"image_text_area":{"image_url":"https://example.com/a.png"},` + link, nil},
		{`"card_type":"news_notice",` + title + `,"card_image":null,` + link, []string{".card_image"}},
		{`"card_type":"button_interaction",` + title + `,"button_list":[{"text":"a","key":"k"},{"type":1,"text":"b","url":"https://example.com"}]`, nil},
		{`"card_type":"button_interaction",` + title, []string{".button_list"}},
		{`"card_type":"button_interaction","button_list":[{},{"type":1,"text":"b"}]`, []string{".main_title.title", ".button_list[0].text", ".button_list[0].key", ".button_list[1].url"}},
		{`"card_type":"button_interaction",` + title + `,"button_list":[{},{},{},{},{},{},{}]`, []string{".button_list"}},
		{`"card_type":"vote_interaction",` + title + `,"checkbox":{` + options + `},"submit_button":{"key":"s"}`, nil},
		{`"card_type":"vote_interaction",` + title, []string{".checkbox", ".submit_button.key"}},
		{`"card_type":"vote_interaction",` + title + `,"checkbox":{"option_list":[{"id":"1"}]},"submit_button":{"text":"s"}`, []string{".checkbox.question_key", ".checkbox.option_list[0].text", ".submit_button.key"}},
		{`"card_type":"multiple_interaction","main_title":{"desc":"t"},"select_list":[{` + options + `}],"submit_button":{"key":"s"}`, nil},
		{`"card_type":"multiple_interaction"`, []string{".main_title.title", ".select_list", ".submit_button.key"}},
		{`"card_type":"multiple_interaction",` + title + `,"select_list":[{` + options + `},{"question_key":"r"}],"submit_button":{"key":"s"}`, []string{".select_list[1].option_list"}},
	} {
		config, _ := wecom.App().Validate(map[string]any{"corp_id": "w", "agent_id": 1, "secret": "s"})
		var got []string
		for _, p := range wecom.App().Content(config, posthouse.Content{Type: posthouse.TemplateContent, Extra: json.RawMessage(`{` + c.card + `}`)}) {
			got = append(got, strings.TrimPrefix(p.Path, "content.extra"))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.card, diff)
		}
	}
}

// What WeCom tells of an application is an event; what members write is not.
func TestWhatTheApplicationIsTold(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-ours"
	d := app(t, "http://127.0.0.1:1", "callback_token", token).(channel.Receiver)
	hear := func(body string) channel.Heard {
		t.Helper()
		stamp := strconv.FormatInt(time.Now().Unix(), 10)
		heard, err := d.Receive(channel.Callback{Method: http.MethodPost, At: time.Now(), Body: []byte(body), Query: url.Values{
			"timestamp": {stamp}, "nonce": {"n"}, "signature": {signed.Sum(token, stamp, "n")},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return heard
	}
	const pressed = `<xml><ToUserName><![CDATA[ww1]]></ToUserName><FromUserName><![CDATA[LiNa]]></FromUserName><MsgType><![CDATA[event]]></MsgType>
<Event><![CDATA[template_card_event]]></Event><CreateTime>1764000000</CreateTime><EventKey><![CDATA[submit]]></EventKey><TaskId><![CDATA[c@17]]></TaskId>
<CardType><![CDATA[multiple_interaction]]></CardType><ResponseCode><![CDATA[rc]]></ResponseCode><AgentID>1</AgentID><SelectedItems>
<SelectedItem><QuestionKey><![CDATA[q1]]></QuestionKey><OptionIds><OptionId><![CDATA[a]]></OptionId><OptionId><![CDATA[b]]></OptionId></OptionIds></SelectedItem>
<SelectedItem><QuestionKey><![CDATA[q2]]></QuestionKey><OptionIds><OptionId><![CDATA[c]]></OptionId></OptionIds></SelectedItem></SelectedItems></xml>`
	first := hear(pressed)
	want := channel.Event{
		Once: first.Events[0].Once, Delivery: "c.17",
		CallbackEvent: posthouse.CallbackEvent{
			Event: "template_card_event", Address: "LiNa", At: time.Unix(1764000000, 0).UTC(), Key: "submit", TaskID: "c@17", CardType: "multiple_interaction", ResponseCode: "rc",
			Selected: []posthouse.Selection{{Question: "q1", Options: []string{"a", "b"}}, {Question: "q2", Options: []string{"c"}}},
			Fields:   map[string]string{"AgentID": "1"},
		},
	}
	if diff := cmp.Diff([]channel.Event{want}, first.Events); diff != "" || first.Kind != "template_card_event" {
		t.Errorf("a press is heard otherwise (-want +got):\n%s", diff)
	}
	if again := hear(strings.Replace(pressed, "[rc]", "[rc2]", 1)); again.Events[0].Once != first.Events[0].Once {
		t.Error("the same press is another event when it is told again")
	}
	for _, other := range []string{strings.Replace(pressed, "1764000000", "1764000001", 1), strings.Replace(pressed, "submit", "cancel", 1), strings.Replace(pressed, "LiNa", "Wang", 1)} {
		if hear(other).Events[0].Once == first.Events[0].Once {
			t.Errorf("%s\nis the same event as another", other)
		}
	}
	bare := hear("<xml><MsgType>event</MsgType><Event>subscribe</Event><CreateTime>soon</CreateTime></xml>")
	if e := bare.Events[0]; e.Event != "subscribe" || !e.At.IsZero() || len(e.Fields) != 0 {
		t.Errorf("a bare event is %+v", e)
	}
	if written := hear("<xml><FromUserName>LiNa</FromUserName><MsgType>text</MsgType><Content>hello</Content></xml>"); len(written.Events) != 0 || written.Kind != "text" {
		t.Errorf("what a member writes is heard as %+v", written)
	}
}
