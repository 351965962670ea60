// Package campaign has the rules of campaigns: from which state one goes to which, how an audience is cut into segments, where
// each member of a segment stands, and what is issued anew when a segment was left.
//
//	draft ──▶ importing ──▶ ready ──▶ running ◀──▶ paused
//	                                     │            │
//	                                     └──▶ done | cancelled | expired
//
// A segment is free, claimed, done, partly done or void, in the numbers of the document: 0 to 4. Its outcomes are a map with
// half a byte for each member. A step of a member that is not in the table is refused, so that nobody who was sent to
// becomes unsent again.
//
// Importer and Desk put that together with the database. What they need of it they declare themselves. Nothing here sends.
package campaign
