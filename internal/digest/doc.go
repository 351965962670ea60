// Package digest gathers messages and has them leave as one: which are gathered together, when, and what becomes of each. It is not a second
// queue: what it gathers are ordinary deliveries that wait, and what leaves is an ordinary delivery.
//
// A collection is a plan, a document with a version and a moment. What is written of it, and when:
//
//	accept of a member      waiting, with one more member; the accept's transaction
//	its moment              leaving, with its delivery; or alone, or empty; one transaction over the version that was read
//	a member leaves it      waiting again where its delivery had not begun; the transaction that cancels or expires the member
//	a result of its delivery  settled, or leaving; the transaction that records the result, with all members
package digest
