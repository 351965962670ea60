package verify

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// try is an attempt of one of the deliveries that share a key.
type try struct {
	attempt
	of history
}

// judgeArrivals holds what arrived under one key against the log of the deliveries that have it: one,
// or one and its replays (I10, I12, I14, I15, I16).
func (c *checker) judgeArrivals(chain []history) {
	for i := range chain {
		c.judgeLosses(chain[i])
	}
	if c.sink == nil {
		return
	}
	var tries []try
	for _, h := range chain {
		for _, a := range h.attempts() {
			tries = append(tries, try{a, h})
		}
	}
	arrived := c.arrivalsOf(chain)
	kept := c.current(arrived)
	c.judgeMarks(chain, tries, kept)
	c.judgeCopies(chain, arrived)
	for _, h := range chain {
		c.judgeTruth(h, arrived)
	}
}

// arrivalsOf are the arrivals of a chain in the order of time: those with its key, and those without
// any whose id the log knows.
func (c *checker) arrivalsOf(chain []history) []arrival {
	list := c.sink.of(c.packer.key(chain[0].idem))
	for i := range list {
		list[i].belongs = true
	}
	if c.sink.keyless == 0 {
		return list
	}
	list = slices.Clone(list)
	for _, h := range chain {
		for i := range h.events {
			if ref := h.events[i].Ref; ref != "" {
				found := c.sink.of(c.packer.pair("ref", ref))
				for j := range found {
					if !found[j].belongs {
						found[j].belongs = true
						list = append(list, found[j])
					}
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b arrival) int { return int(min(max(a.at-b.at, -1), 1)) })
	return list
}

// current are the arrivals whose starts the log must know: not those of a history that a restore has
// undone.
func (c *checker) current(list []arrival) []arrival {
	if c.faults == nil || len(c.faults.restores) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(a arrival) bool { return c.faults.undone(a.at, c.slack) })
}

// judgeMarks holds that each arrival comes after its start and before the end of its lease (I10).
func (c *checker) judgeMarks(chain []history, tries []try, list []arrival) {
	for i := range list {
		a := &list[i]
		c.checked(markFirst, 1)
		at := time.Unix(0, a.at)
		own := -1 // the last start before it
		for j := range tries {
			if !tries[j].at.After(at.Add(c.slack)) {
				own = j
			}
		}
		switch {
		case own < 0:
			c.fail(markFirst, chain[0].id, c.showArrivals(tries[:min(1, len(tries))], a), "it arrived before any attempt was marked as started")
			if e := chain[0].last(); e.Type == posthouse.EventCancel {
				c.fail(cancel, chain[0].id, c.with(chain[0].show(len(chain[0].events)-1), c.showArrivals(nil, a)), "it was cancelled before an attempt started, and arrived")
			}
		case !tries[own].lease.IsZero() && at.After(tries[own].lease.Add(c.slack)):
			c.fail(markFirst, chain[0].id, c.showArrivals(tries[own:own+1], a), "it arrived %s after its attempt's lease had ended", at.Sub(tries[own].lease).Round(time.Microsecond))
		}
	}
	if len(list) > len(tries) && len(tries) > 0 {
		c.fail(markFirst, chain[0].id, c.showArrivals(tries, pointers(list)...), "%s came of %s", plural(len(list), "arrival"), plural(len(tries), "attempt"))
	}
}

// judgeCopies holds that each copy beyond the first has its explanation (I14, I15), and that there is
// none where the policy forbids it (I16).
func (c *checker) judgeCopies(chain []history, list []arrival) {
	var doubts []time.Time // when attempts ended with an unknown outcome
	manuals := len(chain) - 1
	for _, h := range chain {
		for i := range h.events {
			e := &h.events[i]
			if uncertain(e) {
				doubts = append(doubts, e.At)
			}
			if manual(e) {
				manuals++
			}
		}
	}
	slices.SortFunc(doubts, time.Time.Compare)
	var copies []*arrival
	for i := range list {
		if !list[i].taken() {
			continue
		}
		copies = append(copies, &list[i])
		c.checked(explained, 1)
		extra := len(copies) - 1
		if extra == 0 {
			continue
		}
		if !list[i].repeat {
			c.totals.Visible++
		}
		at := time.Unix(0, list[i].at)
		if c.faults.undone(list[i].at, c.slack) || (extra <= len(doubts) && !doubts[extra-1].After(at.Add(c.slack))) {
			c.totals.DuplicatedExplained++
			continue
		}
		c.totals.DuplicatedUnexplained++
		c.fail(explained, chain[0].id, c.showCopies(chain, copies), "copy %d arrived after %s of unknown outcome", len(copies), plural(before(doubts, at.Add(c.slack)), "attempt"))
	}
	c.checked(bounded, 1)
	if extra := len(copies) - 1; extra > len(doubts) && !c.restored() {
		c.fail(bounded, chain[0].id, c.showCopies(chain, copies), "%s, and %s of unknown outcome", plural(extra, "extra copy"), plural(len(doubts), "attempt"))
	}
	c.judgeHeldCopies(chain, copies, manuals)
}

func before(list []time.Time, t time.Time) int {
	n := 0
	for n < len(list) && !list[n].After(t) {
		n++
	}
	return n
}

func (c *checker) restored() bool { return c.faults != nil && len(c.faults.restores) > 0 }

// judgeHeldCopies holds that under a policy that does not repeat there is one copy, but for those that a
// person asked for (I16).
func (c *checker) judgeHeldCopies(chain []history, copies []*arrival, manuals int) {
	last := chain[len(chain)-1].last()
	switch last.Policy {
	case posthouse.Hold, posthouse.AssumeSent, posthouse.Query:
	default:
		return
	}
	if len(copies) <= 1+manuals || c.restored() {
		return
	}
	c.epochs.suspect(last.Epoch, Violation{
		Subject: chain[0].id, What: "under the policy " + string(last.Policy) + " it arrived more than once",
		Excerpt: c.showCopies(chain, copies)(),
	})
}

// judgeTruth holds that what counts as sent has arrived (I12).
func (c *checker) judgeTruth(h history, list []arrival) {
	for i := range h.events {
		e := &h.events[i]
		var want func(*arrival) bool
		switch {
		case !happy(e.To) || happy(e.From):
			continue
		case e.Type == posthouse.EventSent, e.Type == posthouse.EventEvidence:
			want = func(a *arrival) bool { return a.answer == accepted }
		case e.Type == posthouse.EventResolve && e.Reason == "query_found":
			want = (*arrival).taken
		default:
			continue // assumed, or a person's word
		}
		c.checked(truth, 1)
		until := e.At.Add(c.slack).UnixNano()
		if slices.ContainsFunc(list, func(a arrival) bool { return want(&a) && a.at <= until }) {
			continue
		}
		if c.sink.keyless > 0 && len(list) == 0 {
			continue // it may be one of those that nobody can tell apart
		}
		c.fail(truth, h.id, c.with(h.show(i), c.showArrivals(nil, pointers(list)...)), "it counts as %s, and no arrival was answered so", e.To)
	}
}

// finishArrivals finds what belongs to no delivery (I2).
func (c *checker) finishArrivals() {
	if c.sink == nil {
		return
	}
	for i := range c.sink.list {
		a := &c.sink.list[i]
		switch {
		case a.belongs:
			c.checked(noPhantom, 1)
		case a.keyless:
		case c.faults.undone(a.at, c.slack):
			c.totals.Excused++
		default:
			c.checked(noPhantom, 1)
			c.totals.Unexpected++
			c.fail(noPhantom, c.subject(a), c.showArrivals(nil, a), "it arrived and belongs to no delivery in the log")
		}
	}
}

func (c *checker) subject(a *arrival) string {
	if id := a.key.idText(); posthouse.ValidID(id) && posthouse.MessageID(id) != id {
		return id
	}
	return "arrival " + number(int(a.seq))
}

func pointers(list []arrival) []*arrival {
	out := make([]*arrival, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// showArrivals is a proof: the starts of some tries, and arrivals.
func (c *checker) showArrivals(tries []try, list ...*arrival) func() []string {
	return func() []string {
		var out []string
		for _, t := range tries {
			out = append(out, eventText(&t.of.events[t.start]))
		}
		for _, a := range list {
			out = append(out, c.sink.line(a))
		}
		slices.Sort(out) // by time, which comes first
		return out
	}
}

// showCopies is a proof: how the attempts of a chain ended, and what arrived.
func (c *checker) showCopies(chain []history, copies []*arrival) func() []string {
	return func() []string {
		out := c.showArrivals(nil, copies...)()
		for _, h := range chain {
			for _, a := range h.attempts() {
				if a.end >= 0 {
					out = append(out, eventText(&h.events[a.end]))
				}
			}
		}
		slices.Sort(out)
		return out
	}
}
