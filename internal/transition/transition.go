// Package transition is the state machine of deliveries as a table: which event leads from which state to which. It is not what follows
// a result (that is internal/state), and it writes nothing.
package transition

import "github.com/posthouse/posthouse"

// legal is the state machine: every transition there is. What is not in this
// table does not happen; the store refuses to write it.
var legal = map[posthouse.EventType][][2]posthouse.State{
	posthouse.EventAccept:      {{"", posthouse.Pending}},
	posthouse.EventSuppress:    {{"", posthouse.Suppressed}, {posthouse.Sending, posthouse.Suppressed}},
	posthouse.EventClaim:       {{posthouse.Pending, posthouse.Sending}},
	posthouse.EventStart:       {{posthouse.Pending, posthouse.Sending}, {posthouse.Sending, posthouse.Sending}},
	posthouse.EventRelease:     {{posthouse.Sending, posthouse.Pending}, {posthouse.Sending, posthouse.Unknown}},
	posthouse.EventLeaseLost:   {{posthouse.Sending, posthouse.Pending}, {posthouse.Sending, posthouse.Unknown}},
	posthouse.EventQuarantine:  {{posthouse.Pending, posthouse.Quarantined}, {posthouse.Sending, posthouse.Quarantined}, {posthouse.Unknown, posthouse.Quarantined}},
	posthouse.EventSent:        {{posthouse.Sending, posthouse.Sent}, {posthouse.Sending, posthouse.Delivered}},
	posthouse.EventRetry:       {{posthouse.Sending, posthouse.Pending}},
	posthouse.EventFail:        {{posthouse.Sending, posthouse.Failed}, {posthouse.Pending, posthouse.Failed}},
	posthouse.EventAmbiguous:   {{posthouse.Sending, posthouse.Unknown}},
	posthouse.EventResend:      {{posthouse.Unknown, posthouse.Pending}},
	posthouse.EventAssumeSent:  {{posthouse.Unknown, posthouse.Sent}},
	posthouse.EventResolve:     {{posthouse.Unknown, posthouse.Sent}, {posthouse.Unknown, posthouse.Pending}, {posthouse.Unknown, posthouse.Failed}, {posthouse.Unknown, posthouse.Unknown}, {posthouse.Pending, posthouse.Unknown}},
	posthouse.EventHoldTimeout: {{posthouse.Unknown, posthouse.Failed}},
	posthouse.EventEvidence: {
		{posthouse.Unknown, posthouse.Sent}, {posthouse.Sending, posthouse.Sent}, {posthouse.Pending, posthouse.Sent}, {posthouse.Failed, posthouse.Sent},
		{posthouse.Unknown, posthouse.Delivered}, {posthouse.Sending, posthouse.Delivered}, {posthouse.Pending, posthouse.Delivered}, {posthouse.Failed, posthouse.Delivered},
		{posthouse.Sent, posthouse.Delivered}, {posthouse.Sent, posthouse.Sent},
	},
	posthouse.EventReceipt:       {{posthouse.Sent, posthouse.Delivered}, {posthouse.Sent, posthouse.Undelivered}},
	posthouse.EventCancel:        {{posthouse.Pending, posthouse.Cancelled}, {posthouse.Sending, posthouse.Cancelled}},
	posthouse.EventCancelRequest: {{posthouse.Sending, posthouse.Sending}, {posthouse.Unknown, posthouse.Unknown}},
	posthouse.EventExpire:        {{posthouse.Pending, posthouse.Expired}, {posthouse.Sending, posthouse.Expired}},
	posthouse.EventRequeue:       {{posthouse.Quarantined, posthouse.Pending}},
	posthouse.EventDiscard:       {{posthouse.Quarantined, posthouse.Failed}},
	posthouse.EventEpochHold:     {{posthouse.Pending, posthouse.Unknown}, {posthouse.Sending, posthouse.Unknown}, {posthouse.Unknown, posthouse.Unknown}},
	posthouse.EventMove:          {{posthouse.Pending, posthouse.Pending}},
	posthouse.EventAdmit:         {{posthouse.Pending, posthouse.Pending}},
	posthouse.EventGather: {
		{posthouse.Pending, posthouse.Pending}, {posthouse.Pending, posthouse.Unknown}, {posthouse.Pending, posthouse.Sent}, {posthouse.Pending, posthouse.Delivered},
		{posthouse.Pending, posthouse.Failed}, {posthouse.Pending, posthouse.Suppressed}, {posthouse.Pending, posthouse.Cancelled}, {posthouse.Pending, posthouse.Expired},
		{posthouse.Unknown, posthouse.Pending}, {posthouse.Unknown, posthouse.Sent}, {posthouse.Unknown, posthouse.Delivered}, {posthouse.Unknown, posthouse.Failed},
		{posthouse.Unknown, posthouse.Suppressed}, {posthouse.Unknown, posthouse.Cancelled}, {posthouse.Unknown, posthouse.Expired},
		{posthouse.Sent, posthouse.Delivered}, {posthouse.Sent, posthouse.Undelivered}, {posthouse.Failed, posthouse.Sent}, {posthouse.Failed, posthouse.Delivered},
	},
	posthouse.EventWake:   {{posthouse.Pending, posthouse.Pending}},
	posthouse.EventRecall: {{posthouse.Sent, posthouse.Sent}, {posthouse.Delivered, posthouse.Delivered}},
}

// Legal reports whether the state machine allows an event to lead from one
// state to another. From is empty for a delivery that is being made.
func Legal(from posthouse.State, event posthouse.EventType, to posthouse.State) bool {
	for _, pair := range legal[event] {
		if pair == [2]posthouse.State{from, to} {
			return true
		}
	}
	return false
}
