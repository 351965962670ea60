// Package prove explores schedules: it takes the store's real transactions and the real functions of internal/state, and
// runs a few processes, the rescuer and people over one or two deliveries in every order there is, with crashes, freezes and
// clocks that go wrong between any two steps. Where torture draws some thousand schedules from millions, this visits every
// state that a small world can come to.
//
//	scenes.go    which worlds, as data: who takes part, what may go wrong and how often
//	world.go     a state of the world: rows, processes, what the provider has seen
//	normal.go    when two states are the same
//	database.go  the store on SQLite: a state is loaded, a transaction run, the rows read back
//	steps.go     what may happen next in a state
//	routes.go    a notification beside them: its planner, what people and providers say of it, and its laws
//	answers.go   what people answer, as providers tell it: once, again, to two processes; and its laws
//	digests.go   a digest beside them: who comes to it, its collections, and its laws
//	caps.go      a cap beside them, which is asked between a start and its call; and its law
//	laws.go      what must hold in each state, and of each transaction
//	search.go    breadth first, so that a violation comes with its shortest schedule
//	report.go    tables and schedules in words
//
// SQLite's transactions are serial, so this sees nothing of locks. Beside it, pairs.go runs each pair of kinds of transactions
// on PostgreSQL and MariaDB in orders of their statements. What neither sees stands in docs/adr/0061-every-schedule.md.
package prove
