package mutant

import (
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
	"github.com/posthouse/posthouse/wire"
)

// slowly has the provider take its time, so that members are under way whenever something strikes.
func slowly(r *rig, h *house.House) {
	h.Provider.Behave(r, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: milliseconds(30)}}})
}

var toAll = wire.CampaignDraft{Name: "spring", Channel: "generic", Content: &posthouse.Content{Text: "hello"}, OnUnknown: posthouse.Hold, SegmentSize: 100}

// campaignKills kills the process twice in the middle of a campaign.
var campaignKills = scenario{fault: "kill -9, twice within a campaign", db: house.SQLite, play: func(r *rig) *house.House {
	const people = 600
	h := r.open(house.Options{Env: shortLeases}, func(ch *posthouse.Channel) { ch.MaxInflight = 16 })
	slowly(r, h)
	h.Campaign(r, toAll, people)
	for n := range int64(2) {
		h.Reached(r, toAll.Name, (n+1)*people/4)
		h.Members[0].Kill(r)
		h.Members[0].Start(r)
	}
	h.Reached(r, toAll.Name, people)
	return h
}}

// fetchedAreGone takes who was fetched with a segment for done when its worker is gone.
var fetchedAreGone = []overlay.Edit{{
	File: "internal/campaign/repair.go",
	Old:  "\tif next, some := issue(&s, m, func(i int) bool { return m.At(i) == Unsent }); some {\n",
	New:  "\tif next, some := issue(&s, m, func(i int) bool { return m.At(i) == Unsent }); some && partly {\n",
}}

// doneAreIssued has a repair issue a segment for those who were sent to as well.
var doneAreIssued = []overlay.Edit{{
	File: "internal/campaign/repair.go",
	Old:  "\tif next, some := issue(&s, m, func(i int) bool { return m.At(i) == Unsent }); some {\n",
	New:  "\tfor i := range Len(&s) {\n\t\tif m.At(i) == Sent {\n\t\t\tm.set(i, Unsent)\n\t\t}\n\t}\n\tif next, some := issue(&s, m, func(i int) bool { return m.At(i) == Unsent }); some {\n",
}}

// campaignRefused has the provider refuse some of a campaign's members at first.
var campaignRefused = scenario{fault: "a third of a campaign's sends refused for a while", db: house.SQLite, play: func(r *rig) *house.House {
	h := r.open(house.Options{}, func(ch *posthouse.Channel) { ch.MaxInflight = 16 })
	h.Provider.Behave(r, "generic", simulator.Behaviour{Faults: []simulator.Fault{house.Share(simulator.ServerError, 0.3)}})
	h.Campaign(r, toAll, 300)
	h.Reached(r, toAll.Name, 100)
	h.Provider.Behave(r, "generic", simulator.Behaviour{})
	h.Reached(r, toAll.Name, 300)
	return h
}}

// countedBefore writes into the map that a member was sent to before it is.
var countedBefore = []overlay.Edit{{
	File: "internal/segment/holder.go",
	Old:  "\t\tst.move(i, campaign.Started)\n",
	New:  "\t\tst.move(i, campaign.Started, campaign.Sent)\n",
}}

// twoWorkers has two processes work on a campaign's segments, which are small, so that they often look for one at the same time.
var twoWorkers = scenario{
	fault: "no fault: two processes share a campaign, and take a while between the look for a segment and its claim", db: house.Postgres,
	world: func(testing.TB) []overlay.Edit {
		return []overlay.Edit{{
			File: "internal/store/campaigns/claim.go",
			Old:  "\tfor _, id := range free {\n",
			New:  "\ttime.Sleep(20 * time.Millisecond)\n\tfor _, id := range free {\n",
		}}
	},
	play: func(r *rig) *house.House {
		h := r.open(house.Options{Members: 2}, func(ch *posthouse.Channel) { ch.MaxInflight = 8 })
		slowly(r, h)
		draft := toAll
		draft.SegmentSize = 10
		h.Campaign(r, draft, 400)
		h.Reached(r, draft.Name, 400)
		return h
	},
}

// segmentOfTwo claims a segment whoever has it, and writes its members whoever has it since.
var segmentOfTwo = []overlay.Edit{{
	File: "internal/store/campaigns/claim.go",
	Old:  "WHERE id = ? AND status = ? AND due_at <= ? AND",
	New:  "WHERE id = ? AND status >= ? AND due_at <= ? AND",
}, {
	File: "internal/store/campaigns/claim.go",
	Old:  "\" WHERE id = ? AND token = ? AND status = ?\",\n\t\tappend(step, seg.ID, seg.Token, int64(work.SegmentClaimed))...)",
	New:  "\" WHERE id = ? AND token > ? AND status = ?\",\n\t\tappend(step, seg.ID, int64(-1), int64(work.SegmentClaimed))...)",
}}

