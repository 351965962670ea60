package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/wire"
)

// application configures an application of WeCom's that is called back, and returns the address.
func (h *house) application(name, aesKey string) string {
	h.Helper()
	h.put(posthouse.Channel{Name: name, Driver: "wecom", Config: map[string]any{
		"url": h.sim.URL() + "/wecom", "corp_id": "ww1", "agent_id": 1000002, "secret": "a-secret-of-ours",
		"callback_token": callbackToken, "callback_aes_key": aesKey,
	}})
	return h.hook(name, "")
}

// listener takes the events of a house that a Go program follows.
func (h *house) listener() chan posthouse.FeedEvent {
	h.Helper()
	heard := make(chan posthouse.FeedEvent, 1000)
	h.followed()
	ctx, stop := context.WithCancel(h.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- h.program.Follow(ctx, posthouse.FeedPosition{}.String(), func(events []posthouse.FeedEvent) error {
			for _, e := range events {
				heard <- e
			}
			return nil
		})
	}()
	h.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			h.Errorf("Follow ended with %v", err)
		}
	})
	return heard
}

// followed has the feed written from now on: a stream is answered once somebody is known to follow.
func (h *house) followed() {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.url+"/v1/events/stream", http.NoBody)
	h.must(err)
	req.Header.Set("Authorization", "Bearer "+h.key)
	res, err := http.DefaultClient.Do(req)
	h.must(err)
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
		h.Fatalf("a stream: %d, %v", res.StatusCode, err)
	}
}

// callback is the next event of providers among those that were heard.
func callback(heard chan posthouse.FeedEvent) posthouse.FeedEvent {
	for e := range heard {
		if e.Callback != nil {
			return e
		}
	}
	return posthouse.FeedEvent{}
}

const approval = `{"card_type":"button_interaction","main_title":{"title":"Leave of Li Na"},
"button_list":[{"text":"Approve","key":"approve"},{"text":"Reject","key":"reject"}]%s}`

// card is a content that asks for an approval; more is added to it.
func card(more string) *posthouse.Content {
	return &posthouse.Content{Type: posthouse.TemplateContent, Extra: json.RawMessage(fmt.Sprintf(approval, more))}
}

