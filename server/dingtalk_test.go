package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/wire"
)

// dingtalk configures the gateway of the simulator.
func (h *house) dingtalk(settings posthouse.ChannelSettings) {
	h.Helper()
	h.put(posthouse.Channel{Name: "dingtalk", Driver: "dingtalk", ChannelSettings: settings, Config: map[string]any{
		"baseUrl": h.sim.URL() + "/dingtalk/send", "agentId": "AGENT1002", "corpId": "CORP1",
	}})
}

// dingtalkWork configures work notifications of the simulator.
func (h *house) dingtalkWork(name string) {
	h.Helper()
	h.put(posthouse.Channel{Name: name, Driver: "dingtalk_work", Config: map[string]any{
		"url": h.sim.URL() + "/dingtalk_work", "agent_id": "1045002", "app_key": "dingkey", "app_secret": "a-secret-of-ours", "receipt_after": "100ms",
	}})
}

// hand hands in one message.
func (h *house) hand(draft posthouse.Draft) posthouse.Accepted {
	h.Helper()
	sent, err := h.api.Messages.Send(h.Context(), draft)
	h.must(err)
	return sent.Accepted[0]
}

// verified holds the log of some messages against what arrived, as posthouse verify does.
func (h *house) verified(messages ...posthouse.Accepted) {
	h.Helper()
	var events []posthouse.Event
	for _, m := range messages {
		for _, d := range m.Deliveries {
			list, err := h.api.Deliveries.Events(h.Context(), d.ID)
			h.must(err)
			events = append(events, list...)
		}
	}
	var sink bytes.Buffer
	arrivals := h.sim.Arrivals(simulator.Filter{Limit: 10_000})
	for i := range arrivals {
		if arrivals[i].Answer != simulator.Refused && arrivals[i].Key == "" {
			h.Errorf("an arrival has no key: %+v", arrivals[i])
		}
		h.must(json.NewEncoder(&sink).Encode(&arrivals[i]))
	}
	report, err := verify.Check(h.Context(), verify.Inputs{
		Sink: &sink, Sometimes: []string{"none"}, Slack: time.Second,
		Events: func(yield func(posthouse.Event, error) bool) {
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
		},
	})
	h.must(err)
	if report.Verdict != verify.Holds {
		h.Errorf("the run does not hold:\n%s", report.Page())
	}
}

// FLOW-14: a job of 500 recipients is one call, its msgid is each recipient's, and a user without a name
// at the gateway fails for good.
func TestFLOW14_OneCallTellsAllRecipientsOfAJob(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.dingtalk(posthouse.ChannelSettings{})
		draft := posthouse.Draft{Channel: "dingtalk", Content: &posthouse.Content{Title: "【应急成像-京津冀】进站提醒，请各位提前准备", Text: "请提前开展工作准备"}}
		for i := range 500 {
			draft.To = append(draft.To, posthouse.Recipient{User: fmt.Sprintf("u%d", i), Address: fmt.Sprintf("user.%d", i)})
		}
		draft.To = append(draft.To, posthouse.Recipient{User: "nameless"})
		sent := h.hand(draft)
		h.eventually("501 deliveries are settled", func() bool {
			return h.number("SELECT COUNT(*) FROM posthouse_settled WHERE state = 'sent'") == 500 && h.number("SELECT COUNT(*) FROM posthouse_settled WHERE state = 'failed'") == 1
		})
		if n := h.sim.Status().Providers["dingtalk"].Requests; n != 1 {
			h.Errorf("%d calls, want 1", n)
		}
		first, last := h.delivery(sent.Deliveries[0].ID), h.delivery(sent.Deliveries[499].ID)
		if first.ProviderRef == "" || first.ProviderRef != last.ProviderRef {
			h.Errorf("the msgids are %q and %q, want the call's for both", first.ProviderRef, last.ProviderRef)
		}
		if a := h.arrivals("dingtalk", "user.499"); len(a) != 1 || a[0].Key != last.IdemKey || a[0].ID != last.ProviderRef || len([]rune(a[0].Title)) != 20 {
			h.Errorf("got %+v, want one arrival with the delivery's key and a title of 20 characters", a)
		}
		if d := h.delivery(sent.Deliveries[500].ID); d.State != posthouse.Failed || h.attempts(d.ID)[0].Class != posthouse.ClassRecipient {
			h.Errorf("the nameless user's delivery is %s: %s", d.State, d.Error)
		}
		// The log follows what is stored.
		h.eventually("the log warns of the nameless user's delivery, which failed for good, and of no other", func() bool {
			return len(h.log.with(line{"level": "WARN", "message": sent.ID, "msg": "attempt ended"})) == 1
		})
		if warned := h.log.with(line{"level": "WARN", "message": sent.ID}); len(warned) != 2 {
			h.Errorf("the log warns %d times, want once of the title beside that", len(warned))
		}
	})
}

