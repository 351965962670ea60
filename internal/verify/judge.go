package verify

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/transition"
	"github.com/posthouse/posthouse/internal/verify/packed"
)

// judges are the laws that one delivery's events decide alone.
var judges = []struct {
	law   lawID
	judge func(*checker, history)
}{
	{legal, by(coursing.judgeLegal)},
	{legal, by(keeping.judgeClass)},
	{chain, by(coursing.judgeChain)},
	{token, by(coursing.judgeToken)},
	{oneHolder, by(coursing.judgeHolder)},
	{fenced, by(coursing.judgeFence)},
	{finalIsFinal, by(coursing.judgeFinal)},
	{oneSuccess, by(coursing.judgeSuccess)},
	{hold, by(coursing.judgeHold)},
	{window, by(coursing.judgeWindow)},
	{attempts, by(coursing.judgeAttempts)},
	{timely, by(coursing.judgeTime)},
	{cancel, by(coursing.judgeCancel)},
	{tenant, by(coursing.judgeTenant)},
	{pull, by(pulling.judgePull)},
	{receipts, by(coursing.judgeReceipts)},
	{order, by(ordering.judgeOrder)},
	{account, by(allotting.judgeAccount)},
	{liveness, by(coursing.judgeRest)},
	{epoch, by(remains.judgeEpoch)},
	{poison, by(coursing.judgePoison)},
}

// by lets the checker hand a delivery to a judge of one subject.
func by[judges ~struct{ *checker }](judge func(judges, history)) func(*checker, history) {
	return func(c *checker, h history) { judge(judges{c}, h) }
}

func (c coursing) judgeLegal(h history) {
	underWay := false
	if i := slices.IndexFunc(h.events, func(e posthouse.Event) bool { return e.Policy != "" && !e.Policy.Valid() }); i >= 0 {
		c.fail(legal, h.id, h.show(i), "there is no policy %q", h.events[i].Policy)
	}
	for i := range h.events {
		e := &h.events[i]
		if !transition.Legal(e.From, e.Type, e.To) {
			c.fail(legal, h.id, h.show(i), "the state machine has no %s from %s to %s", e.Type, stateText(e.From), stateText(e.To))
		} else if e.From == posthouse.Sending && !fits(e, underWay) {
			c.fail(legal, h.id, h.show(i-1, i), "a %s to %s came %s", e.Type, e.To, map[bool]string{true: "with an attempt under way", false: "before an attempt had started"}[underWay])
		}
		underWay = started(underWay, e)
	}
}

// fits reports whether what happened to a delivery that is held agrees with whether it was started: what
// was may have left, and what was not has not.
func fits(e *posthouse.Event, underWay bool) bool {
	switch e.Type {
	case posthouse.EventStart, posthouse.EventCancel, posthouse.EventExpire:
		return !underWay
	case posthouse.EventLeaseLost:
		return underWay == (e.To == posthouse.Unknown)
	}
	return underWay || !result(e)
}

func (c coursing) judgeChain(h history) {
	for i := range h.events {
		e := &h.events[i]
		if e.Version != int64(i+1) {
			c.fail(chain, h.id, h.show(i-1, i), "version %d stands where %d is due", e.Version, i+1)
			return // all that follow are off by as much
		}
		if i == 0 {
			if e.From != "" {
				c.fail(chain, h.id, h.show(0), "its first event begins in %s, not with its accept", e.From)
			}
			continue
		}
		before := &h.events[i-1]
		if e.From != before.To {
			c.fail(chain, h.id, h.show(i-1, i), "an event begins in %s, the one before ended in %s", stateText(e.From), stateText(before.To))
		}
		if e.At.Before(before.At) {
			c.fail(chain, h.id, h.show(i-1, i), "time goes back by %s", before.At.Sub(e.At))
		}
	}
	keeping{c.checker}.judgeKept(h)
}

func (c coursing) judgeToken(h history) {
	now := h.events[0].Token
	if now != 0 {
		c.fail(token, h.id, h.show(0), "it began with token %d, not 0", now)
	}
	for i := 1; i < len(h.events); i++ {
		e := &h.events[i]
		switch {
		case claims(e) && e.Token != now+1:
			c.fail(token, h.id, h.show(i-1, i), "a claim raised the token from %d to %d, not by one", now, e.Token)
		case !claims(e) && e.Token > now:
			c.fail(token, h.id, h.show(i-1, i), "the token rose from %d to %d without a claim", now, e.Token)
		}
		now = max(now, e.Token)
	}
}