// FLEET-2, FLEET-14: what a member presses on a card reaches Go hooks, signed webhooks and the live stream as an event of its own
// kind, once, with the delivery that it is about.
func TestFLEET_WhatIsPressedOnACardReachesWhoeverFollows(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		ctx := h.Context()
		url, posts := subscriber(h.T)
		made, err := h.api.Subscriptions.Create(ctx, wire.NewSubscription{URL: url, Types: []string{"callback.template_card_event"}, Kinds: []string{"leave"}})
		h.must(err)
		heard := h.listener()
		path := h.application("wecom", callbackKey)
		h.must(h.sim.CallBack(ctx, "wecom", simulator.Callback{URL: h.url + path, Token: callbackToken, AESKey: callbackKey, Receiver: "ww1"}))
		sent := h.hand(posthouse.Draft{
			Channel: "wecom", Kind: "leave", Ref: "7", To: []posthouse.Recipient{{User: "li.na"}, {User: "u-wang", Address: "Wang.Wei"}},
			Content: card(`,"checkbox":{"question_key":"q"}`),
		})
		for _, d := range sent.Deliveries {
			h.eventually("the card of "+d.User+" is sent", func() bool { return h.delivery(d.ID).State == posthouse.Sent })
		}
		h.must(h.sim.Press(simulator.Press{User: "Wang.Wei", Key: "reject", Times: 5, Selected: map[string][]string{"q": {"a", "b"}}}))
		e := callback(heard)
		want := posthouse.FeedEvent{
			ID: e.ID, At: e.At, Tenant: e.Tenant, Channel: "wecom", Message: sent.ID, Delivery: sent.Deliveries[1].ID, User: "u-wang", Kind: "leave", Ref: "7",
			Callback: &posthouse.CallbackEvent{
				Event: "template_card_event", Address: "Wang.Wei", Key: "reject", TaskID: sent.Deliveries[0].ID, CardType: "button_interaction",
				Selected: []posthouse.Selection{{Question: "q", Options: []string{"a", "b"}}}, Fields: map[string]string{"AgentID": "1000002"},
			},
		}
		want.Callback.At, want.Callback.ResponseCode = e.Callback.At, e.Callback.ResponseCode
		if diff := cmp.Diff(want, e); diff != "" || e.ID == "" || time.Since(e.At).Abs() > time.Hour || e.Callback.ResponseCode == "" || e.Callback.At.IsZero() {
			h.Errorf("the press is told as %+v (-want +got):\n%s", e, diff)
		}
		first := <-posts
		if told := first.event(h.T); told.ID != e.ID || told.Type() != "callback.template_card_event" || !first.signedBy(h.T, made.Secret) {
			h.Errorf("the subscriber was told %s", first.body)
		}

		h.must(h.sim.Press(simulator.Press{User: "li.na"}))
		next := callback(heard)
		if next.Delivery != sent.Deliveries[0].ID || next.Callback.Key != "approve" {
			h.Errorf("after the press that was told five times comes %+v, want the next one", next.Callback)
		}
		if second := <-posts; second.event(h.T).ID != next.ID {
			h.Errorf("the subscriber was told %s next, want %s", second.body, next.ID)
		}
		h.eventually("all calls are answered", func() bool { return h.metric(`posthouse_callbacks_total{channel="wecom",outcome="taken"}`) == 7 }) // with the look at the address
		if n := h.count("posthouse_callback_events"); n != 2 {
			h.Errorf("%d events are kept, want 2", n)
		}
		if told := h.metric(`posthouse_callback_events_total{channel="wecom",outcome="told"}`); told != 2 {
			h.Errorf("%v are counted as told, want 2", told)
		}
		enough := errors.New("enough")
		err = h.api.Events.Follow(ctx, client.EventFilter{Behind: e.ID, Types: []string{"callback"}}, func(got posthouse.FeedEvent) error {
			if diff := cmp.Diff(next, got); diff != "" {
				h.Errorf("the stream tells otherwise than the hook (-hook +stream):\n%s", diff)
			}
			return enough
		})
		if !errors.Is(err, enough) {
			h.Errorf("the stream ended with %v", err)
		}
	})
}

