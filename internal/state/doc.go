// Package state says what follows: which settings a channel has once every default is
// filled in, and what becomes of a delivery after a result, a lost lease, a report, a
// receipt or a person's word. It changes nothing itself and keeps nothing: package
// engine asks it and has the store write its answer, and the store holds every step
// against the table of legal transitions.
//
//	settings  what is stored of a channel, with its profile's and its driver's defaults
//	channel   a channel that is ready to be used: settings, open driver, rules
//	machine   what follows a result, a lost lease, a deadline, an operator's word
//	pulled    what follows an agent's start, report or silence
//	asked     what follows a provider's answer to a question
//	text      what the store keeps of other people's words
package state
