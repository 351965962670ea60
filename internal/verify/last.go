package verify

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify/words"
)

// finishRest judges, now that the end of the log is known, what was still pending (I4).
func (c remains) finishRest() {
	now := c.in.Now
	if now.IsZero() {
		now = c.report.To
	}
	slices.SortStableFunc(c.waiting, func(a, b waiting) int { return a.due.Compare(b.due) })
	for _, w := range c.waiting {
		if w.due.After(now) {
			return
		}
		if c.lines.held(w.line) {
			continue // it waits for another one
		}
		c.fail(liveness, w.id.Text(), func() []string {
			return []string{fmt.Sprintf("%s  pending since then; the run was at rest at %s", stampText(w.due), stampText(now))}
		}, "it is pending and was due %s before the end", now.Sub(w.due))
	}
}

// finishStored holds that the stored counts are those of the log, and kept ones those of what is there (I3).
func (c remains) finishStored() {
	for _, of := range slices.Sorted(maps.Keys(c.in.Kept)) {
		c.checked(conservation, 1)
		if n := c.in.Kept[of]; n.Kept != n.There {
			c.fail(conservation, of, func() []string {
				return []string{fmt.Sprintf("the count that is kept says %d, and there are %d", n.Kept, n.There)}
			}, "its count is off by %d", n.Kept-n.There)
		}
	}
	if c.in.Stored == nil {
		return
	}
	tenants := map[string]bool{}
	for _, counts := range []map[string]map[posthouse.State]int{c.states, c.in.Stored} {
		for name := range counts {
			tenants[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tenants)) {
		for _, state := range posthouse.States() {
			c.checked(conservation, 1)
			if log, stored := c.states[name][state], c.in.Stored[name][state]; log != stored {
				c.fail(conservation, "tenant "+name, func() []string {
					return []string{fmt.Sprintf("by the log %d deliveries are %s, by the database %d", log, state, stored)}
				}, "the counts of %s deliveries differ by %d", state, stored-log)
			}
		}
	}
}

// epochs is what is known of the restores that the log went through (I32).
type epochs struct {
	holds    map[int64]time.Time // epoch → its first epoch_hold
	firsts   map[int64]time.Time // epoch → its first start
	starts   map[int64]lastStart // epoch → its last start
	fresh    map[int64][]waiting // epoch → first starts of what was accepted before it
	seen     map[int64]bool      // epochs that the log names
	last     int64               // of seen, the last one met
	suspects []suspicion
}

type lastStart struct {
	at      time.Time
	subject string
}

// suspicion is a violation of I16, if no restore came while its delivery was unknown: that leaves what is
// unknown to a person, whatever its policy was.
type suspicion struct {
	epoch    int64
	from, to time.Time // when it was unknown
	still    bool      // it is at the end of the log
	found    Violation
}

func newEpochs() epochs {
	return epochs{
		holds: map[int64]time.Time{}, firsts: map[int64]time.Time{}, starts: map[int64]lastStart{}, fresh: map[int64][]waiting{},
		seen: map[int64]bool{}, last: math.MinInt64,
	}
}

// suspect judges what is a violation under a policy that deliveries had at the end (I16): at once where no
// restore can have given it to them since an event, the first if it is -1.
func (c remains) suspect(policy posthouse.Policy, epoch int64, list []history, since int, v Violation) {
	s := suspicion{epoch: epoch, found: v}
	for _, h := range list {
		unknown := false
		for i := range h.events {
			switch e := &h.events[i]; {
			case policy != posthouse.Hold: // no restore gives another one
			case e.Type == posthouse.EventEpochHold && i > since:
				c.freeze(v.Subject)
				return
			case e.Type == posthouse.EventEpochHold:
				c.violated(hold, v) // it was hold already
				return
			case i > since:
				unknown = s.add(unknown, e)
			}
		}
		s.still = s.still || unknown
	}
	if s.from.IsZero() {
		c.violated(hold, v)
		return
	}
	c.epochs.suspects = append(c.epochs.suspects, s)
}

// add widens the time in which a delivery was unknown by its next event, and says whether it is unknown after it.
func (s *suspicion) add(unknown bool, e *posthouse.Event) bool {
	if e.To == posthouse.Unknown && (s.from.IsZero() || e.At.Before(s.from)) {
		s.from = e.At
	}
	if unknown && e.At.After(s.to) {
		s.to = e.At
	}
	return e.To == posthouse.Unknown
}

// freeze notes a delivery whose policy a restore may have changed since (I16).
func (c remains) freeze(subject string) {
	if c.frozen == nil {
		c.frozen = map[string]bool{}
	}
	c.frozen[subject] = true
}

// judgeEpoch holds that after a restore nothing starts by itself that was tried before, and notes what
// the end will decide (I32).
func (c remains) judgeEpoch(h history) {
	p := &c.epochs
	tried := -1 // the last start of an earlier epoch that no person has looked at since
	for i := range h.events {
		e := &h.events[i]
		if e.Epoch != p.last {
			p.last, p.seen[e.Epoch] = e.Epoch, true
		}
		switch e.Type {
		case posthouse.EventEpochHold:
			if t, ok := p.holds[e.Epoch]; !ok || e.At.Before(t) {
				p.holds[e.Epoch] = e.At
			}
		case posthouse.EventStart, posthouse.EventClaim:
			if at := p.starts[e.Epoch].at; e.At.After(at) {
				p.starts[e.Epoch] = lastStart{at: e.At, subject: h.id}
			}
			if at, ok := p.firsts[e.Epoch]; !ok || e.At.Before(at) {
				p.firsts[e.Epoch] = e.At
			}
			before := h.before(i)
			if claims(e) && before >= 0 && h.events[before].Epoch < e.Epoch { // a start that follows its claim is judged with it
				if tried >= 0 {
					c.fail(epoch, h.id, h.show(tried, i), "it was tried in epoch %d, and started by itself in epoch %d", h.events[tried].Epoch, e.Epoch)
					return
				}
				if !manual(&h.events[before]) {
					id, _ := c.packer.ID(h.id)
					p.fresh[e.Epoch] = append(p.fresh[e.Epoch], waiting{due: e.Due, id: id})
				}
			}
			tried = i
		case posthouse.EventRelease, posthouse.EventSuppress:
			tried = -1
		default:
			if manual(e) {
				tried = -1
			}
		}
	}
}

// before is the event that made a delivery pending before its start, -1 for none.
func (h history) before(start int) int {
	for i := start - 1; i >= 0; i-- {
		if h.events[i].To == posthouse.Pending {
			return i
		}
	}
	return -1
}

// finishEpochs judges restores now that their times are known.
func (c remains) finishEpochs() {
	p := &c.epochs
	for _, number := range slices.Sorted(maps.Keys(p.holds)) {
		at := p.holds[number]
		for _, w := range p.fresh[number] {
			if !w.due.IsZero() && w.due.Before(at.Add(-c.slack)) {
				c.fail(epoch, w.id.Text(), func() []string {
					return []string{
						fmt.Sprintf("%s  due, in an earlier epoch", stampText(w.due)),
						fmt.Sprintf("%s  epoch %d began to hold", stampText(at), number),
					}
				}, "it was due before epoch %d began, and was not held", number)
			}
		}
		for _, older := range slices.Sorted(maps.Keys(p.starts)) {
			start := p.starts[older]
			if older < number && start.at.After(at.Add(c.slack)) {
				c.fail(epoch, start.subject, func() []string {
					return []string{
						fmt.Sprintf("%s  epoch %d began to hold", stampText(at), number),
						fmt.Sprintf("%s  start in epoch %d", stampText(start.at), older),
					}
				}, "a process of epoch %d went on after epoch %d had begun", older, number)
			}
		}
	}
	for i := range p.suspects {
		if s := &p.suspects[i]; p.mayHaveFrozen(s, c.slack) {
			c.freeze(s.found.Subject)
		} else {
			c.violated(hold, s.found)
		}
	}
	if n := len(c.frozen); n > 0 {
		c.checked(hold, -n)
		c.by[hold].why = words.Plural(n, "more delivery") + " not decided: a restore has come since, and may have changed the policy"
	}
}

// mayHaveFrozen reports whether a later epoch began while a delivery was unknown: after the last start of the
// epochs before, or the first hold of its own, and before its first start.
func (p *epochs) mayHaveFrozen(s *suspicion, slack time.Duration) bool {
	for number := range p.seen {
		if number <= s.epoch {
			continue
		}
		from := p.holds[number]
		if from.IsZero() || !p.seen[number-1] { // the epoch between left no trace
			from = time.Time{}
			for older, start := range p.starts {
				if older < number && start.at.After(from) {
					from = start.at
				}
			}
		}
		until, known := p.firsts[number]
		if (s.still || !s.to.Before(from.Add(-slack))) && (!known || !s.from.After(until.Add(slack))) {
			return true
		}
	}
	return false
}

// losses are the attempts that one process was lost with.
type losses struct {
	count    int
	accounts map[string]bool // by which they went
	subject  string
	excerpt  []string
}

// judgeLosses counts the leases that each process lost (I15). Agents are none.
func (c remains) judgeLosses(h history) {
	for i := range h.events {
		e := &h.events[i]
		if e.Type != posthouse.EventLeaseLost || e.To != posthouse.Unknown || byAgent(e) {
			continue // an agent is one all its life, and loses its phone again and again
		}
		l := c.losses[e.Owner]
		if l == nil {
			l = &losses{accounts: map[string]bool{}, subject: h.id, excerpt: h.show(i)()}
			c.losses[e.Owner] = l
		}
		l.count++
		l.accounts[e.Account] = true
	}
}

// defaultInflight is the most attempts that a channel has under way in one process where nobody says:
// posthouse.ChannelSettings, MaxInflight.
const defaultInflight = 256

// mostInflight is the most by all accounts of a channel: each has a bound of its own.
const mostInflight = 4096

// finishLosses holds the leases that a killed process lost against what it may have had under way. It
// judges only runs whose faults end a process: one that is paused, or cut off, loses leases again and
// again.
func (c remains) finishLosses() {
	for _, l := range c.losses {
		c.report.Unknowns.WorstLoss = max(c.report.Unknowns.WorstLoss, l.count)
	}
	if c.faults == nil || len(c.in.Channels) == 0 || !c.faults.only("kill", "term") {
		if len(c.losses) > 0 {
			c.by[bounded].why = "but not what lost processes had under way: that takes faults that are kills or stops alone"
		}
		return
	}
	for _, owner := range slices.Sorted(maps.Keys(c.losses)) {
		l, most := c.losses[owner], 0
		for i := range c.in.Channels {
			one := cmp.Or(c.in.Channels[i].MaxInflight, defaultInflight)
			if c.in.Channels[i].Accounts {
				one = min(one*len(l.accounts), cmp.Or(c.in.Channels[i].ChannelMaxInflight, mostInflight))
			}
			most += one
		}
		if l.count > most {
			c.fail(bounded, "process "+owner, func() []string { return l.excerpt }, "it was lost with %s under way, and %d are the most", words.Plural(l.count, "attempt"), most)
		}
	}
}

// only reports whether there were faults, and none but those of the given kinds.
func (f *faults) only(kinds ...string) bool {
	for i := range f.list {
		if !slices.Contains(kinds, f.list[i].Kind) {
			return false
		}
	}
	return len(f.list) > 0
}