// What WeCom tells besides, and who is meant where nobody can say.
func TestFLEET_EventsOfAProviderAreToldAsFarAsTheyAreKnown(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	path := h.application("wecom", "")
	say := func(nonce, body string) {
		h.Helper()
		if status, said := h.calls(http.MethodPost, path+"?"+signedQuery(callbackToken, nonce, time.Now()), body); status != http.StatusOK {
			h.Fatalf("%s: got %d %s", nonce, status, said)
		}
	}
	enter := "<xml><ToUserName>ww1</ToUserName><FromUserName>li.na</FromUserName><CreateTime>1764000000</CreateTime><MsgType>event</MsgType><Event>enter_agent</Event><EventKey></EventKey><AgentID>1</AgentID></xml>"
	heard := h.listener()
	h.eventually("somebody follows", func() bool {
		say(fmt.Sprint("n", time.Now().UnixNano()), enter)
		return h.count("posthouse_callback_events") > 0
	})
	e := callback(heard)
	want := &posthouse.CallbackEvent{Event: "enter_agent", Address: "li.na", At: time.Unix(1764000000, 0).UTC(), Fields: map[string]string{"AgentID": "1"}}
	if diff := cmp.Diff(want, e.Callback); diff != "" || e.Delivery+e.Message+e.User != "" {
		h.Errorf("told is %+v (-want +got):\n%s", e, diff)
	}
	_, err := h.program.PutChannel(h.Context(), "another", posthouse.Channel{Name: "wecom", Driver: "discard"})
	h.must(err)
	others, err := h.program.Accept(h.Context(), "another", posthouse.Draft{Channel: "wecom", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "x"}})
	h.must(err)
	own := h.hand(posthouse.Draft{Channel: "wecom", Kind: "leave", To: []posthouse.Recipient{{Address: "party:7"}}, Content: &posthouse.Content{Text: "hello"}})
	h.put(posthouse.Channel{Name: "elsewhere", Driver: "discard"})
	away := h.hand(posthouse.Draft{Channel: "elsewhere", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "hello"}})
	press := func(task, more string) string {
		return "<xml><FromUserName>li.na</FromUserName><CreateTime>1764000001</CreateTime><MsgType>event</MsgType><Event>template_card_event</Event><EventKey>k</EventKey><TaskId>" + task + "</TaskId>" + more + "</xml>"
	}
	long := strings.Repeat("x", 5000)
	for i, is := range []struct {
		body, message, kind string
		check               func(c *posthouse.CallbackEvent) bool
	}{
		{press("T-7", ""), "", "", func(c *posthouse.CallbackEvent) bool { return c.TaskID == "T-7" && c.Key == "k" }},
		{press(own.Deliveries[0].ID, ""), own.ID, "leave", func(c *posthouse.CallbackEvent) bool { return c.TaskID == own.Deliveries[0].ID }},
		{press(away.Deliveries[0].ID, ""), "", "", func(*posthouse.CallbackEvent) bool { return true }},
		{press(others[0].Deliveries[0].ID, ""), "", "", func(*posthouse.CallbackEvent) bool { return true }},
		{press(posthouse.NewID(), "<ScanCodeInfo><ScanType>qr</ScanType><ScanResult> r </ScanResult></ScanCodeInfo>"), "", "", func(c *posthouse.CallbackEvent) bool {
			return c.Fields["ScanCodeInfo.ScanType"] == "qr" && c.Fields["ScanCodeInfo.ScanResult"] == "r"
		}},
		{press("T-8", "<Long>"+long+"</Long>"+strings.Repeat("<A/>", 100)), "", "", func(c *posthouse.CallbackEvent) bool { return len(c.Fields["Long"]) == 1024 && len(c.Fields) == 1 }},
		{strings.Replace(press("T-9", ""), "template_card_event", "a\nevent: end", 1), "", "", func(c *posthouse.CallbackEvent) bool { return c.Event == "event" }},
	} {
		say(fmt.Sprint("p", i), is.body)
		say(fmt.Sprint("again", i), is.body)
		e := callback(heard)
		if e.Message != is.message || e.Kind != is.kind || e.Delivery != "" || !is.check(e.Callback) {
			h.Errorf("%s\nis told as %+v with %+v", is.body[:min(len(is.body), 300)], e, e.Callback)
		}
	}
	say("text", "<xml><FromUserName>li.na</FromUserName><CreateTime>1764000002</CreateTime><MsgType>text</MsgType><Content>hello</Content></xml>")
	say("last", strings.Replace(enter, "1764000000", "1764000003", 1))
	if e := callback(heard); e.Callback.Event != "enter_agent" {
		h.Errorf("what a member wrote is told as %+v: it is not ours", e.Callback)
	}
}

// A subscriber that takes several events in one call gets those of deliveries and those of providers in calls of their own, in order.
func TestFLEET_ABatchHoldsEventsOfOneSort(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	path := h.application("wecom", "")
	url, posts := subscriber(t)
	_, err := h.api.Subscriptions.Create(h.Context(), wire.NewSubscription{URL: url, Batch: 100, Types: []string{"delivery.sent", "callback"}})
	h.must(err)
	var want []string
	for i := range 3 {
		sent := h.hand(posthouse.Draft{Channel: "wecom", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "hello"}})
		h.eventually("it is sent", func() bool { return h.delivery(sent.Deliveries[0].ID).State == posthouse.Sent })
		body := fmt.Sprintf("<xml><FromUserName>li.na</FromUserName><CreateTime>%d</CreateTime><MsgType>event</MsgType><Event>enter_agent</Event></xml>", 1764000000+i)
		if status, _ := h.calls(http.MethodPost, path+"?"+signedQuery(callbackToken, fmt.Sprint(i), time.Now()), body); status != http.StatusOK {
			h.Fatalf("got %d", status)
		}
		want = append(want, "delivery.sent", "callback.enter_agent")
	}
	var got []string
	for len(got) < len(want) {
		var told struct {
			Type string
			Data []posthouse.FeedEvent
		}
		h.must(json.Unmarshal((<-posts).body, &told))
		for i := range told.Data {
			e := &told.Data[i]
			if (told.Type == "callbacks.told") != (e.Callback != nil) {
				h.Errorf("a call of type %s holds %s", told.Type, e.Type())
			}
			got = append(got, e.Type())
		}
	}
	if !slices.Equal(got, want) {
		h.Errorf("told were %v, want %v", got, want)
	}
}