// judgeHolder holds that a lease is neither taken away while it runs nor joined by another (I8).
func (c coursing) judgeHolder(h history) {
	holder := -1 // the claim that holds it
	for i := range h.events {
		e := &h.events[i]
		switch {
		case claims(e):
			if holder >= 0 {
				c.fail(oneHolder, h.id, h.show(holder, i), "it was claimed by %s while %s held it", e.Owner, h.events[holder].Owner)
			}
			holder = i
		case holder >= 0 && takesAway(e) && e.At.Before(h.events[holder].LeaseUntil):
			c.fail(oneHolder, h.id, h.show(holder, i), "its lease was taken %s before its end", h.events[holder].LeaseUntil.Sub(e.At))
		}
		if (claims(e) || e.Type == posthouse.EventStart) && e.LeaseUntil.IsZero() {
			c.fail(oneHolder, h.id, h.show(i), "a %s does not say until when its lease runs", e.Type)
		}
		if e.To != posthouse.Sending {
			holder = -1
		}
	}
}

// takesAway reports whether an event ends a lease that its holder has not given up. A person may take one
// from an agent that does not come back.
func takesAway(e *posthouse.Event) bool {
	return (e.Type == posthouse.EventLeaseLost && e.Reason != reassigned) || (e.Type == posthouse.EventQuarantine && e.Reason == "poison")
}

// reassigned is the reason where a person took a hand-out from an agent.
const reassigned = "reassigned"

// judgeFence holds that only the last claim's holder writes (I9).
func (c coursing) judgeFence(h history) {
	holder := -1
	now := int64(0)
	for i := range h.events {
		e := &h.events[i]
		switch {
		case e.Type == posthouse.EventEvidence:
		case e.Token < now:
			c.fail(fenced, h.id, h.show(holder, i), "a %s was written with token %d after a claim with token %d", e.Type, e.Token, now)
		case (claims(e) || writes(e)) && e.Owner == "":
			c.fail(fenced, h.id, h.show(holder, i), "a %s does not say which process wrote it", e.Type)
		case holder >= 0 && writes(e) && e.Owner != h.events[holder].Owner:
			c.fail(fenced, h.id, h.show(holder, i), "a %s of %s was written while %s held the lease", e.Type, e.Owner, h.events[holder].Owner)
		}
		if claims(e) && e.Token >= now {
			holder = i
		}
		now = max(now, e.Token)
	}
}

// writes reports whether an event is one that only who holds the delivery may write.
func writes(e *posthouse.Event) bool {
	return result(e) || (e.Type == posthouse.EventStart && e.From == posthouse.Sending)
}

// result reports whether an event is the end of an attempt as its own process saw it.
func result(e *posthouse.Event) bool {
	switch e.Type {
	case posthouse.EventSent, posthouse.EventRetry, posthouse.EventFail, posthouse.EventAmbiguous:
		return e.From == posthouse.Sending
	}
	return false
}

func (c coursing) judgeFinal(h history) {
	settled := -1
	for i := range h.events {
		e := &h.events[i]
		if settled >= 0 && e.Type != posthouse.EventEvidence && e.Type != posthouse.EventReceipt && e.Type != posthouse.EventGather && e.Type != posthouse.EventRecall {
			c.fail(finalIsFinal, h.id, h.show(settled, i), "it was %s, and then %s came", h.events[settled].To, e.Type)
			return
		}
		if !e.To.Open() {
			settled = i
		}
	}
}

func (c coursing) judgeSuccess(h history) {
	first := -1
	for i := range h.events {
		e := &h.events[i]
		if !happy(e.To) || e.Type == posthouse.EventReceipt || e.Type == posthouse.EventRecall || (e.Type == posthouse.EventEvidence || e.Type == posthouse.EventGather) && happy(e.From) {
			continue
		}
		if first >= 0 {
			c.fail(oneSuccess, h.id, h.show(first, i), "it became %s a second time", e.To)
			return
		}
		first = i
	}
}

// judgeReceipts holds that a provider says once what became of a delivery, and only of one that it has
// accepted itself (I31).
func (c coursing) judgeReceipts(h history) {
	first := -1
	for i := range h.events {
		if h.events[i].Type != posthouse.EventReceipt {
			continue
		}
		if first >= 0 {
			c.fail(receipts, h.id, h.show(first, i), "a second receipt made it %s", h.events[i].To)
			return
		}
		first = i
		accepted := i - 1
		for accepted > 0 && h.events[accepted].Type == posthouse.EventRecall {
			accepted--
		}
		if i == 0 || (h.events[accepted].Type != posthouse.EventSent && h.events[accepted].Type != posthouse.EventEvidence) {
			c.fail(receipts, h.id, h.show(max(accepted, 0), i), "a receipt came for what its provider had not accepted")
			return
		}
	}
}

