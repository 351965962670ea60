// Package admission answers one question: which deliveries may this process begin now, and by which account?
//
//	Reserve(now) ──▶ Reservation{lanes, [(account, n, calls)]}
//	                   │ Asks, Grant   what the limiter's windows leave of it
//	                   │ Claim, Found  what of it may be claimed of a lane, and what was there
//	                   │ Begin         a Seat for each call that begins
//	                   ▼ Close         what did not begin goes back by itself
//	                 Seat ──▶ Answered (the call is over, and what was seen is told) ──▶ End (the slot is free)
//
// A [Stage] is one bound. All of them stand in one list (stages.go), and have one interface: how much is free now, and when there is
// more; take, give back, begin, end; and the words for why nothing starts. Who wants another bound writes one file, and one line in the
// list. A channel asks its stages for all of its accounts, then for a lane, then for one account. What they leave is taken of each, once,
// and comes back to each, once.
//
// Which lane and which account has its turn is the scheduler's (scheduler.go). It chooses among what the stages leave, by weights,
// and its cost does not grow with accounts that have nothing to send.
//
// Nothing here starts a goroutine, knows SQL or a provider, or reads a clock: now is an argument. A channel may be asked from many
// goroutines, and nobody ever waits.
package admission
