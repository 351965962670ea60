// Package lksms is the SMS front door: the HTTP interface of an existing SMS task server, so that its
// senders, phones and operators can go on as they are.
//
// A sender hands in one text for one phone, a phone polls for tasks and reports what became of each, and an
// operator keeps templates and default texts. Behind it there is nothing of its own: a task is a delivery of
// one pulled channel, its number is the delivery's id, and accepting, handing out, retrying and counting are
// the engine's as for all other channels.
//
//	status of a task      state of the delivery
//	0 pending             pending
//	1 processing          sending, unknown
//	2 success             sent, delivered
//	3 failed              all others
//
// Every answer is the envelope {code, message, data}; code is the HTTP status. Who asks shows HTTP Basic: the
// shared pair of the settings, or any user name with an API key as the password.
//
// The package is no queue and no protocol of ours: the native one for phones is /v1/agents in package api.
package lksms
