// Package suppress knows to whom nothing is sent. It asks what users of the directory want, and keeps the addresses to which
// nothing is sent: each in the form in which its channels keep it, one by one, from files, and by what providers tell.
//
// It does not stop a send: the engine and the desk of agents ask the store after each start, and let nothing leave to whom
// they find there.
package suppress