// A token that one process has fetched serves the next one, and is nowhere in clear.
func TestAccessTokensAreSharedAndSealed(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.dingtalkWork("notify")
		d := h.hand(posthouse.Draft{Channel: "notify", To: []posthouse.Recipient{{User: "li.na", Address: "li.na"}}, Content: &posthouse.Content{Text: "hello"}})
		h.eventually("the notification is sent", func() bool { return !h.delivery(d.Deliveries[0].ID).State.Open() })
		var name, value string
		h.must(h.db.QueryRowContext(h.Context(), "SELECT name, value FROM posthouse_tokens").Scan(&name, &value))
		if !strings.HasPrefix(name, "default/notify/dingkey/") || len(value) < 20 || value[:7] != "enc:v1:" {
			h.Errorf("the token %s is kept as %q, want it sealed", name, value)
		}
		if a := h.arrivals("dingtalk_work", "li.na"); len(a) != 1 || a[0].Key != d.Deliveries[0].ID {
			h.Errorf("got %+v, want one arrival with the delivery's key", a)
		}
	})
}

// channel test: work notifications fetch a token; the gateway needs somebody to tell.
func TestAChannelOfDingTalkIsTested(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.dingtalk(posthouse.ChannelSettings{})
		h.dingtalkWork("notify")
		result, err := h.api.Channels.Test(h.Context(), "notify", wire.ChannelTest{})
		if err != nil || result.Class != posthouse.ClassOK || h.sim.Totals().Arrivals != 0 {
			h.Errorf("work: got %+v, %v, want ok and nothing sent", result, err)
		}
		if _, err := h.api.Channels.Test(h.Context(), "dingtalk", wire.ChannelTest{}); posthouse.CodeOf(err) != posthouse.CodeInvalid {
			h.Errorf("gateway without a recipient: got %v, want invalid", err)
		}
		result, err = h.api.Channels.Test(h.Context(), "dingtalk", wire.ChannelTest{
			To: posthouse.Recipient{Address: "li.na"}, Content: posthouse.Content{Title: "t", Text: "x"},
		})
		if err != nil || result.Class != posthouse.ClassOK || len(h.arrivals("dingtalk", "li.na")) != 1 {
			h.Errorf("gateway: got %+v, %v, want ok and one arrival", result, err)
		}
	})
}

// DingTalk accepts a call although it will not tell some of its users; the receipts say so.
func TestReceiptsOfWorkNotificationsAreAskedFor(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.dingtalkWork("notify")
		draft := posthouse.Draft{Channel: "notify", Content: &posthouse.Content{Text: "hello"}}
		for _, user := range []string{"li.na", "fail-recipient", "refuse-content"} {
			draft.To = append(draft.To, posthouse.Recipient{User: user, Address: user})
		}
		want := map[string]posthouse.State{"li.na": posthouse.Delivered, "fail-recipient": posthouse.Undelivered, "refuse-content": posthouse.Undelivered}
		for _, a := range h.hand(draft).Deliveries {
			h.eventually("the delivery to "+a.User+" is "+string(want[a.User]), func() bool { return h.delivery(a.ID).State == want[a.User] })
			if d := h.delivery(a.ID); (d.Error == "") != (d.State == posthouse.Delivered) {
				h.Errorf("%s: %s with the error %q", a.User, d.State, d.Error)
			}
		}
	})
}

// Each delivery of a call is told apart in the gateway's journal, whatever becomes of the call.
func TestVerifyKnowsWhoACallOfTheGatewayWasFor(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.dingtalk(atOnce(50 * time.Millisecond))
		var all []posthouse.Accepted
		for _, users := range [][]string{
			{"a", "b", "fail-recipient-1", "c", "d", "e", "fail-recipient-2", "f"}, {"a", "busy-twice", "b"}, {"a", "lost-answer"},
		} {
			draft := posthouse.Draft{Channel: "dingtalk", Content: &posthouse.Content{Title: "提醒", Text: "x"}}
			for _, user := range users {
				draft.To = append(draft.To, posthouse.Recipient{User: user, Address: user})
			}
			all = append(all, h.hand(draft))
		}
		want := map[posthouse.State]int{posthouse.Sent: 9, posthouse.Failed: 2, posthouse.Unknown: 2}
		h.eventually("all have ended, or are held", func() bool {
			got := map[posthouse.State]int{}
			for _, m := range all {
				for _, d := range m.Deliveries {
					got[h.delivery(d.ID).State]++
				}
			}
			return maps.Equal(got, want)
		})
		h.verified(all...)
	})
}
