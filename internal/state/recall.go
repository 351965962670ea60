package state

import (
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/work"
)

// The reasons of a delivery that its provider was asked to take back: what became of that.
const (
	ReasonRecalled     = "recalled"
	ReasonRecallLate   = "recall_too_late"
	ReasonRecallFailed = "recall_failed"
	ReasonRecallDoubt  = "recall_unknown"
	ReasonRecallUnable = "recall_not_supported"
)

// RecallReason is the reason that says what became of a recall.
func RecallReason(r channel.Recalled) string {
	switch r {
	case channel.RecallDone:
		return ReasonRecalled
	case channel.RecallLate:
		return ReasonRecallLate
	case channel.RecallRefused:
		return ReasonRecallFailed
	case channel.RecallUnable:
		return ReasonRecallUnable
	}
	return ReasonRecallDoubt
}

// RecallEnded reports whether a reason is the end of a recall: another one would end the same.
func RecallEnded(reason string) bool {
	return slices.Contains([]string{ReasonRecalled, ReasonRecallLate, ReasonRecallUnable}, reason)
}

// RecallTried reports whether a reason says that a recall was tried and may be tried again.
func RecallTried(reason string) bool {
	return reason == ReasonRecallFailed || reason == ReasonRecallDoubt
}

// AfterRecall is what follows a provider's answer to a recall (T33): an event with its words, and the reason. The state stays, since what
// was sent was sent. A delivery that is not sent any more, or of which the same was said before, stays as it is.
func AfterRecall(d posthouse.Delivery, reason string, r channel.Result) (work.Change, bool) {
	if d.State != posthouse.Sent && d.State != posthouse.Delivered || RecallEnded(d.Reason) {
		return work.Change{}, false
	}
	step := begin(d)
	e := step.to(posthouse.EventRecall, d.State, reason)
	e.Code, e.Error, e.Response, e.Ref = r.Code, r.Error, r.Response, d.ProviderRef
	return step.change, true
}

// keptRecall is the word on a recall, where a reason is one: it stays where a receipt comes later.
func keptRecall(reason string) string {
	if RecallEnded(reason) || RecallTried(reason) {
		return reason
	}
	return ""
}
