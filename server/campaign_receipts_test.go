package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/wire"
)

// crowd makes a campaign of followers on the channel "mp", and starts it.
func (h *house) crowd(name string, openids []string, draft wire.CampaignDraft) {
	h.Helper()
	draft.Name, draft.Channel = name, "mp"
	if draft.Template == "" {
		draft.Content = &posthouse.Content{Text: "hello"}
	}
	_, err := h.api.Campaigns.Create(h.Context(), draft)
	h.must(err)
	_, err = h.api.Campaigns.Import(h.Context(), name, client.Part{Final: true}, strings.NewReader("openid\n"+strings.Join(openids, "\n")+"\n"))
	h.must(err)
	_, err = h.api.Campaigns.Start(h.Context(), name, false)
	h.must(err)
}

// heard waits until a campaign is done and the provider has told of so many of its members.
func (h *house) heard(name string, delivered, undelivered int64) wire.CampaignProgress {
	h.Helper()
	var p wire.CampaignProgress
	h.eventually(fmt.Sprintf("%s is done, and %d were delivered and %d not", name, delivered, undelivered), func() bool {
		c, err := h.api.Campaigns.Get(h.Context(), name)
		h.must(err)
		p = c.Progress
		return c.State == posthouse.CampaignDone && p.Delivered == delivered && p.Undelivered == undelivered
	})
	if p.Sent+p.Delivered+p.Undelivered != p.Members {
		h.Errorf("%s: the counts do not add up: %+v", name, p)
	}
	return p
}

// CAMP-12: WeChat's event turns a member who was sent to into delivered, or into undelivered with the reason, by the msgid alone and
// without a row for each.
func TestCAMP12_AProviderTellsWhatBecameOfMembers(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.mp("mp", nil)
		path := h.hook("mp", "")
		h.must(h.sim.CallBack(h.Context(), "wechat", simulator.Callback{URL: h.url + path, Token: callbackToken, Receiver: "wx1"}))
		openids := []string{"user-block-1", "system-failed-1", "user-block-2"}
		for i := range 117 {
			openids = append(openids, fmt.Sprintf("o%03d", i))
		}
		h.crowd("spring", openids, wire.CampaignDraft{SegmentSize: 50})
		p := h.heard("spring", 117, 3)
		if len(p.Reasons) != 2 || p.Reasons[0].Code != "USER_BLOCK" || p.Reasons[0].Members != 2 || p.Reasons[0].Outcome != "undelivered" {
			h.Errorf("the reasons are %+v, want two of USER_BLOCK before one of SYSTEM_FAILED", p.Reasons)
		}
		for openid, want := range map[string]string{"o001": "delivered", "user-block-1": "undelivered USER_BLOCK", "system-failed-1": "undelivered SYSTEM_FAILED"} {
			m, err := h.api.Campaigns.Who(h.Context(), "spring", openid)
			h.must(err)
			got := m.Outcome
			if m.Reason != nil {
				got += " " + m.Reason.Code
			}
			if got != want {
				h.Errorf("%s is %s, want %s", openid, got, want)
			}
		}
		var out strings.Builder
		h.must(h.api.Campaigns.Export(h.Context(), &out, "spring", "csv", "undelivered"))
		if lines := strings.Count(out.String(), "\n"); lines != 4 || !strings.Contains(out.String(), "user-block-2,undelivered,USER_BLOCK") {
			h.Errorf("who did not get it:\n%s", out.String())
		}
		if n := h.number("SELECT COALESCE(SUM(n), 0) FROM posthouse_member_refs"); n != 120 {
			h.Errorf("%d refs are kept, want 120", n)
		}
		h.eventually("the one message stands that goes to the member whom WeChat failed to reach", func() bool {
			return h.number("SELECT COUNT(*) FROM posthouse_messages") == 1
		})
	})
}

