// Package senders drives fronts by the programs of other makers: Alertmanager, push clients, robots' scripts and mail. A server is killed
// between a request and its commit, answers get lost, a queue is full: what senders repeat must arrive, and nothing may be there twice
// beyond what they repeat themselves.
//
// What apt installs is driven in make test. make fronts installs more senders and prints a table of all of them.
//
// It has no code of its own: everything here is tests.
package senders
