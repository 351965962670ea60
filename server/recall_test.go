package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/wire"
)

// apps configures what can take back and what cannot.
func (h *house) apps() {
	h.Helper()
	h.wecom()
	h.put(posthouse.Channel{Name: "ding", Driver: "dingtalk_work", Config: map[string]any{
		"url": h.sim.URL() + "/dingtalk_work", "api_url": h.sim.URL() + "/dingtalk_work", "agent_id": "7", "app_key": "k", "app_secret": "a-secret-of-ours", "receipt_after": "0s",
	}})
	h.put(posthouse.Channel{Name: "feishu", Driver: "feishu", Config: map[string]any{"url": h.sim.URL() + "/feishu", "app_id": "cli_1", "app_secret": "a-secret-of-ours"}})
	h.put(posthouse.Channel{Name: "robot", Driver: "wecom_robot", Config: map[string]any{"url": h.sim.URL() + "/wecom_robot/cgi-bin/webhook/send", "key": "k1"}})
}

// outBy hands in a message and waits until it is sent.
func (h *house) outBy(channel string, users ...string) posthouse.Accepted {
	h.Helper()
	var to []posthouse.Recipient
	for _, u := range users {
		to = append(to, posthouse.Recipient{User: u, Address: u})
	}
	sent := h.hand(posthouse.Draft{Channel: channel, To: to, Content: &posthouse.Content{Text: "The exercise at nine is off."}})
	for _, d := range sent.Deliveries {
		h.eventually("the delivery of "+d.User+" ends", func() bool { return !h.delivery(d.ID).State.Open() })
	}
	return sent
}

func outcomes(r wire.Recalled) map[string]string {
	out := map[string]string{}
	for _, d := range r.Deliveries {
		out[d.User] = d.Outcome
	}
	return out
}

// What was sent is taken back where the provider can, what had not started is cancelled, and each delivery keeps what became of it; asked
// again, nothing else comes of it.
func TestARecallTakesBackWhatWasSent(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.apps()
		var all []posthouse.Accepted
		for channel, want := range map[string]map[string]string{
			"wecom":  {"u1": "recalled", "u2": "recalled", "fail-recipient-1": "not_sent"},
			"ding":   {"u1": "recalled", "u2": "recalled"},
			"feishu": {"ou_1": "recalled", "recall-late-1": "too_late"},
			"robot":  {"u1": "not_supported"},
		} {
			var users []string
			for user := range want {
				users = append(users, user)
			}
			sent := h.outBy(channel, users...)
			for range 2 {
				out, err := h.api.Messages.Recall(h.Context(), sent.ID)
				h.must(err)
				for _, d := range out.Deliveries {
					if d.Outcome == "not_supported" && d.Error == "" {
						h.Errorf("%s does not say why nothing can be taken back", channel)
					}
				}
				if diff := cmp.Diff(want, outcomes(out)); diff != "" || out.Remaining != 0 {
					h.Errorf("%s: %d remain (-want +got):\n%s%+v", channel, out.Remaining, diff, out.Deliveries)
				}
			}
			for _, d := range sent.Deliveries {
				n := h.number("SELECT COUNT(*) FROM posthouse_transitions WHERE delivery = '" + d.ID + "' AND type = 'recall'")
				if not := want[d.User] == "not_sent"; not != (n == 0) || n > 1 {
					h.Errorf("%s of %s has %d events recall", d.User, channel, n)
				}
			}
			all = append(all, sent)
		}
		waiting := h.hand(posthouse.Draft{Channel: "wecom", To: []posthouse.Recipient{{User: "u9"}}, NotBefore: time.Now().Add(time.Hour), Content: &posthouse.Content{Text: "later"}})
		out, err := h.api.Messages.Recall(h.Context(), waiting.ID)
		h.must(err)
		if d := h.delivery(waiting.Deliveries[0].ID); out.NotSent != 1 || d.State != posthouse.Cancelled {
			h.Errorf("what waits: got %+v and %s, want it cancelled", out, d.State)
		}
		h.verified(append(all, waiting)...)
		_, err = h.api.Messages.Recall(h.Context(), posthouse.NewID())
		if posthouse.CodeOf(err) != posthouse.CodeNotFound {
			h.Errorf("no message: got %v, want not_found", err)
		}
		h.recallsText()
	})
}

