package server_test

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/wire"
)

const mailToken = "a token of the mailbox"

// A mail that comes back was not delivered: its route goes on to the next step.
func TestAMailThatComesBackLeadsOn(t *testing.T) {
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
		h.put(posthouse.Channel{Name: "desk", Driver: "discard"})
		path := h.url + h.hook("mail", "")
		h.way("notice", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"mail"}}, {Channels: []string{"desk"}}}})
		sent, err := h.api.Messages.Send(ctx, posthouse.Draft{Route: "notice", To: []posthouse.Recipient{{User: "li.na", Address: "li.na@example.org"}}, Content: &posthouse.Content{Title: "News", Text: "of May"}})
		h.must(err)
		id := posthouse.DeliveryID(sent.Accepted[0].ID, 1)
		n := h.turns(id, posthouse.NotificationTold)
		h.post822(path, "From: MAILER-DAEMON@example.org\r\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n"+
			"--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; example.org\r\n\r\nFinal-Recipient: rfc822; li.na@example.org\r\nAction: failed\r\nStatus: 5.7.1\r\nDiagnostic-Code: smtp; 550 5.7.1 refused\r\n\r\n"+
			"--b\r\nContent-Type: text/rfc822-headers\r\n\r\nMessage-ID: <"+h.sim.Arrivals(simulator.Filter{Provider: "mail", User: "li.na@example.org"})[0].Key+">\r\n\r\n--b--\r\n")
		h.eventually("the next step tells", func() bool {
			n, err = h.api.Notifications.Get(ctx, id)
			h.must(err)
			return n.State == posthouse.NotificationTold && len(n.Deliveries) == 2
		})
		if d := h.delivery(n.Deliveries[0].ID); d.State != posthouse.Undelivered || !strings.Contains(d.Error, "refused") {
			h.Errorf("the mail is %s: %s", d.State, d.Error)
		}
	})
}

// post822 posts a mail to an address as the mailbox does that gets it.
func (h *house) post822(path, text string) {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), http.MethodPost, path, strings.NewReader(text))
	h.must(err)
	req.Header.Set("Authorization", "Bearer "+mailToken)
	res, err := http.DefaultClient.Do(req)
	h.must(err)
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		h.Errorf("a mail that is handed in is answered with %d", res.StatusCode)
	}
}

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
		h.post822(path, forged) // which is no error of the mailbox
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

// A word in a text that a phone got acknowledges what phones have sent to that number: once, and for nobody else.
func TestTextsThatPhonesGetAcknowledge(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		ctx := h.Context()
		p := h.register("phone-1")
		_, _, err := h.api.Channels.Put(ctx, posthouse.Channel{Name: "phones", Driver: "pull"})
		h.must(err)
		h.way("night", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"phones"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)}}})
		notice := func(text string) (id, said string) {
			sent, err := h.api.Messages.Send(ctx, posthouse.Draft{Route: "night", To: []posthouse.Recipient{{User: "li.na", Address: "138 0013 8000"}}, Content: &posthouse.Content{Text: text}})
			h.must(err)
			got := p.claims(1)[0]
			_, err = p.Handouts.Start(ctx, p.id, wire.Hold{Delivery: got.Delivery, Token: got.Token})
			h.must(err)
			_, err = p.Handouts.Report(ctx, p.id, posthouse.AgentReport{ReportID: got.Delivery, Delivery: got.Delivery, Token: got.Token, Outcome: posthouse.OutcomeSent})
			h.must(err)
			return posthouse.DeliveryID(sent.Accepted[0].ID, 1), got.Content.Text
		}
		got := func(id, sender, text string) wire.ReceivedText {
			return wire.ReceivedText{ID: id, Sender: sender, Text: text, ReceivedAt: time.Now()}
		}
		hands := func(texts ...wire.ReceivedText) string {
			list, err := p.Handouts.Received(ctx, p.id, texts...)
			h.must(err)
			said := ""
			for i, r := range list {
				said += fmt.Sprintf("%s:%t", r.ID, r.Acknowledged)
				if r.Repeated {
					said += " again"
				}
				if i < len(list)-1 {
					said += ", "
				}
			}
			return said
		}
		first, _ := notice("Disk full")
		second, text := notice("Disk full: answer ${ack_code}")
		code := text[len(text)-4:]
		both, one := got("t1", "13800138000", "1"), got("t2", "+86 138-0013-8000", "1 "+code)
		if said := hands(both, got("t0", "13900139000", "1"), got("t3", "CMCC", "您的余额不足"), one, one); said != "t1:false, t0:false, t3:false, t2:true, t2:true again" {
			h.Errorf("the texts are answered %s", said)
		}
		n := h.turns(second, posthouse.NotificationAcknowledged)
		if n.Ack.By != "li.na" || n.Ack.Via != posthouse.AckSMS || !strings.Contains(string(n.Ack.Evidence), `"id":"phone-1/t2"`) {
			h.Errorf("the acknowledgement is %+v with %s", n.Ack, n.Ack.Evidence)
		}
		// What meant neither of two means nothing now either, and what was written before an alarm does not mean it.
		old := got("t4", "13800138000", "收到")
		old.ReceivedAt = old.ReceivedAt.Add(-time.Hour)
		if said := hands(both, old); said != "t1:false again, t4:false" {
			h.Errorf("the texts are answered %s", said)
		}
		if n, err := h.api.Notifications.Get(ctx, first); err != nil || n.State != posthouse.NotificationWaiting {
			h.Errorf("what is not named is %s, %v", n.State, err)
		}
		ahead := got("t5", "13800138000", "收到") // a clock that is ahead
		ahead.ReceivedAt = ahead.ReceivedAt.Add(time.Hour)
		if said := hands(ahead); said != "t5:true" {
			h.Errorf("the text is answered %s", said)
		}
		h.turns(first, posthouse.NotificationAcknowledged)
		if _, err := h.api.Handouts.Received(ctx, "phone-1", got("t6", "13800138000", "1")); posthouse.CodeOf(err) != posthouse.CodeForbidden {
			h.Errorf("another key than the phone's: got %v", err)
		}
	})
}
