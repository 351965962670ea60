// Package agent is a sender app: it fetches deliveries of pulled channels from a server, hands each to a
// phone, and reports what came of it. It is what a program on a real phone would be, and written to be read
// by who writes one; here the phone is a file, or the simulator's.
//
// It speaks both protocols: the native one below /v1/agents, and the SMS front door's below /api/v1/sms. It
// knows the server by its HTTP interface only, and is no part of it.
//
// # What it promises
//
// Nothing is sent twice by this app, and nothing it was handed is forgotten, however the app, the network or
// the server ends:
//
//   - A claim is repeated with its id until it is answered, so that a lost answer is no lost delivery.
//   - Before the phone is touched the server hears of it (start), and the journal has a line of it on disk.
//   - What came of it is in the journal before the server is told, and is told until the server has answered;
//     a report keeps its id, so that the server counts it once.
//   - After a crash the journal knows what was under way. Nobody can tell whether that has left: it is
//     reported as unknown, and the channel's policy decides.
//   - What was sent and is handed out again, since the server had not heard of it, is not sent again.
//   - A stop finishes the message that is under way and gives the others back.
//
// The SMS protocol has no start, no claim id and no word for unknown: a hand-out counts as a start there, the
// answer of a lost hand-out is waited for by the server's time-out, and what is unknown is reported as failed,
// without a retry unless Options.RetryUnknown says otherwise.
package agent
