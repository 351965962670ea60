// Package clock turns the clocks: those of workers and of databases, those that
// whole countries set forward and back, and the last microsecond before something is
// due. What it looks for is a send that is early, late without end, or twice.
//
// It has no code of its own: everything here is tests.
package clock
