package verify_test

import (
	"time"

	"github.com/posthouse/posthouse"
)

const collection = "01KMJ000000000000000AA0000"

// member is the delivery of 01KMJ000000000000000AB0000, which a digest has gathered, and lead that of its collection, which arrived. fate is
// what became of the member.
func member(change func(*posthouse.Collection), fate ...posthouse.State) *hand {
	h := newHand(posthouse.Retry).accept()
	h.events[0].Owner, h.events[0].Reason = "collection/"+collection, "digest"
	lead := arrivedAs(second(5*time.Second).start(), 1).sent()
	lead.events[0].Owner = "collection/" + collection
	h.at = lead.at
	for _, state := range fate {
		h.do(posthouse.EventGather, state, func(e *posthouse.Event) { e.Owner = "collection/" + collection })
	}
	c := posthouse.Collection{
		ID: collection, Tenant: "bank", Digest: "alerts", State: posthouse.CollectionSettled, Delivery: lead.id, Outcome: posthouse.Sent, Version: 3,
		Members: []posthouse.CollectionMember{{Delivery: h.id, State: posthouse.Sent}}, UpdatedAt: h.at,
	}
	h.events, h.arrivals = append(h.events, lead.events...), append(h.arrivals, lead.arrivals...)
	if change != nil {
		change(&c)
	}
	h.gathered = append(h.gathered, c)
	return h
}

// gatheredCases are those of collections.
func gatheredCases() (list []lawCase) {
	whole := func() *hand { return member(nil, posthouse.Sent) }
	left := func(c *posthouse.Collection) { c.Members[0].Left = true }
	for _, breaks := range []func() *hand{
		func() *hand { // dropped: it is in the log, and no member
			return member(func(c *posthouse.Collection) { c.Members = nil }, posthouse.Sent)
		},
		func() *hand { return member(nil) },                   // its collection has left, and it waits
		func() *hand { return member(left) },                  // it was left out, and waits for nothing
		func() *hand { return member(nil, posthouse.Failed) }, // another fate
		func() *hand {
			return member(func(c *posthouse.Collection) { c.Delivery = "01KMJ000000000000000AX0001" }, posthouse.Sent)
		},
		func() *hand { // it waits in a collection that is not stored
			return member(func(c *posthouse.Collection) { c.ID = "01KMJ000000000000000AX0000"; c.Delivery = ""; c.Members = nil })
		},
	} {
		list = append(list, lawCase{law: "I39", holds: whole, breaks: breaks})
	}
	return list
}
