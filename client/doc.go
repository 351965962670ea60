// Package client is the Go client of Posthouse's HTTP API: sending, looking,
// cancelling, and everything an operator configures.
//
// A Client has a field for each kind of thing: c.Messages.Send, c.Channels.Put,
// c.Deliveries.Explain. What goes in and comes out is of package posthouse, or of
// package wire, which the server shares.
//
// It speaks HTTP only and imports nothing of the server. A program that wants to
// enqueue inside its own database transaction uses package outbox instead.
//
// Every error that the server answered is a *posthouse.Error with the server's
// code and problems; errors of the network are wrapped as they are. Calls that
// are safe to repeat are repeated: those that only read, and those that send,
// which always carry an Idempotency-Key.
package client
