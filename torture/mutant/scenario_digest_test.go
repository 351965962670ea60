package mutant

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
)

// memberDropped writes a collection that is new, and forgets to write one that a member has joined.
var memberDropped = []overlay.Edit{{
	File: "internal/store/gather.go",
	Old:  "		unwritten = true\n",
	New:  "		unwritten = unwritten || !joined\n",
}}

// fateOfTheFirst has the first member of a collection alone share what becomes of its delivery.
var fateOfTheFirst = []overlay.Edit{{
	File: "internal/digest/collection.go",
	Old:  "w = work.Withdrawal{IDs: c.live(), As: &lead}",
	New:  "w = work.Withdrawal{IDs: c.live()[:min(1, len(c.live()))], As: &lead}",
}}

// textKept cancels a member and leaves the text that was made with it.
var textKept = []overlay.Edit{{
	File: "internal/digest/collection.go",
	Old:  "		w = work.Withdrawal{IDs: []string{c.Delivery}, Reason: reasonAnew}\n		c.State, c.Delivery, c.Outcome, c.LeavesAt, c.Closed = posthouse.CollectionWaiting, \"\", \"\", now, true\n",
	New:  "		c.Closed = true\n",
}}

// leavesTooLate lets a member leave a text that is being sent.
var leavesTooLate = []overlay.Edit{{
	File: "internal/digest/law.go",
	Old:  "	return lead.State == posthouse.Pending && lead.Attempts == 0 && lead.ClaimLosses == 0\n",
	New:  "	return lead.State.Open()\n",
}}

// gathered sends messages that a digest gathers, five at most together, and waits until all collections have left.
var gathered = scenario{fault: "no fault: messages that a digest gathers, five at most together", db: house.SQLite, play: func(r *rig) *house.House {
	h := r.open(house.Options{}, nil)
	api := h.Members[0].Client(r, 3)
	if _, err := api.Digests.Put(r.Context(), posthouse.Digest{Name: "five", Window: posthouse.Duration(time.Second), Max: 5, By: "ref"}); err != nil {
		r.Fatal(err)
	}
	h.Produce(r, house.Load{Messages: 60, Draft: func(n int) posthouse.Draft {
		d := house.Text("generic", n)
		d.Digest, d.Ref, d.To = "five", fmt.Sprint(n%3), []posthouse.Recipient{{User: "u"}}
		return d
	}})
	for _, state := range []posthouse.CollectionState{posthouse.CollectionWaiting, posthouse.CollectionLeaving} {
		house.Until(r, "no collection to be "+string(state), func() bool {
			page, err := api.Collections.List(r.Context(), state, client.Filter{Limit: 1})
			return err == nil && len(page.Items) == 0
		})
	}
	house.Pause(r.Context(), 1500*time.Millisecond) // the checker allows a commit to take as long
	h.Settle(r, posthouse.Pending)                  // of a digest's bug
	return h
}}
