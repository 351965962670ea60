package server_test

import (
	"cmp"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/wire"
)

// finishOf is WeChat's word about a message to an openid.
func finishOf(openid, ref, status string) string {
	return "<xml><FromUserName>" + openid + "</FromUserName><MsgType>event</MsgType><Event>TEMPLATESENDJOBFINISH</Event><MsgID>" + ref + "</MsgID><Status>" + status + "</Status></xml>"
}

// FLEET-2, CAMP-12: what a provider tells of a message whose name was lost with the call proves what became of the one delivery, or the one
// member of a campaign, to that address that is left unknown. Of two it proves nothing.
func TestACallbackProvesWhatBecameOfAnUnknown(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		ch := h.mp("mp", nil)
		ch.OnUnknown = posthouse.Hold
		h.put(ch)
		h.must(h.sim.CallBack(h.Context(), "wechat", simulator.Callback{})) // the test itself calls
		path := h.hook("mp", "")
		sent := h.followers("mp", "lost-answer-1", "lost-answer-2", "lost-answer-3", "lost-answer-4", "o5")
		twice := h.followers("mp", "lost-answer-3")["lost-answer-3"]
		h.crowd("spring", []string{"lost-answer-4", "lost-answer-6"}, wire.CampaignDraft{OnUnknown: posthouse.Hold})
		h.eventually("the answers are lost", func() bool {
			return h.delivery(twice).State == posthouse.Unknown && h.delivery(sent["lost-answer-4"]).State == posthouse.Unknown && h.delivery(sent["o5"]).State == posthouse.Sent
		})
		h.eventually("the campaign is done", func() bool {
			c, err := h.api.Campaigns.Get(h.Context(), "spring")
			h.must(err)
			return c.Progress.Unknown == 2
		})
		for i, told := range []struct{ openid, ref, status string }{
			{"lost-answer-1", "r1", "success"}, {"lost-answer-2", "r2", "failed:user block"}, {"lost-answer-3", "r3", "success"}, {"lost-answer-4", "r4", "success"},
			{"o5", "of-another-program", "failed:user block"}, {"lost-answer-6", "r6", "success"},
		} {
			query := signedQuery(callbackToken, fmt.Sprint("n", i), time.Now())
			if status, _ := h.calls(http.MethodPost, path+"?"+query, finishOf(told.openid, told.ref, told.status)); status != 200 {
				t.Fatalf("%s: got %d", told.openid, status)
			}
		}
		// A call whose answer is under way is not taken for one that was lost: what was just told proves nothing.
		_, err := h.db.ExecContext(h.Context(), "UPDATE posthouse_heard SET until_at = until_at - 20000000")
		h.must(err)
		for openid, want := range map[string]struct {
			state           posthouse.State
			ref, code, from string
		}{"lost-answer-1": {posthouse.Delivered, "r1", "", ""}, "lost-answer-2": {posthouse.Undelivered, "r2", "USER_BLOCK", ""}} {
			id := sent[openid]
			h.eventually(openid+" is proved", func() bool { return h.delivery(id).State == want.state })
			events, err := h.api.Deliveries.Events(h.Context(), id)
			h.must(err)
			proof, last := events[len(events)-2], events[len(events)-1]
			if proof.Type != posthouse.EventEvidence || proof.Reason != "callback" || last.Type != posthouse.EventReceipt || last.Code != want.code || h.delivery(id).ProviderRef != want.ref {
				t.Errorf("%s: %+v and %+v of %+v, want evidence and a receipt", openid, proof, last, h.delivery(id))
			}
		}
		h.eventually("the member is proved", func() bool {
			m, err := h.api.Campaigns.Who(h.Context(), "spring", "lost-answer-6")
			h.must(err)
			return m.Outcome == "delivered"
		})
		h.eventually("what proves nothing is left", func() bool { return h.count("posthouse_heard") == 3 })
		for _, id := range []string{sent["lost-answer-3"], twice, sent["lost-answer-4"]} {
			if got := h.delivery(id).State; got != posthouse.Unknown {
				t.Errorf("one of two is %s", got)
			}
		}
		if got := h.delivery(sent["o5"]).State; got != posthouse.Sent {
			t.Errorf("what is not in doubt is %s", cmp.Or(got, "gone"))
		}
		m, err := h.api.Campaigns.Who(h.Context(), "spring", "lost-answer-4")
		h.must(err)
		if m.Outcome != "unknown" {
			t.Errorf("the member who may be meant as well is %s", m.Outcome)
		}
	})
}
