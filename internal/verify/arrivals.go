package verify

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify/packed"
	"github.com/posthouse/posthouse/internal/verify/words"
)

// try is an attempt of one of the deliveries that share a key.
type try struct {
	attempt
	of history
}

// judgeArrivals holds what arrived under one key against the log of the deliveries that have it: one,
// or one and its replays (I10, I12, I14, I15, I16).
func (c arriving) judgeArrivals(chain []history) {
	for i := range chain {
		remains{c.checker}.judgeLosses(chain[i])
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
	c.silent += max(0, len(tries)-len(kept))
	c.judgeMarks(chain, tries, kept)
	c.judgeCopies(chain, arrived)
	for _, h := range chain {
		c.judgeTruth(h, arrived)
	}
}

// strays are what only the end of the log can pair: arrivals that name no delivery are of some attempt that
// no other arrival is of.
type strays struct {
	silent int      // attempts that no arrival names
	unsaid []unsaid // deliveries that count as sent, and no arrival names
}

// unsaid is an event after which something has arrived.
type unsaid struct {
	at   int64
	id   packed.ID
	to   posthouse.State
	told bool // it was answered as accepted
	ref  bool // and with an id, which no arrival has
}

// arrivalsOf are the arrivals of a chain in the order of time: those with its key, and those without
// any whose id the log knows. Recipients of one call may share an id: each has one arrival of it.
func (c arriving) arrivalsOf(chain []history) []arrival {
	list := c.sink.of(c.packer.Key(chain[0].idem))
	for i := range list {
		list[i].belongs = true
	}
	if c.sink.keyless == 0 {
		return list
	}
	list = slices.Clone(list)
	var known []string
	for _, h := range chain {
		for i := range h.events {
			e := &h.events[i]
			if e.Ref == "" || (!result(e) && slices.Contains(known, e.Ref)) {
				continue
			}
			known = append(known, e.Ref)
			found := c.sink.of(c.packer.Pair("ref", e.Ref))
			if j := slices.IndexFunc(found, func(a arrival) bool { return !a.belongs }); j >= 0 {
				found[j].belongs = true
				list = append(list, found[j])
			}
		}
	}
	slices.SortStableFunc(list, func(a, b arrival) int { return int(min(max(a.at-b.at, -1), 1)) })
	return list
}

// current are the arrivals whose starts the log must know: not those of a history that a restore has
// undone.
func (c arriving) current(list []arrival) []arrival {
	if c.faults == nil || len(c.faults.restores) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(a arrival) bool { return c.faults.undone(a.at, c.slack) })
}

// judgeMarks holds that each arrival comes after its start and before the end of its lease, and that each
// attempt arrives once (I10).
func (c arriving) judgeMarks(chain []history, tries []try, list []arrival) {
	var timely []int64
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
				c.fail(cancel, chain[0].id, with(chain[0].show(len(chain[0].events)-1), c.showArrivals(nil, a)), "it was cancelled before an attempt started, and arrived")
			}
		case !tries[own].lease.IsZero() && at.After(tries[own].lease.Add(c.slack)):
			c.fail(markFirst, chain[0].id, c.showArrivals(tries[own:own+1], a), "it arrived %s after its attempt's lease had ended", at.Sub(tries[own].lease).Round(time.Microsecond))
		default:
			timely = append(timely, a.at)
		}
	}
	switch {
	case len(tries) == 0:
	case len(list) > len(tries):
		c.fail(markFirst, chain[0].id, c.showArrivals(tries, pointers(list)...), "%s came of %s", words.Plural(len(list), "arrival"), words.Plural(len(tries), "attempt"))
	case !c.eachOfOne(tries, timely):
		c.fail(markFirst, chain[0].id, c.showArrivals(tries, pointers(list)...), "one attempt arrived more than once: another had not begun, or its lease had ended")
	}
}

// eachOfOne reports whether each arrival can be of an attempt of its own: of one that had begun, and whose
// lease ran. Arrivals are in the order of time; each is taken for the attempt whose lease ends first.
func (c arriving) eachOfOne(tries []try, arrivals []int64) bool {
	used := make([]bool, len(tries))
	for _, at := range arrivals {
		own := -1
		for i := range tries {
			t := &tries[i]
			runs := t.at.UnixNano() <= at+int64(c.slack) && (t.lease.IsZero() || at <= t.lease.UnixNano()+int64(c.slack))
			if runs && !used[i] && (own < 0 || sooner(t.lease, tries[own].lease)) {
				own = i
			}
		}
		if own < 0 {
			return false
		}
		used[own] = true
	}
	return true
}

// sooner reports whether a lease ends before another. One without an end, of an agent, is the last.
func sooner(a, b time.Time) bool { return !a.IsZero() && (b.IsZero() || a.Before(b)) }