// judgeHold holds that what may have arrived is not tried again by itself, where the policy says so
// (I16). A restore turns policies to hold; whether it was hold before may be known at the end only.
func (c coursing) judgeHold(h history) {
	policy := h.last().Policy
	if policy == "" {
		c.checked(hold, -1) // the log does not say it
	}
	if policy != posthouse.Hold && policy != posthouse.AssumeSent && policy != posthouse.Query {
		return
	}
	doubt := -1
	for i := range h.events {
		e := &h.events[i]
		switch {
		case uncertain(e):
			doubt = i
		case manual(e), e.Type == posthouse.EventResolve && policy == posthouse.Query:
			doubt = -1
		case doubt >= 0 && e.Type == posthouse.EventStart:
			remains{c.checker}.suspect(policy, e.Epoch, []history{h}, i, Violation{
				Subject: h.id, What: "under the policy " + string(policy) + " it was tried again by itself after an attempt that may have arrived",
				Excerpt: h.show(doubt, i)(),
			})
			return
		}
	}
}

// judgeWindow holds that what may have arrived is repeated only while its provider would recognise the
// repeat (I18). A start that was given back has repeated nothing.
func (c coursing) judgeWindow(h history) {
	if c.in.KeyWindow <= 0 {
		return
	}
	list := h.attempts()
	doubt := false // an attempt may have arrived, and nobody has said since that it has not
	for i := range h.events {
		e := &h.events[i]
		switch {
		case uncertain(e):
			doubt = true
		case e.Type == posthouse.EventResolve && e.To == posthouse.Pending, manual(e):
			doubt = false
		case doubt && e.Type == posthouse.EventStart && slices.ContainsFunc(list, func(a attempt) bool { return a.start == i }):
			if late := e.At.Sub(list[0].at) - c.in.KeyWindow; late >= 0 {
				c.fail(window, h.id, h.show(list[0].start, i), "a repeat started %s after the provider had forgotten its key", late)
				return
			}
		}
	}
}

func (c coursing) judgeTenant(h history) {
	for i := range h.events {
		if h.events[i].Tenant != h.events[0].Tenant {
			c.fail(tenant, h.id, h.show(0, i), "an event of tenant %s stands among those of tenant %s", h.events[i].Tenant, h.events[0].Tenant)
			return
		}
	}
}

// How many leases a delivery may lose before it is quarantined: docs/states.md, T7. Agents may lose more: a
// bad network loses their leases too.
const (
	maxLosses       = 5
	maxLossesPulled = 20
)

func (c coursing) judgePoison(h history) {
	var lost []int
	processes := 0 // of these, of processes
	for i := range h.events {
		e := &h.events[i]
		switch {
		case e.Type == posthouse.EventRequeue:
			lost, processes = lost[:0], 0
		case e.Type == posthouse.EventLeaseLost && !byAgent(e):
			processes++
			fallthrough
		case e.Type == posthouse.EventLeaseLost:
			lost = append(lost, i)
		}
		if processes > maxLosses || len(lost) > maxLossesPulled {
			c.fail(poison, h.id, h.show(lost...), "it lost %d leases and was not quarantined", len(lost))
			return
		}
	}
}

// judgeAttempts holds that attempts are numbered, failures counted and waits kept (I19).
func (c coursing) judgeAttempts(h history) {
	number, tries, again := 0, 0, 0
	wait := -1 // the event that says when the next try may start
	underWay := false
	for i := range h.events {
		e := &h.events[i]
		if claims(e) && wait >= 0 && e.At.Before(h.events[wait].Due) {
			c.fail(attempts, h.id, h.show(wait, i), "it was tried again %s before its wait was over", h.events[wait].Due.Sub(e.At))
		}
		switch {
		case e.Type == posthouse.EventStart:
			number++
			fallthrough
		case ends(e):
			if e.Attempt != number {
				c.fail(attempts, h.id, h.show(i), "the %s of attempt %d is numbered %d", e.Type, number, e.Attempt)
				return
			}
		case takesBack(e) && underWay:
			number--
		case manual(e):
			again++
		}
		if e.Tries < tries || e.Tries > tries+failures(e) {
			c.fail(attempts, h.id, h.show(i-1, i), "its failures were %d and are %d after %s", tries, e.Tries, e.Type)
		}
		tries = e.Tries
		underWay = started(underWay, e)
		if most := c.mostTries(); most > 0 && tries > most+again {
			c.fail(attempts, h.id, h.show(i), "it failed %d times, and %d are the most", tries, most)
			return
		}
		if e.To == posthouse.Pending {
			wait = -1
			if e.Type == posthouse.EventRetry || e.Type == posthouse.EventResend {
				wait = i
			}
		}
	}
}

