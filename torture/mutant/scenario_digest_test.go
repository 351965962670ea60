package mutant

import "github.com/posthouse/posthouse/torture/internal/overlay"

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
