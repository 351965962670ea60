// Package mutant seeds the product with bugs that a tired engineer could write, one at a
// time, and has the checker find each in a run that brings it out. The same run of the
// product as it is must hold: else finding the bug there would prove nothing.
//
// Each bug compiles and would pass a casual look. Plainer forms of some are refused by the
// store itself, because its events are numbered and its state machine is a table; those
// here are what gets past it.
//
// It is no mutation testing by machine and says nothing of the other tests: what is tested
// here is the checker. It has no code of its own: everything here is tests.
package mutant
