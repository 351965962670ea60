package server_test

import (
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

// dingtalk configures the gateway of the simulator.
func (h *house) dingtalk() {
	h.Helper()
	h.put(posthouse.Channel{Name: "dingtalk", Driver: "dingtalk", Config: map[string]any{
		"baseUrl": h.sim.URL() + "/dingtalk/send", "agentId": "ZJLAB1045002", "corpId": "ZJLAB1045",
	}})
}

// dingtalkWork configures work notifications of the simulator.
func (h *house) dingtalkWork(name string) {
	h.Helper()
	h.put(posthouse.Channel{Name: name, Driver: "dingtalk_work", Config: map[string]any{
		"url": h.sim.URL() + "/dingtalk_work", "agent_id": "1045002", "app_key": "dingkey", "app_secret": "a-secret-of-ours",
	}})
}

// hand hands in one message.
func (h *house) hand(draft posthouse.Draft) posthouse.Accepted {
	h.Helper()
	sent, err := h.api.Send(h.Context(), draft)
	h.must(err)
	return sent.Accepted[0]
}

// FLOW-14: a job of 500 recipients is one call, its msgid is each recipient's, and a user without a name
// at the gateway fails for good.
func TestFLOW14_OneCallTellsAllRecipientsOfAJob(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.dingtalk()
		draft := posthouse.Draft{Channel: "dingtalk", Content: &posthouse.Content{Title: "【应急成像-京津冀】进站提醒，请各位提前准备", Text: "请提前开展工作准备"}}
		for i := range 500 {
			draft.To = append(draft.To, posthouse.Recipient{User: fmt.Sprintf("u%d", i), Address: fmt.Sprintf("user.%d", i)})
		}
		draft.To = append(draft.To, posthouse.Recipient{User: "nameless"})
		sent := h.hand(draft)
		h.eventually("501 deliveries are settled", func() bool {
			return h.number("SELECT COUNT(*) FROM settled WHERE state = 'sent'") == 500 && h.number("SELECT COUNT(*) FROM settled WHERE state = 'failed'") == 1
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
		if warned := h.log.with(line{"level": "WARN", "message": sent.ID}); len(warned) != 1 {
			h.Errorf("the log warns %d times of the title", len(warned))
		}
	})
}

// A token that one process has fetched serves the next one, and is nowhere in clear.
func TestAccessTokensAreSharedAndSealed(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.dingtalkWork("work")
		d := h.hand(posthouse.Draft{Channel: "work", To: []posthouse.Recipient{{User: "li.na", Address: "li.na"}}, Content: &posthouse.Content{Text: "hello"}})
		h.eventually("the notification is sent", func() bool { return h.delivery(d.Deliveries[0].ID).State == posthouse.Sent })
		var name, value string
		h.must(h.db.QueryRowContext(h.Context(), "SELECT name, value FROM tokens").Scan(&name, &value))
		if name != "default/work/dingkey" || len(value) < 20 || value[:7] != "enc:v1:" {
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
		h.dingtalk()
		h.dingtalkWork("work")
		result, err := h.api.TestChannel(h.Context(), "work", client.ChannelTest{})
		if err != nil || result.Class != posthouse.ClassOK || h.sim.Totals().Arrivals != 0 {
			h.Errorf("work: got %+v, %v, want ok and nothing sent", result, err)
		}
		if _, err := h.api.TestChannel(h.Context(), "dingtalk", client.ChannelTest{}); posthouse.CodeOf(err) != posthouse.CodeInvalid {
			h.Errorf("gateway without a recipient: got %v, want invalid", err)
		}
		result, err = h.api.TestChannel(h.Context(), "dingtalk", client.ChannelTest{
			To: &posthouse.Recipient{User: "li.na"}, Content: &posthouse.Content{Title: "t", Text: "x"},
		})
		if err != nil || result.Class != posthouse.ClassOK || len(h.arrivals("dingtalk", "li.na")) != 1 {
			h.Errorf("gateway: got %+v, %v, want ok and one arrival", result, err)
		}
	})
}
