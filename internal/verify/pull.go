package verify

import (
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify/packed"
)

// judgePull holds that agents write about what they were handed alone, and that what they were told is
// what the log says (I30).
func (c pulling) judgePull(h history) {
	handed := map[string]bool(nil) // agents that were handed it, as owners
	for i := range h.events {
		e := &h.events[i]
		if !byAgent(e) {
			continue
		}
		switch {
		case claims(e):
			if handed == nil {
				handed = map[string]bool{}
			}
			handed[e.Owner] = true
		case !handed[e.Owner]:
			c.fail(pull, h.id, h.show(0, i), "a %s was written for %s, which was never handed it", e.Type, e.Owner)
			return
		}
	}
	if c.agents == nil {
		return
	}
	id, _ := c.packer.ID(h.id)
	from, to := c.agents.bounds(id)
	for i := from; i < to; i++ {
		c.agents.heard[i] = true
	}
	c.judgeWords(h, c.agents.list[from:to])
	c.judgeReported(h, c.agents.list[from:to])
}

// judgeWords holds what agents were told of a delivery against its log.
func (c pulling) judgeWords(h history, words []word) {
	for i := range words {
		w := &words[i]
		if c.faults.undone(w.at, c.slack) {
			continue
		}
		c.checked(pull, 1)
		if what := c.untrue(h, w); what != "" {
			c.fail(pull, h.id, with(h.show(c.nearest(h, w)...), c.agents.show(w)), "%s %s", c.agents.names.Word(w.agent), what)
		}
		for j := range words[:i] {
			if what := c.contradicts(&words[j], w); what != "" {
				c.fail(pull, h.id, c.agents.show(&words[j], w), "%s", what)
			}
		}
	}
}

// untrue says what an agent was told that the log does not say, empty for nothing.
func (c pulling) untrue(h history, w *word) string {
	a := c.agents
	has := func(fits func(*posthouse.Event) bool) bool {
		return slices.ContainsFunc(h.events, func(e posthouse.Event) bool { return (w.token == 0 || e.Token == w.token) && fits(&e) })
	}
	own := func(e *posthouse.Event) bool { return e.Owner == a.owner(w) }
	switch {
	case a.is(w, OpClaim, AnswerHanded) && !has(func(e *posthouse.Event) bool { return own(e) && claims(e) }):
		return "was handed what the log did not give to it"
	case a.is(w, OpStart, AnswerOK) && !has(func(e *posthouse.Event) bool { return own(e) && e.Type == posthouse.EventStart }):
		return "was told that its start is written, and it is not"
	case a.is(w, OpGiveBack, AnswerOK) && !has(func(e *posthouse.Event) bool { return e.Type == posthouse.EventRelease }):
		return "was told that it had given back what the log does not release"
	case a.is(w, OpReport, string(posthouse.ReportDone)) && !has(func(e *posthouse.Event) bool { return own(e) && reported(e) && says(e, a.names.Word(w.outcome)) }):
		return "was told that its report counts, and the log has none such"
	case a.is(w, OpReport, string(posthouse.ReportEvidence)) && !slices.ContainsFunc(h.events, func(e posthouse.Event) bool { return own(&e) && e.Type == posthouse.EventEvidence }):
		return "was told that its report is evidence, and the log has none such"
	case a.is(w, OpReport, AnswerOK) && !slices.ContainsFunc(h.events, func(e posthouse.Event) bool {
		return own(&e) && (e.Type == posthouse.EventEvidence || reported(&e) && says(&e, a.names.Word(w.outcome)))
	}):
		return "was told that its report is taken, and the log has none such"
	case a.is(w, OpReport, string(posthouse.ReportMissing)) && slices.ContainsFunc(h.events, func(e posthouse.Event) bool {
		return own(&e) && claims(&e) && e.At.UnixNano() < w.asked-int64(c.slack)
	}):
		return "was told that nothing such was handed to it, and it was"
	}
	return ""
}