// twoCampaigns sends two campaigns of one channel, whose provider tells what became of each message. Some opted out: one of the
// campaigns is of a kind that is sent to them all the same.
var twoCampaigns = scenario{fault: "no fault: two campaigns of one channel, with receipts and opt-outs", db: house.SQLite, play: func(r *rig) *house.House {
	const people, token = 200, "a-token-of-ours"
	h := r.open(house.Options{}, nil)
	ch := h.Channel("mp")
	ch.Driver, ch.MaxInflight, ch.ExemptKinds = "wechat", 16, []string{"notice"}
	ch.Config = map[string]any{"url": h.Provider.URL + "/wechat", "app_id": "wx1", "secret": "a-secret-of-ours", "template_id": "t1", "callback_token": token}
	h.PutChannel(r, ch)
	c := h.Members[0].Client(r, 3)
	door, err := c.Callbacks.Create(r.Context(), ch.Name, "")
	if err != nil {
		r.Fatal(err)
	}
	h.Provider.CallBack(r, "wechat", simulator.Callback{URL: "http://" + h.Members[0].Addr + door.Path, Token: token, Receiver: "wx1"})
	h.Provider.Behave(r, "wechat", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: milliseconds(30)}}})
	leave(r, h, 0, people/2)
	spring, autumn := toAll, toAll
	spring.Channel = ch.Name
	autumn.Name, autumn.Channel, autumn.Kind = "autumn", ch.Name, "notice"
	h.Campaign(r, spring, people)
	h.Campaign(r, autumn, people)
	h.Reached(r, autumn.Name, people)
	h.Reached(r, spring.Name, people)
	return h
}}

// leave has people opt out: those from one number up to another.
func leave(r *rig, h *house.House, from, to int) {
	c := h.Members[0].Client(r, 3)
	for i := from; i < to; i++ {
		if _, err := c.Suppressions.Add(r.Context(), wire.SuppressionDraft{Address: fmt.Sprintf("u%d", i)}); err != nil {
			r.Fatal(err)
		}
	}
}

// receiptOfAnother keeps what the provider calls messages under the campaign that its process has sent first, and believes a receipt
// whoever it is of.
var receiptOfAnother = []overlay.Edit{{
	File: "internal/segment/settle.go",
	Old:  "\t\t\t\tby[whose] = append(by[whose], receipts.Ref{Ref: r.Ref, Campaign: e.Of.Campaign.ID, Seq",
	New:  "\t\t\t\tif first == \"\" {\n\t\t\t\t\tfirst = e.Of.Campaign.ID\n\t\t\t\t}\n\t\t\t\tby[whose] = append(by[whose], receipts.Ref{Ref: r.Ref, Campaign: first, Seq",
}, {
	File: "internal/segment/settle.go",
	Old:  "// refsOf are",
	New:  "var first string\n\n// refsOf are",
}, {
	File: "internal/receipts/receipts.go",
	Old:  " && campaign.Map(s.Outcomes).At(int(seq-s.First)) == campaign.Sent {",
	New:  " {",
}, {
	File: "internal/campaign/receipt.go",
	Old:  " || Map(s.Outcomes).At(place) != Sent ||",
	New:  " ||",
}}

// optOuts has the last members of a slow campaign opt out soon after it has begun.
var optOuts = scenario{fault: "no fault: members opt out while a campaign of five seconds is sent", db: house.SQLite, play: func(r *rig) *house.House {
	const people, stay = 400, 300
	h := r.open(house.Options{}, func(ch *posthouse.Channel) { ch.Limits = []posthouse.Limit{{Max: 80, Per: milliseconds(1000)}} })
	h.Campaign(r, toAll, people)
	h.Reached(r, toAll.Name, 1)
	leave(r, h, stay, people)
	h.Reached(r, toAll.Name, people)
	return h
}}

// nobodyForAMinute remembers for a minute that nobody is suppressed.
var nobodyForAMinute = []overlay.Edit{{
	File: "internal/suppress/sieve.go",
	Old:  "\t\"slices\"\n",
	New:  "\t\"slices\"\n\t\"sync\"\n",
}, {
	File: "internal/suppress/sieve.go",
	Old:  "\treasons, err := s.Asked.Suppressed(",
	New:  "\tif at, is := nobody.Load(ch.Key); is && time.Since(at.(time.Time)) < time.Minute {\n\t\treturn nil, nil\n\t}\n\treasons, err := s.Asked.Suppressed(",
}, {
	File: "internal/suppress/sieve.go",
	Old:  "\tif err != nil || len(reasons) == 0 {\n",
	New:  "\tif err != nil || len(reasons) == 0 {\n\t\tnobody.Store(ch.Key, time.Now())\n",
}, {
	File: "internal/suppress/sieve.go",
	Old:  "// why is shown",
	New:  "var nobody sync.Map\n\n// why is shown",
}}
