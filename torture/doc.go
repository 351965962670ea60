// Package torture holds the tests that kill: real processes of the built binary, real
// databases, real HTTP to the simulator, which survives to say what arrived. What
// they decide, they decide from the event log and the simulator's own count.
//
// It has no code of its own: everything here is tests.
package torture
