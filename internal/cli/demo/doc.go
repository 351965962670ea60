// Package demo shows what Posthouse does: it starts a server on an embedded database
// and the provider simulator beside it, both on real HTTP, configures channels, starts
// two sender apps whose phones are the simulator's, sends messages in every way there
// is, and prints what became of each recipient.
//
// It is a program on top of server, simulator, client and agent, as anybody could write one:
// whatever it shows went over the wire. It holds no fake of its own.
package demo
