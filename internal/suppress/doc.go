// Package suppress knows which recipients get no messages. It reads what users of the directory have chosen. It keeps suppressed addresses,
// each in the form of its channel, from single calls, from files and from providers.
//
// It does not stop a send: the engine and the desk of agents ask it after each start, and end the deliveries that it names.
package suppress