// A type that no event has is refused, by both ways to follow.
func TestFLEET_TypesOfEventsAreChecked(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	for _, typ := range []string{"delivery.gone", "callbacks", "delivery.", "callback.", "", "sent"} {
		_, err := h.api.Subscriptions.Create(h.Context(), wire.NewSubscription{URL: "https://example.com", Types: []string{typ}})
		if posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), "types[0]") {
			h.Errorf("a subscription to %q: got %v", typ, err)
		}
		if typ == "" {
			continue
		}
		if status, answer := h.call(http.MethodGet, "/v1/events/stream?type=delivery,"+typ, "", ""); status != http.StatusUnprocessableEntity && status != http.StatusBadRequest {
			h.Errorf("a stream of %q: got %d %v", typ, status, answer)
		}
	}
}

// FLEET-2: a reader that comes again with Last-Event-ID, as browsers do, goes on behind that event; one that is none is named.
func TestFLEET_AStreamGoesOnBehindLastEventID(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	heard := h.listener()
	h.put(posthouse.Channel{Name: "out", Driver: "discard"})
	h.hand(posthouse.Draft{Channel: "out", To: []posthouse.Recipient{{User: "u"}}, Content: &posthouse.Content{Text: "hello"}})
	first, second := <-heard, <-heard
	stream := func(last string) *http.Response {
		h.Helper()
		req, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.url+"/v1/events/stream", nil)
		h.must(err)
		req.Header.Set("Authorization", "Bearer "+h.key)
		req.Header.Set("Last-Event-ID", last)
		res, err := http.DefaultClient.Do(req)
		h.must(err)
		h.Cleanup(func() { res.Body.Close() })
		return res
	}
	lines := bufio.NewScanner(stream(first.ID).Body)
	for lines.Scan() {
		if id, is := strings.CutPrefix(lines.Text(), "id: "); is {
			if id != second.ID {
				h.Errorf("behind %s comes %s, want %s", first.ID, id, second.ID)
			}
			break
		}
	}
	res := stream("yesterday")
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(text), "header.Last-Event-ID") {
		h.Errorf("an id that is none is answered with %d %s, %v", res.StatusCode, text, err)
	}
}

// robot configures an application of DingTalk's with a robot whose cards are told of.
func (h *house) robot(name string) {
	h.Helper()
	h.put(posthouse.Channel{Name: name, Driver: "dingtalk_work", Config: map[string]any{
		"url": h.sim.URL() + "/dingtalk_work", "api_url": h.sim.URL() + "/dingtalk_card", "token_from": "oauth2", "agent_id": "1045002", "app_key": "dingkey", "app_secret": "a-secret-of-ours",
		"callback_route_key": "posthouse", "callback_secret": callbackToken,
	}})
	h.must(h.sim.CallBack(h.Context(), "dingtalk_card", simulator.Callback{URL: h.url + h.hook(name, ""), Token: callbackToken}))
}

// lark configures an application of Feishu's whose cards are told of.
func (h *house) lark(name string) {
	h.Helper()
	const key = "an-encrypt-key-of-ours"
	h.put(posthouse.Channel{Name: name, Driver: "feishu", Config: map[string]any{"url": h.sim.URL() + "/feishu", "app_id": "cli_1", "app_secret": "a-secret-of-ours", "encrypt_key": key}})
	h.must(h.sim.CallBack(h.Context(), "feishu", simulator.Callback{URL: h.url + h.hook(name, ""), AESKey: key}))
}