// reported reports whether an event is one that an agent's report makes while it holds the delivery.
func reported(e *posthouse.Event) bool { return byAgent(e) && result(e) }

// says reports whether an event is what an outcome leads to.
func says(e *posthouse.Event, outcome string) bool {
	switch posthouse.Outcome(outcome) {
	case posthouse.OutcomeSent, posthouse.OutcomeDelivered:
		return e.Type == posthouse.EventSent
	case posthouse.OutcomeNotSent:
		return e.Type == posthouse.EventRetry || e.Type == posthouse.EventFail
	}
	return e.Type == posthouse.EventAmbiguous
}

// contradicts says how two words about one delivery cannot both be true, empty where they can.
func (c pulling) contradicts(x, y *word) string {
	a := c.agents
	same := x.report == y.report && x.report != packed.ID{}
	answered := a.names.Word(x.answer) != AnswerUnknown && a.names.Word(y.answer) != AnswerUnknown
	switch {
	case same && answered && x.answer != y.answer:
		return "one report was answered in two ways"
	case x.token == 0 || x.token != y.token:
		return ""
	case a.is(x, OpClaim, AnswerHanded) && a.is(y, OpClaim, AnswerHanded) && x.agent != y.agent:
		return "two agents were handed it with one token"
	case !same && a.is(x, OpReport, string(posthouse.ReportDone)) && a.is(y, OpReport, string(posthouse.ReportDone)):
		return "two reports on one hand-out count"
	}
	return ""
}

// rejected reports whether an agent was told that its report changes nothing.
func (c pulling) rejected(w *word) bool {
	switch c.agents.names.Word(w.answer) {
	case string(posthouse.ReportStale), string(posthouse.ReportMissing), string(posthouse.ReportReused), AnswerRefused:
		return true
	}
	return false
}

// judgeReported holds that what the log has of agents' results, an agent has reported, and was not told that
// it counts for nothing.
func (c pulling) judgeReported(h history, words []word) {
	for i := range h.events {
		e := &h.events[i]
		if !reported(e) && !(byAgent(e) && e.Type == posthouse.EventEvidence) {
			continue
		}
		var told *word // that it counts for nothing
		if !slices.ContainsFunc(words, func(w word) bool {
			fits := c.agents.names.Word(w.op) == OpReport && c.agents.owner(&w) == e.Owner && (says(e, c.agents.names.Word(w.outcome)) || e.Type == posthouse.EventEvidence) &&
				(w.token == 0 || w.token == e.Token || e.Type == posthouse.EventEvidence)
			if fits && c.rejected(&w) {
				told = &w
				return false
			}
			return fits
		}) {
			if told != nil {
				c.fail(pull, h.id, with(h.show(i), c.agents.show(told)), "%s was told that its report counts for nothing, and the log counts it", e.Owner)
				continue
			}
			c.fail(pull, h.id, h.show(i), "%s did not report this", e.Owner)
		}
	}
}

// nearest are the events of a hand-out, or all where its token is not in the log.
func (c pulling) nearest(h history, w *word) []int {
	var own, all []int
	for i := range h.events {
		all = append(all, i)
		if e := &h.events[i]; e.Token == w.token && w.token != 0 {
			own = append(own, i)
		}
	}
	if len(own) > 0 {
		return own
	}
	return all
}

// finishAgents finds what agents were handed that is not in the log at all (I30).
func (c pulling) finishAgents() {
	if c.agents == nil {
		return
	}
	for i := range c.agents.list {
		w := &c.agents.list[i]
		if c.agents.heard[i] || c.faults.undone(w.at, c.slack) || !c.agents.is(w, OpClaim, AnswerHanded) {
			continue
		}
		c.checked(pull, 1)
		c.fail(pull, w.delivery.Text(), c.agents.show(w), "%s was handed it, and it is not in the log", c.agents.names.Word(w.agent))
	}
}
