package mutant

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/house"
	"github.com/posthouse/posthouse/torture/overlay"
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
	Old:  "\tif next, some := issue(&s, m, Unsent); some {\n",
	New:  "\tif next, some := issue(&s, m, Unsent); some && partly {\n",
}}

// doneAreIssued has a repair issue a segment for those who were sent to as well.
var doneAreIssued = []overlay.Edit{{
	File: "internal/campaign/repair.go",
	Old:  "\tif next, some := issue(&s, m, Unsent); some {\n",
	New:  "\tfor i := range Len(&s) {\n\t\tif m.At(i) == Sent {\n\t\t\tm.set(i, Unsent)\n\t\t}\n\t}\n\tif next, some := issue(&s, m, Unsent); some {\n",
}}
