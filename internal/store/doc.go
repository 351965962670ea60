// Package store keeps everything Posthouse knows in one SQL database: SQLite,
// PostgreSQL, or MySQL and MariaDB. It is the only package that holds SQL text
// and the only truth; no queue, cache or broker stands beside it.
//
// A delivery that takes the usual course is clean: its message's row carries it, and it stands in
// posthouse_due, posthouse_flights or posthouse_sent (layout/sole.go). One that takes another course is
// expanded (expand.go): an open one is then a row of posthouse_queue, a settled one a row of
// posthouse_settled, in the same columns. Each transition is guarded by the row's version, token and
// state, and its event is written in the same transaction (transit.go). What differs between databases
// is a dialect value (dialect.go); all other text is shared. docs/store.md draws the tables.
//
// Store is a struct of values, one a family of tables (store.go). Each has its own few methods, and all share one
// connection. Within a transaction the statements of one subject are methods of a small type over it, such as claiming
// or expanding.
//
// Messages and deliveries are accepted (accept.go, once.go), claimed (claim.go), changed (transit.go), replayed, pruned, and
// held after a restore (epoch.go). What agents fetch waits in lanes of its own (lanes.go): it is handed out (handout.go),
// renewed, reported on (reports.go) and counted (tally.go). Packages below have the layout of the rows, all that only reads
// (reading), the partitions by time, and what people set up (registry).
//
// Every method takes the tenant and sees nothing of others; the few that serve the engine for
// all tenants say so.
//
// The store decides nothing: which transition follows which result is the
// engine's. It does refuse a transition that transition.Legal does not know.
//
// Times are UTC microseconds. Leases and events go by the database's clock on
// PostgreSQL (reading.go) and MySQL; on SQLite, which one process writes, by the
// now that the caller passes.
package store
