// Package intake takes in what is to be sent, from a draft to its commit.
//
//	accept    checks drafts, finds recipients' addresses, asks the rules, fills and seals
//	accepter  commits what was accepted, many submissions at once
//	relay     accepts what callers committed into the outbox
//	planner   makes the messages of reminders and tasks whose moment has come
//	reminders opens and ends reminders
//
// It sends nothing: once something is committed it says so to the dispatchers.
package intake
