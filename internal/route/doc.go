// Package route follows routes: which step of a message's way comes next, for each person, until it is proven that the person was told
// or acknowledged it.
//
// A [posthouse.Notification] is a plan: a document with a version and a moment. Three things move it on, each in one transaction that
// is guarded by the version: its moment comes (Router.Compose begins a step), a delivery of it changes (Law.Heard, which the store
// asks in the transaction that settles the delivery), or somebody acknowledges or ends it (Acknowledge, End). What has not started of
// steps that are not needed any more is withdrawn in the same transaction, so nobody is told by two steps, but where an attempt is in
// doubt or the route says so.
//
// What follows from what stands in advance.go, and is pure.
package route
