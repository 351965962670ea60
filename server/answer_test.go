package server_test

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
)

const mailToken = "a token of the mailbox"

// Who answers the mail of a notification acknowledges it, once however often that is told. A vacation note does not, and neither does a
// stranger who knows the mail.
func TestAnAnswerToAMailAcknowledges(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		ctx := h.Context()
		address, err := h.sim.StartMail(ctx, "")
		h.must(err)
		host, port, err := net.SplitHostPort(address)
		h.must(err)
		number, err := strconv.Atoi(port)
		h.must(err)
		h.put(posthouse.Channel{Name: "mail", Driver: "email", Config: map[string]any{
			"host": host, "port": number, "tls": "opportunistic", "from": "desk@example.com", "callback_token": mailToken,
		}})
		path := h.url + h.hook("mail", "")
		h.must(h.sim.CallBack(ctx, "mail", simulator.Callback{URL: path, Token: mailToken}))
		h.way("night", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"mail"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)}}})
		notice := func(to posthouse.Recipient) string {
			sent, err := h.api.Messages.Send(ctx, posthouse.Draft{Route: "night", To: []posthouse.Recipient{to}, Content: &posthouse.Content{Title: "Disk full", Text: "db-1"}})
			h.must(err)
			id := posthouse.DeliveryID(sent.Accepted[0].ID, 1)
			h.eventually("the mail is sent", func() bool {
				n, err := h.api.Notifications.Get(ctx, id)
				h.must(err)
				return len(n.Deliveries) == 1 && n.Deliveries[0].State == posthouse.Sent
			})
			return id
		}
		away, one := notice(posthouse.Recipient{Address: "wang.wei@example.org"}), notice(posthouse.Recipient{User: "li.na", Address: "li.na@example.org"})
		h.must(h.sim.Reply("mail", simulator.Reply{User: "wang.wei@example.org", Text: "I am away until Monday.", Automatic: true}))
		key := h.sim.Arrivals(simulator.Filter{Provider: "mail", User: "wang.wei@example.org"})[0].Key
		forged := "From: li.na@example.org\r\nIn-Reply-To: <" + key + ">\r\nSubject: Re: Disk full\r\n\r\nOK\r\n"
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(forged))
		h.must(err)
		req.Header.Set("Authorization", "Bearer "+mailToken)
		res, err := http.DefaultClient.Do(req)
		h.must(err)
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			h.Errorf("a stranger's answer is answered with %d: it is no error of the mailbox", res.StatusCode)
		}
		h.must(h.sim.Reply("mail", simulator.Reply{User: "li.na@example.org", Text: "I have it.", Times: 3}))
		n := h.turns(one, posthouse.NotificationAcknowledged)
		if n.Ack.By != "li.na" || n.Ack.Via != posthouse.AckMail || !strings.Contains(string(n.Ack.Evidence), `"address":"li.na@example.org"`) || !strings.Contains(string(n.Ack.Evidence), "@mailbox.example") {
			h.Errorf("the acknowledgement is %+v with %s", n.Ack, n.Ack.Evidence)
		}
		h.eventually("all are taken", func() bool { return h.metric(`posthouse_callbacks_total{channel="mail",outcome="taken"}`) == 5 })
		n, err = h.api.Notifications.Get(ctx, away)
		h.must(err)
		if n.State != posthouse.NotificationWaiting {
			h.Errorf("a vacation note or a stranger has made a notification %s", n.State)
		}
	})
}

// A word by text message acknowledges the only notification that waits for its number, and a code says which of several. The key 1 in a call
// acknowledges whatever waits.
func TestTextMessagesAndKeysAcknowledge(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		ctx := h.Context()
		h.put(posthouse.Channel{Name: "sms", Driver: "sms", Config: map[string]any{
			"provider": "aliyun", "access_key": "LTAI5tExample", "secret": simulator.SMSSecret, "sign": "驿站", "template_id": "SMS_154950909", "url": h.sim.URL() + "/sms_aliyun", "voice_url": h.sim.URL() + "/sms_aliyun",
		}})
		h.must(h.sim.CallBack(ctx, "sms_aliyun", simulator.Callback{URL: h.url + h.hook("sms", "")}))
		h.way("night", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"sms"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)}}})
		const number = "+8613800138000"
		notice := func(c posthouse.Content) (id, key, text string) {
			sent, err := h.api.Messages.Send(ctx, posthouse.Draft{Route: "night", To: []posthouse.Recipient{{User: "li.na", Address: number}}, Content: &c})
			h.must(err)
			id = posthouse.DeliveryID(sent.Accepted[0].ID, 1)
			h.eventually("it is sent", func() bool {
				n, err := h.api.Notifications.Get(ctx, id)
				h.must(err)
				return len(n.Deliveries) == 1 && n.Deliveries[0].State == posthouse.Sent
			})
			all := h.sim.Arrivals(simulator.Filter{Provider: "sms_aliyun", User: number})
			return id, all[len(all)-1].Key, all[len(all)-1].Text
		}
		first, _, _ := notice(posthouse.Content{Text: "Disk full"})
		second, _, text := notice(posthouse.Content{Text: "Disk full: answer ${ack_code}"})
		h.must(h.sim.Reply("sms_aliyun", simulator.Reply{User: number, Text: "1"})) // of both: it means neither
		h.eventually("it is taken", func() bool { return h.metric(`posthouse_callbacks_total{channel="sms",outcome="taken"}`) >= 3 })
		h.must(h.sim.Reply("sms_aliyun", simulator.Reply{User: number, Text: text[len(text)-4:]}))
		n := h.turns(second, posthouse.NotificationAcknowledged)
		if n.Ack.By != "li.na" || n.Ack.Via != posthouse.AckSMS {
			h.Errorf("the acknowledgement is %+v", n.Ack)
		}
		if n, err := h.api.Notifications.Get(ctx, first); err != nil || n.State != posthouse.NotificationWaiting {
			h.Errorf("what is not named is %s, %v", n.State, err)
		}
		h.must(h.sim.Reply("sms_aliyun", simulator.Reply{User: number, Text: "收到"}))
		h.turns(first, posthouse.NotificationAcknowledged)
		called, key, _ := notice(posthouse.Content{Type: posthouse.VoiceContent, Media: []posthouse.Media{{ID: "TTS_10001"}}})
		h.must(h.sim.Reply("sms_aliyun", simulator.Reply{User: number, Key: key, Text: "1"}))
		if n = h.turns(called, posthouse.NotificationAcknowledged); n.Ack.By != "li.na" || n.Ack.Via != posthouse.AckVoice {
			h.Errorf("the acknowledgement is %+v", n.Ack)
		}
	})
}