// judgeCopies holds that each copy beyond the first has its explanation (I14, I15), and that there is
// none where the policy forbids it (I16).
func (c arriving) judgeCopies(chain []history, list []arrival) {
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
		c.fail(explained, chain[0].id, c.showCopies(chain, copies), "copy %d arrived after %s of unknown outcome", len(copies), words.Plural(before(doubts, at.Add(c.slack)), "attempt"))
	}
	c.checked(bounded, 1)
	if extra := len(copies) - 1; extra > len(doubts) && !c.restored() {
		c.fail(bounded, chain[0].id, c.showCopies(chain, copies), "%s, and %s of unknown outcome", words.Plural(extra, "extra copy"), words.Plural(len(doubts), "attempt"))
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

func (c arriving) restored() bool { return c.faults != nil && len(c.faults.restores) > 0 }

// judgeHeldCopies holds that under a policy that does not repeat there is one copy, but for those that a
// person asked for (I16).
func (c arriving) judgeHeldCopies(chain []history, copies []*arrival, manuals int) {
	last := chain[len(chain)-1].last()
	switch last.Policy {
	case posthouse.Hold, posthouse.AssumeSent, posthouse.Query:
	default:
		return
	}
	if len(copies) <= 1+manuals || c.restored() {
		return
	}
	remains{c.checker}.suspect(last.Policy, copiesEpoch(chain), chain, -1, Violation{
		Subject: chain[0].id, What: "under the policy " + string(last.Policy) + " it arrived more than once",
		Excerpt: c.showCopies(chain, copies)(),
	})
}

// copiesEpoch is the epoch in which a chain was accepted: copies may be of any since.
func copiesEpoch(chain []history) int64 { return chain[0].events[0].Epoch }

// judgeTruth holds that what counts as sent has arrived (I12).
func (c arriving) judgeTruth(h history, list []arrival) {
	for i := range h.events {
		e := &h.events[i]
		var want func(*arrival) bool
		switch {
		case !happy(e.To) || happy(e.From):
			continue
		case e.Type == posthouse.EventEvidence && e.Reason == "callback": // its answer was lost
			want = (*arrival).taken
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
		if c.sink.keyless > 0 && len(list) == 0 { // it may be of those that nobody can tell apart
			id, _ := c.packer.ID(h.id)
			c.unsaid = append(c.unsaid, unsaid{e.At.UnixNano(), id, e.To, e.Type != posthouse.EventResolve, e.Ref != ""})
			continue
		}
		c.fail(truth, h.id, with(h.show(i), c.showArrivals(nil, pointers(list)...)), "it counts as %s, and no arrival was answered so", e.To)
	}
}

// finishArrivals finds what belongs to no delivery (I2).
func (c arriving) finishArrivals() {
	if c.sink == nil {
		return
	}
	var left []*arrival // that were taken, and name no delivery
	for i := range c.sink.list {
		a := &c.sink.list[i]
		switch {
		case a.belongs:
			c.checked(noPhantom, 1)
		case a.keyless:
			if a.taken() {
				left = append(left, a)
			}
		case c.faults.undone(a.at, c.slack):
			c.totals.Excused++
		default:
			c.checked(noPhantom, 1)
			c.totals.Unexpected++
			c.fail(noPhantom, c.subject(a), c.showArrivals(nil, a), "it arrived and belongs to no delivery in the log")
		}
	}
	slices.SortFunc(left, func(a, b *arrival) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) })
	c.judgeUnsaid(left)
	c.judgeNameless(left)
}

// judgeUnsaid finds for each delivery that counts as sent, and that no arrival names, one of those that name
// none (I12).
func (c arriving) judgeUnsaid(left []*arrival) {
	slices.SortStableFunc(c.unsaid, func(a, b unsaid) int { return cmp.Compare(a.at, b.at) })
	nameless := c.packer.Pair("ref", "")
	used := make([]bool, len(left))
	pair := func(which func(*unsaid) bool, fits func(*arrival) bool) {
		next, free := 0, []int(nil)
		for i := range c.unsaid {
			u := &c.unsaid[i]
			if !which(u) {
				continue
			}
			for ; next < len(left) && left[next].at <= u.at+int64(c.slack); next++ {
				if !used[next] && fits(left[next]) {
					free = append(free, next)
				}
			}
			if n := len(free); n > 0 { // the last: others may need an earlier one
				used[free[n-1]], free = true, free[:n-1]
				continue
			}
			c.fail(truth, u.id.Text(), func() []string {
				return []string{fmt.Sprintf("%s  it became %s", stampText(time.Unix(0, u.at)), u.to)}
			}, "it counts as %s, and no arrival was answered so; of %s that name no delivery none is left for it", u.to, words.Plural(len(left), "arrival"))
		}
	}
	// A place for which fewer arrivals would do comes first.
	pair(func(u *unsaid) bool { return u.told && u.ref }, func(a *arrival) bool { return a.answer == accepted && a.key == nameless })
	pair(func(u *unsaid) bool { return u.told && !u.ref }, func(a *arrival) bool { return a.answer == accepted })
	pair(func(u *unsaid) bool { return !u.told }, (*arrival).taken)
}

// judgeNameless holds that there are no more arrivals that name no delivery than attempts that may have made
// them (I2).
func (c arriving) judgeNameless(left []*arrival) {
	left = slices.DeleteFunc(left, func(a *arrival) bool { return c.faults.undone(a.at, c.slack) })
	c.checked(noPhantom, len(left))
	if extra := len(left) - c.silent; extra > 0 {
		c.totals.Unexpected += extra
		c.fail(noPhantom, words.Plural(extra, "arrival"), c.showArrivals(nil, left[:min(len(left), maxUntold)]...),
			"%s without a key name no delivery in the log, and %s can have made them", words.Plural(len(left), "arrival"), words.Plural(c.silent, "attempt"))
	}
}

func (c arriving) subject(a *arrival) string {
	if id := a.key.Text(); !a.keyless && a.keyLen == 0 && posthouse.ValidID(id) && posthouse.MessageID(id) != id { // no hash
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
func (c arriving) showArrivals(tries []try, list ...*arrival) func() []string {
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
func (c arriving) showCopies(chain []history, copies []*arrival) func() []string {
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
