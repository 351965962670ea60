// Package engine moves deliveries: it accepts messages, claims what is due, has
// drivers send it, records what happened, and brings back what a crash left behind.
//
// One role, one file:
//
//	accepter    validates drafts and commits them in groups
//	relay       accepts what callers committed into the outbox
//	planner     makes the messages of reminders and tasks whose moment has come
//	dispatcher  asks the limiter what may start, claims just that, hands it to the sender
//	runner      does the same once a period, for channels that send in runs
//	sender      calls the driver, with the lease and the time-out guarded
//	recorder    writes results in small batches, fenced by token
//	rescuer     finds lost leases, passed deadlines and unknowns whose time has come
//	inquirer    asks providers about unknowns, where the policy says so
//	tracker     asks providers what became of what they had accepted
//	reporter    writes what agents report, as the accepter commits
//	desk        is where agents wait for something to be handed out
//	pruner      deletes what is settled and old
//
// What follows which result is decided by pure functions in package state. The engine
// holds no SQL and no provider's protocol: the store and the drivers do. It keeps no
// truth in memory: whatever it knows beyond the database may be lost at any line.
package engine
