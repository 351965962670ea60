// Package limit decides how many sends may start now: limits of several keys
// (a channel, its account, a recipient), each in several sliding windows, exact,
// and for many permits in one call.
//
// There is one algorithm, take over States, and several places to keep them:
// Memory for tests and for requests of callers, SQL for rows in the database that all processes
// share, and Redis. Fallback puts a fast place in front of a durable one. All
// of them check every window of every key first and take from all of them after,
// in one atomic step, so a request that one window refuses costs nothing in the
// others.
//
// # What is promised
//
// Of the permits granted for a key, no half-open span of time as long as a
// window holds more than the window's Max, whatever was asked, refunded or
// changed in between. Counted is the moment of the grant (Grant.At, on the clock
// of the place); a send that starts some milliseconds later than its grant
// reaches the provider that much later. The jitter of a limit lengthens its
// window by so much, and a burst has what it lets through leave evenly: both
// are windows like others, which Spaced makes of the limits that are set.
//
// A limit of up to 100 is kept to the microsecond. A higher one is counted in
// slots of a hundredth of the window, always to the safe side, which costs at
// most one percent of it.
//
// The package knows no channel, lane or delivery and reads no configuration:
// keys and limits come from the engine, which also counts the metrics. Rates
// that adapt to the provider's answers would be another window list at each
// call; nothing here has to change for them.
package limit