// ends reports whether an event is the end of an attempt and says of which one. A release takes the number
// back, and what a restore or a quarantine ends they do not name.
func ends(e *posthouse.Event) bool {
	return result(e) || (e.Type == posthouse.EventLeaseLost && e.To == posthouse.Unknown)
}

// failures is how many failures an event may add.
func failures(e *posthouse.Event) int {
	switch e.Type {
	case posthouse.EventRetry, posthouse.EventFail, posthouse.EventAmbiguous:
		return 1
	case posthouse.EventLeaseLost:
		if e.To == posthouse.Unknown {
			return 1
		}
	}
	return 0
}

// mostTries is the most failures that any channel of the run allows, 0 where that is not known.
func (c coursing) mostTries() int {
	most := 0
	for i := range c.in.Channels {
		n := c.in.Channels[i].Tries
		if n == 0 {
			return 0
		}
		most = max(most, n)
	}
	return most
}

// judgeTime holds that nothing starts early or late (I20). All of its times are the database's.
func (c coursing) judgeTime(h history) {
	if !slices.ContainsFunc(h.events, func(e posthouse.Event) bool { return !e.Due.IsZero() || !e.Deadline.IsZero() }) {
		c.checked(timely, -1) // the log says no times
	}
	wait := -1
	for i := range h.events {
		e := &h.events[i]
		if e.Type == posthouse.EventStart || e.Type == posthouse.EventClaim {
			if wait >= 0 && e.At.Before(h.events[wait].Due) {
				c.fail(timely, h.id, h.show(wait, i), "it started %s before it was due", h.events[wait].Due.Sub(e.At))
			}
			if !e.Deadline.IsZero() && !e.At.Before(e.Deadline) {
				c.fail(timely, h.id, h.show(i), "it came to its %s %s after its deadline", e.Type, e.At.Sub(e.Deadline))
			}
		}
		switch {
		case e.Type != posthouse.EventWake || wait < 0:
		case h.events[wait].Reason != "quiet_hours":
			c.fail(timely, h.id, h.show(wait, i), "it was woken, and no quiet hours held it")
		case e.Due.After(h.events[wait].Due):
			c.fail(timely, h.id, h.show(wait, i), "it was woken to come due %s later", e.Due.Sub(h.events[wait].Due))
		}
		if e.To == posthouse.Pending {
			wait = i
			if e.Type == posthouse.EventRetry || e.Type == posthouse.EventResend {
				wait = -1 // I19 judges waits between tries
			}
		}
	}
}

// judgeCancel holds that nothing starts after a cancel (I21).
func (c coursing) judgeCancel(h history) {
	asked := -1
	for i := range h.events {
		e := &h.events[i]
		switch {
		case e.Type == posthouse.EventCancel, e.Type == posthouse.EventCancelRequest:
			asked = i
		case asked >= 0 && (e.Type == posthouse.EventStart || e.Type == posthouse.EventClaim):
			c.fail(cancel, h.id, h.show(asked, i), "an attempt started after its cancel")
			return
		}
	}
	if c.calls != nil && len(c.calls.cancels) > 0 {
		accepting{c.checker}.judgeCancelCalls(h)
	}
}

// waiting is a delivery that was pending when the log ended.
type waiting struct {
	due  time.Time
	id   packed.ID
	line [2]string // that it stands in; none where empty
}

// judgeRest finds what a run at rest may not have (I4).
func (c coursing) judgeRest(h history) {
	if !c.in.AtRest {
		return
	}
	switch e := h.last(); e.To {
	case posthouse.Sending:
		c.fail(liveness, h.id, h.show(len(h.events)-1), "it is still being sent")
	case posthouse.Pending:
		if e.Reason == reasonGathered { // I39 judges whether its collection has left
			return
		}
		id, _ := c.packer.ID(h.id)
		w := waiting{due: e.Due, id: id}
		if of, in := h.inLine(); in && h.admitted() < 0 {
			w.line = of
		}
		c.waiting = append(c.waiting, w)
	}
}
