// Package poison holds the tests of what no worker can digest and of more than it
// can carry: drivers that panic, hang or answer rubbish, messages that kill their
// process, rows that nobody can read, backlogs, and who waits behind whom.
//
// It has no code of its own: everything here is tests.
package poison
