package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/wire"
)

// An alert that comes by a front and follows a route leaves as the card that the step's template makes of it, and its button acknowledges.
func TestAnAlertsCardIsMadeByATemplate(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		ctx := h.Context()
		path := h.application("wecom", callbackKey)
		h.must(h.sim.CallBack(ctx, "wecom", simulator.Callback{URL: h.url + path, Token: callbackToken, AESKey: callbackKey, Receiver: "ww1"}))
		h.robot("ding")
		h.lark("lark")
		for _, c := range []struct{ channel, provider, extra, shows string }{
			{
				"wecom", "wecom", `{"card_type":"button_interaction","main_title":{"title":"${title}","desc":"for {person}"},"button_list":[{"text":"I have it","key":"${ack_key}"}]}`,
				`{"card_type":"button_interaction","main_title":{"title":"[Firing] Disk \"C:\\\"","desc":"for wang.wei"},"button_list":[{"text":"I have it","key":"ack.***"}]}`,
			},
			{
				"ding", "dingtalk_card", `{"cardTemplateId":"b4fd.schema","cardData":{"cardParamMap":{"title":"${title}","ack_key":"${ack_key}"}}}`,
				`{"cardTemplateId":"b4fd.schema","cardData":{"cardParamMap":{"title":"[Firing] Disk \"C:\\\"","ack_key":"ack.***"}}}`,
			},
			{
				"lark", "feishu", `{"schema":"2.0","body":{"elements":[{"tag":"markdown","content":"${title}"},{"tag":"button","text":{"tag":"plain_text","content":"I have it"},"behaviors":[{"type":"callback","value":{"key":"${ack_key}"}}]}]}}`,
				`{"schema":"2.0","body":{"elements":[{"tag":"markdown","content":"[Firing] Disk \"C:\\\""},{"tag":"button","text":{"tag":"plain_text","content":"I have it"},"behaviors":[{"type":"callback","value":{"key":"ack.***"}}]}]}}`,
			},
		} {
			_, err := h.api.Templates.Put(ctx, posthouse.Template{Name: "alert." + c.channel, Title: "${title}", Type: posthouse.TemplateContent, Extra: json.RawMessage(c.extra)})
			h.must(err)
			h.way("night-"+c.channel, posthouse.Route{Steps: []posthouse.RouteStep{{
				Channels: []string{c.channel}, Template: "alert." + c.channel, To: []posthouse.Recipient{{User: "wang.wei", Address: "wang.wei"}}, Until: posthouse.ProofAcknowledged, Within: hour,
			}}})
			f, err := h.api.Fronts.Put(ctx, "alerts-"+c.channel, wire.PutFront{Kind: "alertmanager", FrontSettings: posthouse.FrontSettings{Route: "night-" + c.channel}})
			h.must(err)
			alert := alertOf("firing", `Disk "C:\"`, "critical", 1)
			body := strings.ReplaceAll(groupOf(alert), `"alertname":"Disk"`, `"alertname":"Disk \"C:\\\""`)
			if status, said := h.knock("POST", f.Path+"/"+f.Token, body); status != 200 {
				h.Fatalf("%s: %d %s", c.channel, status, said)
			}
			id := h.lastNotices()[0].ID
			h.eventually("the card is sent by "+c.channel, func() bool {
				n, err := h.api.Notifications.Get(ctx, id)
				h.must(err)
				return len(n.Deliveries) == 1 && n.Deliveries[0].State == posthouse.Sent
			})
			h.must(h.sim.Press(simulator.Press{Provider: c.provider, User: "wang.wei"}))
			n := h.turns(id, posthouse.NotificationAcknowledged)
			if n.Ack.By != "wang.wei" || n.Ack.Via != posthouse.AckCard {
				h.Errorf("%s: the acknowledgement is %+v", c.channel, n.Ack)
			}
			m, err := h.api.Messages.Get(ctx, posthouse.MessageID(n.Deliveries[0].ID))
			h.must(err)
			if string(m.Content.Extra) != c.shows || m.Content.Type != posthouse.TemplateContent || m.Template != "alert."+c.channel {
				h.Errorf("%s: the message is shown as a %s of %s with %s, want %s", c.channel, m.Content.Type, m.Template, m.Content.Extra, c.shows)
			}
		}
	})
}

// Each person gets the card of the own language: a text may have an extra of its own, and else has the template's. The same again is no version.
func TestACardIsInTheLanguageOfItsReader(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		_, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "li", Language: "zh"}, posthouse.User{ID: "ann", Language: "en"}, posthouse.User{ID: "eve", Language: "fr"})
		h.must(err)
		put, err := h.api.Templates.Put(h.Context(), posthouse.Template{
			Name: "duty", Text: "值班", Language: "zh", Type: posthouse.CardContent, Extra: json.RawMessage(`{"url": "https://duty.example.com/${name}", "button": "查看"}`),
			Texts: map[string]posthouse.TemplateText{"en": {Text: "duty", Extra: json.RawMessage(`{"url":"https://duty.example.com/en/${name}"}`)}, "fr": {Text: "de garde"}},
		})
		h.must(err)
		h.hand(posthouse.Draft{Channel: "a", Template: "duty", Payload: json.RawMessage(`{"name":"x"}`), To: []posthouse.Recipient{{User: "li"}, {User: "ann"}, {User: "eve"}}})
		h.eventually("all are told", func() bool { return len(p.on("a")) == 3 })
		got := map[string]string{}
		p.mu.Lock()
		for _, out := range p.came {
			got[out.Recipient.User] = string(out.Content.Type) + " " + out.Content.Text + " " + string(out.Content.Extra)
		}
		p.mu.Unlock()
		own := `{"url":"https://duty.example.com/x","button":"查看"}`
		if diff := cmp.Diff(map[string]string{"li": "card 值班 " + own, "ann": `card duty {"url":"https://duty.example.com/en/x"}`, "eve": "card de garde " + own}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if again, err := h.api.Templates.Put(h.Context(), put); err != nil || again.Version != 1 {
			t.Errorf("the same again is version %d, %v", again.Version, err)
		}
		put.Texts["fr"] = posthouse.TemplateText{Text: "de garde", Extra: json.RawMessage(`{"url":"https://duty.example.com/fr"}`)}
		if again, err := h.api.Templates.Put(h.Context(), put); err != nil || again.Version != 2 {
			t.Errorf("another card is version %d, %v", again.Version, err)
		}
	})
}
