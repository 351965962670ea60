// Package engine moves deliveries that have been accepted: it claims what is due, has
// drivers send it, records what happened, and brings back what a crash left behind.
//
// A role is a value with what it needs and nothing else; Engine wires them and runs them:
//
//	routes      the channels as they are open now
//	dispatcher  reserves what may start, asks the limiter, claims just that, hands it to the sender
//	runner      does the same once a period, for channels that send in runs
//	poller      looks for work that nobody in this process announced
//	sender      calls the driver, with the lease and the time-out guarded
//	gatekeeper  parks accounts that their provider refuses
//	recorder    has results written in small batches, fenced by token
//	permits     gives back what the limiter counted and nobody used
//	explainer   says why a delivery is where it is
//
// Package decide has the operator, who takes people's word. Package inquire has those that ask providers what became of what they were handed, package usher who is next in a line, package rescue what
// nobody else will move.
// Package upkeep has those that move nothing: they count, and delete what is old.
//
// Dispatcher, sender and recorder work on units (unit.go). Deliveries are a kind of unit, see deliveries.go;
// the members of a campaign's segment are another, see segments.go and package segment.
//
// The steps before are package intake's, from a draft to its commit; what agents fetch is package pull's;
// what follows which result is decided by package state. The engine
// holds no SQL and no provider's protocol: the store and the drivers do. It keeps no
// truth in memory: whatever it knows beyond the database may be lost at any line.
package engine