// CAMP-12, channels 3.3: whom WeChat failed to reach for a reason of its own is sent to once more, with a client_msg_id of its own, however
// often it says so, and not a third time. Who has blocked the account is not.
func TestCAMP12_WhomTheProviderFailedToReachIsSentToOnceMore(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.mp("mp", nil)
		path := h.hook("mp", "")
		h.must(h.sim.CallBack(h.Context(), "wechat", simulator.Callback{URL: h.url + path, Token: callbackToken, Receiver: "wx1"}))
		h.crowd("spring", []string{"user-block-1", "system-failed-1", "a"}, wire.CampaignDraft{})
		h.heard("spring", 1, 2)
		arrivals := func(openid string) (list []simulator.Arrival) {
			for _, a := range h.sim.Arrivals(simulator.Filter{Provider: "wechat"}) {
				if a.User == openid {
					list = append(list, a)
				}
			}
			return list
		}
		h.eventually("the second send has failed too", func() bool {
			list, err := h.api.Deliveries.List(h.Context(), client.Filter{Ref: "again:spring", States: []posthouse.State{posthouse.Undelivered}})
			h.must(err)
			return len(list.Items) == 1 && list.Items[0].Address == "system-failed-1"
		})
		sent := arrivals("system-failed-1")
		if len(sent) != 2 || sent[0].Key == sent[1].Key {
			h.Errorf("it arrived as %+v, want two sends with keys of their own", sent)
		}
		if code, said := h.calls(http.MethodPost, path+"?"+signedQuery(callbackToken, "once more", time.Now()), finish(sent[0].ID, "failed: system failed")); code != 200 {
			h.Fatalf("got %d %s", code, said)
		}
		if n := h.number("SELECT COUNT(*) FROM posthouse_messages"); n != 1 {
			h.Errorf("there are %d messages, want one", n)
		}
		if n := len(arrivals("user-block-1")); n != 1 {
			h.Errorf("who has blocked the account was sent to %d times", n)
		}
	})
}

// CAMP-12: an event that comes before the answer is recorded is kept until it is; one that comes again, says something else or is of
// another channel changes nothing.
func TestCAMP12_ReceiptsOfMembersComeEarlyTwiceAndFromElsewhere(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.mp("mp", nil)
		h.mp("other", nil)
		path, other := h.hook("mp", ""), h.hook("other", "")
		nonce := 0
		tell := func(path, ref, status string) {
			nonce++
			if code, said := h.calls(http.MethodPost, path+"?"+signedQuery(callbackToken, fmt.Sprint("n", nonce), time.Now()), finish(ref, status)); code != 200 {
				h.Fatalf("%s: got %d %s", ref, code, said)
			}
		}
		h.crowd("spring", []string{"a", "b", "c"}, wire.CampaignDraft{})
		h.eventually("all are sent to", func() bool { return h.number("SELECT COALESCE(SUM(n), 0) FROM posthouse_member_refs") == 3 })
		refs := map[string]string{}
		for _, a := range h.sim.Arrivals(simulator.Filter{Provider: "wechat"}) {
			refs[a.User] = a.ID
		}
		tell(other, refs["a"], "success")
		tell(path, refs["a"], "failed:user block")
		tell(path, refs["a"], "success")
		tell(path, refs["b"], "success")
		tell(path, refs["b"], "success")
		if p := h.heard("spring", 1, 1); p.Sent != 1 {
			h.Errorf("the counts are %+v", p)
		}
		if n := h.count("posthouse_heard"); n != 1 {
			h.Errorf("%d receipts are kept, want the other channel's", n)
		}
		// As if the event had come before the answer was recorded.
		_, err := h.db.ExecContext(h.Context(), "UPDATE posthouse_member_refs SET channel = 'away'")
		h.must(err)
		tell(path, refs["c"], "success")
		if n := h.count("posthouse_heard"); n != 2 {
			h.Errorf("%d receipts are kept, want the early one too", n)
		}
		_, err = h.db.ExecContext(h.Context(), "UPDATE posthouse_member_refs SET channel = 'mp'")
		h.must(err)
		h.heard("spring", 2, 1)
		h.eventually("the early one is not kept any more", func() bool { return h.count("posthouse_heard") == 1 })
		_, err = h.db.ExecContext(h.Context(), "UPDATE posthouse_member_refs SET until_at = 1")
		h.must(err)
		h.eventually("refs are forgotten in time", func() bool { return h.count("posthouse_member_refs") == 0 })
	})
}