// recallsText asks for a recall of one message of a digest, which names the message whose recall takes back the text of all of them.
func (h *house) recallsText() {
	h.Helper()
	h.digests(posthouse.Digest{Name: "d", Window: hour})
	var members []string
	for _, text := range []string{"one", "two"} {
		sent := h.hand(posthouse.Draft{Channel: "wecom", Digest: "d", To: []posthouse.Recipient{{User: "u7"}}, Content: &posthouse.Content{Text: text}})
		members = append(members, sent.Deliveries[0].ID)
	}
	h.leaves(members[0])
	h.become(posthouse.Sent, members...)
	whole := posthouse.MessageID(h.gatheredBy(members[0]).Delivery)
	out, err := h.api.Messages.Recall(h.Context(), posthouse.MessageID(members[0]))
	if err != nil || out.Failed != 1 || !strings.Contains(out.Deliveries[0].Error, "of the digest d: posthouse recall "+whole+" takes back all 2 messages of it") {
		h.Errorf("a recall of a member: %+v, %v, want it to name %s", out, err, whole)
	}
	if out, err = h.api.Messages.Recall(h.Context(), whole); err != nil || out.Recalled != 1 {
		h.Errorf("a recall of the text: %+v, %v", out, err)
	}
}

// A call that told two messages is not taken back for one of them.
func TestARecallTakesBackNothingElse(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	h.apps()
	_, err := h.api.Channels.Pause(h.Context(), "wecom", "")
	h.must(err)
	var sent []posthouse.Accepted
	for _, user := range []string{"u1", "u2"} {
		sent = append(sent, h.hand(posthouse.Draft{Channel: "wecom", To: []posthouse.Recipient{{User: user}}, Content: &posthouse.Content{Text: "The exercise at nine is off."}}))
	}
	_, err = h.api.Channels.Resume(h.Context(), "wecom")
	h.must(err)
	refs := map[string]bool{}
	for _, m := range sent {
		h.eventually("it is sent", func() bool { return h.delivery(m.Deliveries[0].ID).State == posthouse.Sent })
		refs[h.delivery(m.Deliveries[0].ID).ProviderRef] = true
	}
	want := 1
	if len(refs) == 2 {
		want = 0 // each had a call of its own
	}
	out, err := h.api.Messages.Recall(h.Context(), sent[0].ID)
	h.must(err)
	if out.Failed != want || out.Recalled != 1-want {
		h.Errorf("with %d calls: got %+v", len(refs), out)
	}
}

// A route has a message for each of its people, which share a call: all of it is taken back.
func TestARecallTakesBackACallOfARoute(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.apps()
		h.way("all", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"wecom"}}}})
		_, err := h.api.Channels.Pause(h.Context(), "wecom", "so that they share a call")
		h.must(err)
		var to []posthouse.Recipient
		for _, u := range []string{"zhang.san", "li.si", "wang.wu"} {
			to = append(to, posthouse.Recipient{User: u, Address: u})
		}
		sent := h.hand(posthouse.Draft{Route: "all", To: to, Content: &posthouse.Content{Text: "The exercise at nine is off."}})
		deliveries := func(in posthouse.State) []posthouse.Delivery {
			page, err := h.api.Deliveries.List(h.Context(), client.Filter{Channel: "wecom", States: []posthouse.State{in}, Limit: 10})
			h.must(err)
			return page.Items
		}
		h.eventually("all three wait", func() bool { return len(deliveries(posthouse.Pending)) == 3 })
		_, err = h.api.Channels.Resume(h.Context(), "wecom")
		h.must(err)
		h.eventually("all three are sent", func() bool { return len(deliveries(posthouse.Sent)) == 3 })
		recalled, err := h.api.Messages.Recall(h.Context(), sent.ID)
		h.must(err)
		if got := outcomes(recalled); len(got) != 3 || got["li.si"] != "recalled" || got["wang.wu"] != "recalled" {
			h.Errorf("the recall: %v", got)
		}
	})
}
