package console

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// moment is one line of what happened to a delivery: an event, an attempt with its end, or what a phone was handed or reported.
type moment struct {
	At   time.Time
	Gap  time.Duration // since the one before
	Kind string        // of its mark: rule, attempt, receipt, decision, phone or step
	posthouse.Event
	Try   *posthouse.Attempt // whose request and answer are folded below
	Began bool               // Try has begun and not ended
	Line  *wire.Line
	Word  string // of a line
}

// Timeline is all that happened to the delivery, oldest first: what was written down of it in four places, as one list.
func (l life) Timeline() []moment {
	tries := map[int]*posthouse.Attempt{}
	for i := range l.Attempts {
		tries[l.Attempts[i].Number] = &l.Attempts[i]
	}
	var list []moment
	for i := 0; i < len(l.Events); i++ {
		e := l.Events[i]
		m := moment{At: e.At, Kind: markOfEvent(e.Type), Event: e}
		if e.Type == posthouse.EventStart {
			m.Try, m.Began = tries[e.Attempt], true
			if i+1 < len(l.Events) && ends(l.Events[i+1].Type) && l.Events[i+1].Attempt == e.Attempt {
				i++
				m.Event, m.Began = l.Events[i], false
			}
			delete(tries, e.Attempt)
		}
		list = append(list, m)
	}
	for _, try := range tries { // whose start is on none of the pages that were read
		list = append(list, moment{At: try.StartedAt, Kind: "attempt", Try: try, Began: try.Class == ""})
	}
	for word, lines := range map[string][]wire.Line{"handed_out": l.HandedOut, "reported": l.Reported, "received": l.Received} {
		for i := range lines {
			list = append(list, moment{At: lines[i].At, Kind: "phone", Line: &lines[i], Word: word})
		}
	}
	slices.SortStableFunc(list, func(a, b moment) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Event.Version, b.Event.Version))
	})
	for i := range list[min(1, len(list)):] {
		list[i+1].Gap = list[i+1].At.Sub(list[i].end())
	}
	return list
}

// end is when what a line tells of was over.
func (m moment) end() time.Time {
	if m.Try != nil && !m.Try.FinishedAt.IsZero() {
		return m.Try.FinishedAt
	}
	return m.At
}

// ends reports whether an event is the result of an attempt.
func ends(t posthouse.EventType) bool {
	return slices.Contains([]posthouse.EventType{posthouse.EventSent, posthouse.EventRetry, posthouse.EventFail, posthouse.EventAmbiguous}, t)
}

// markOfEvent is the mark of an event.
func markOfEvent(t posthouse.EventType) string {
	switch t {
	case posthouse.EventStart, posthouse.EventSent, posthouse.EventRetry, posthouse.EventFail, posthouse.EventAmbiguous, posthouse.EventResend:
		return "attempt"
	case posthouse.EventSuppress, posthouse.EventExpire, posthouse.EventHoldTimeout, posthouse.EventAssumeSent, posthouse.EventQuarantine:
		return "rule"
	case posthouse.EventReceipt, posthouse.EventEvidence:
		return "receipt"
	case posthouse.EventResolve, posthouse.EventCancel, posthouse.EventCancelRequest, posthouse.EventRequeue, posthouse.EventDiscard, posthouse.EventRecall:
		return "decision"
	}
	return "step"
}

// Gap says how long a moment came after the one before, empty for at once.
func (f frame) Gap(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return ""
	case d < time.Minute:
		return "+" + f.Length(d)
	}
	return "+" + f.Span(d)
}

// next is what will happen to a delivery, as a word, and when, zero for nobody knows.
type next struct {
	Word  string
	At    time.Time
	Count int // of the attempt that it is, 0 for none
}

// Next is what will happen to the delivery by itself.
func (l life) Next() next {
	d := l.Delivery
	switch d.State {
	case posthouse.Pending:
		return l.nextSend()
	case posthouse.Sending:
		return next{Word: "next_lease", At: d.LeaseUntil}
	case posthouse.Unknown:
		for _, w := range l.Why.Waits {
			if word := map[string]string{"query": "next_query", "hold": "next_hold"}[w.Cause]; word != "" {
				return next{Word: word, At: w.Until}
			}
		}
		return next{Word: "next_receipt_or_person"}
	case posthouse.Quarantined:
		return next{Word: "next_person"}
	case posthouse.Sent:
		return next{Word: "next_receipt"}
	}
	if l.Ready.Replay {
		return next{Word: "next_replay"}
	}
	return next{Word: "next_nothing"}
}

// nextSend is when a delivery that waits is sent: when the last of what holds it has ended.
func (l life) nextSend() next {
	n := next{Word: "next_send", Count: l.Delivery.Attempts + 1}
	if l.Delivery.CancelRequested {
		return next{Word: "next_cancel"}
	}
	if len(l.Why.Waits) == 0 {
		if n.Word = "next_claim"; l.Delivery.Pulled {
			n.Word = "next_fetch"
		}
		return n
	}
	for _, w := range l.Why.Waits {
		if w.Until.IsZero() {
			return next{Word: "next_held", Count: n.Count}
		}
		if w.Until.After(n.At) {
			n.At = w.Until
		}
	}
	return n
}

// ReportWord is an outcome or an answer of a report in words, as it is where it has none.
func (f frame) ReportWord(of, code string) string {
	if word := f.T(of + "_" + code); !strings.HasPrefix(word, of+"_") {
		return word
	}
	return code
}