// A button of a card that tells ${ack_key} back acknowledges the notification that its message is of, and no other.
func TestAButtonOfACardAcknowledges(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		ctx := h.Context()
		path := h.application("wecom", callbackKey)
		h.must(h.sim.CallBack(ctx, "wecom", simulator.Callback{URL: h.url + path, Token: callbackToken, AESKey: callbackKey, Receiver: "ww1"}))
		h.robot("ding")
		h.lark("lark")
		for _, c := range []struct {
			channel, provider, extra string
			looks                    float64 // at the address
			pressedBy                string  // as the provider names wang.wei
		}{
			{"wecom", "wecom", `{"card_type":"button_interaction","main_title":{"title":"Disk full"},"button_list":[{"text":"I have it","key":"%s"}]}`, 1, "wang.wei"},
			{"ding", "dingtalk_card", `{"cardTemplateId":"b4fd.schema","cardData":{"cardParamMap":{"title":"Disk full","ack_key":"%s"}}}`, 0, "wang.wei"},
			{"lark", "feishu", `{"schema":"2.0","body":{"elements":[{"tag":"markdown","content":"Disk full"},{"tag":"button","text":{"tag":"plain_text","content":"I have it"},"behaviors":[{"type":"callback","value":{"key":"%s"}}]}]}}`, 1, "ou_wang.wei"},
		} {
			h.way("night-"+c.channel, posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{c.channel}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)}}})
			notice := func(user, key string) string {
				sent, err := h.api.Messages.Send(ctx, posthouse.Draft{Route: "night-" + c.channel, To: []posthouse.Recipient{{User: user, Address: user}}, Content: &posthouse.Content{
					Type: posthouse.TemplateContent, Extra: json.RawMessage(fmt.Sprintf(c.extra, key)),
				}})
				h.must(err)
				id := posthouse.DeliveryID(sent.Accepted[0].ID, 1)
				h.eventually("the card of "+user+" is sent by "+c.channel, func() bool {
					n, err := h.api.Notifications.Get(ctx, id)
					h.must(err)
					return len(n.Deliveries) == 1 && n.Deliveries[0].State == posthouse.Sent
				})
				return id
			}
			other, one := notice("li.na", "ack.of-nobody"), notice("wang.wei", "${ack_key}")
			h.must(h.sim.Press(simulator.Press{Provider: c.provider, User: "li.na"}))
			h.must(h.sim.Press(simulator.Press{Provider: c.provider, User: "wang.wei", Times: 3}))
			n := h.turns(one, posthouse.NotificationAcknowledged)
			if n.Ack.By != "wang.wei" || n.Ack.Via != posthouse.AckCard || !strings.Contains(string(n.Ack.Evidence), `"address":"`+c.pressedBy+`"`) {
				h.Errorf("%s: the acknowledgement is %+v with %s", c.channel, n.Ack, n.Ack.Evidence)
			}
			h.eventually("all calls are answered", func() bool {
				return h.metric(fmt.Sprintf(`posthouse_callbacks_total{channel=%q,outcome="taken"}`, c.channel))+h.metric(fmt.Sprintf(`posthouse_callbacks_total{channel=%q,outcome="repeated"}`, c.channel)) == 4+c.looks
			})
			n, err := h.api.Notifications.Get(ctx, other)
			h.must(err)
			if n.State != posthouse.NotificationWaiting {
				h.Errorf("%s: a key of nobody's has made a notification %s", c.channel, n.State)
			}
		}
		// The address alone, without the secret, acknowledges nothing.
		if status, _ := h.calls(http.MethodPost, h.hook("ding", ""), `{"type":"actionCallback"}`); status != http.StatusForbidden {
			h.Errorf("a press that is not signed is answered with %d", status)
		}
	})
}
