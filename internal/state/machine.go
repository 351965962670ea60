package state

import (
	"cmp"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/retry"
	"github.com/posthouse/posthouse/internal/work"
)

// Reasons are the stable words a delivery's reason column holds, besides those of rules and
// the names of classes.
const (
	ReasonTriesUsedUp    = "tries_used_up"
	ReasonDeadline       = "deadline"        // it passed
	ReasonDeadlineBefore = "deadline_before" // it would pass before the next try
	ReasonUnknownTimeout = "unknown_timeout"
	ReasonLeaseLost      = "lease_lost"
	ReasonPoison         = "poison" // took its worker down too often
	ReasonUnreadable     = "unreadable"
	ReasonPanic          = "driver_panic"
	ReasonWindowClosed   = "window_closed" // too late for the provider's idempotency window
	ReasonCancelled      = "cancelled"
	ReasonShutdown       = "shutdown"
	ReasonPaused         = "paused"   // its channel, after it was claimed
	ReasonReplaced       = "replaced" // its channel's settings, after it was claimed
	ReasonReceipt        = "receipt"  // the provider said later that it did not arrive
	ReasonCallback       = "callback" // the provider told of its recipient, by a ref that was lost
	ReasonTemplate       = "template" // it is gone, or cannot be filled anew
	ReasonDatabase       = "database" // it could not be asked for what sending needs
	ReasonApart          = "apart"    // lost its lease with others, and waits until it can be sent without them
	ReasonNoCall         = "no_call"  // it was claimed for a call that it could not share
	ReasonLimiter        = "limiter"  // it could not be asked
	ReasonSuppressed     = "address_suppressed"
	ReasonPreference     = "preference"         // its recipient wants no message of its kind, or none at all
	ReasonUnwanted       = "preference_channel" // its recipient wants it, but not by its channel
	ReasonQuietHours     = "quiet_hours"        // its recipient is not to be disturbed now
	ReasonStepOver       = "step_over"          // the time of its notification's step is over
	ReasonCapped         = "capped"             // its recipient has got as much as a cap lets through
	// Reasons of a delivery that waits for a window which not all of its channel wait for.
	ReasonLimitType      = "limit_type"
	ReasonLimitRecipient = "limit_recipient"
	ReasonLimitTemplate  = "limit_template"
)

// MaxClaimLosses is how many leases a delivery may lose before it is quarantined. One that agents fetch may lose
// more: a bad network loses leases too, and must not set aside what was never sent.
const (
	MaxClaimLosses  = 5
	MaxPulledLosses = 20
)

// leastRateWait is the least a delivery waits after a refusal of its account.
const leastRateWait = time.Second

// step collects the events of one change.
type step struct {
	change work.Change
	past   work.Failures // before it; nil where it was not read
	// elsewhere says that another account could send it at once.
	elsewhere bool
}

func begin(d posthouse.Delivery) *step {
	return &step{change: work.Change{Before: d, After: d}}
}

// to adds an event that leads to a state.
func (s *step) to(kind posthouse.EventType, state posthouse.State, reason string) *posthouse.Event {
	d := &s.change.After
	d.State, d.Reason = state, reason
	if state != posthouse.Pending {
		d.Line = "" // it stands nowhere any more, and goes at once where a person lets it
	}
	d.Gathered = d.Gathered && state.Open() && kind == posthouse.EventGather
	s.change.Events = append(s.change.Events, posthouse.Event{
		Type: kind, To: state, Token: d.Token, Reason: reason, Epoch: d.Epoch, Account: d.Account, Tries: d.Tries,
	})
	return &s.change.Events[len(s.change.Events)-1]
}

// rest clears what only a delivery under way has.
func (s *step) rest() {
	d := &s.change.After
	d.StartedAt, d.LeaseUntil, d.LeaseOwner = time.Time{}, time.Time{}, ""
}

// describe puts an attempt's end into its event and the delivery's row.
func (s *step) describe(e *posthouse.Event, r channel.Result) {
	d := &s.change.After
	e.Attempt, e.Class, e.Code, e.Error, e.Owner = d.Attempts, r.Class, r.Code, r.Error, s.change.Before.LeaseOwner
	e.Ref, e.Request, e.Response, e.Tries = r.Ref, r.Request, r.Response, d.Tries
	if r.Error != "" || r.Class != posthouse.ClassOK {
		d.Error = r.Error
	}
	if r.Ref != "" {
		d.ProviderRef = r.Ref
	}
}

// AfterResult is what follows the result of a started attempt (T9 to T12, and what the policy
// then does with an unknown).
func AfterResult(s *Settings, item *work.Item, r channel.Result, now time.Time) work.Change {
	step := begin(item.Delivery)
	step.past, step.elsewhere = item.Past, item.Elsewhere
	step.rest()
	switch {
	case r.Class == posthouse.ClassOK:
		state := posthouse.Sent
		if r.Delivered {
			state = posthouse.Delivered
		}
		step.describe(step.to(posthouse.EventSent, state, ""), r) // the last error stays readable
	case r.Class == posthouse.ClassUnknown || !r.Class.Valid():
		r.Class = posthouse.ClassUnknown
		step.burn(s, r)
		step.describe(step.to(posthouse.EventAmbiguous, posthouse.Unknown, cmp.Or(r.Code, string(r.Class))), r)
		step.afterUnknown(s, now)
	case r.Class.Final():
		step.change.After.Tries++
		step.describe(step.to(posthouse.EventFail, posthouse.Failed, string(r.Class)), r)
	default:
		step.afterRefusal(s, r, now)
	}
	return step.change
}

// before is how many failures come before one of a class. Where their classes are not known, all of them do.
func (s *step) before(set *Settings, class posthouse.Class, tries int) int {
	if s.past == nil {
		return tries
	}
	return set.Profile.Before(class, s.past)
}

// Recalls reports whether it matters what failed before of a delivery that has failed with a class: where the retry profile has
// ladders of their own for some classes.
func (s *Settings) Recalls(d *posthouse.Delivery, class posthouse.Class) bool {
	return d.Tries > 0 && class != posthouse.ClassOK && !class.Final() && s.Profile.Apart()
}

// burn counts a failed try, where the profile says that this class burns one.
func (s *step) burn(set *Settings, r channel.Result) retry.Decision {
	d := &s.change.After
	after := r.After
	if r.Class.Blocks() && !d.Pulled {
		after = 0 // the account's gate keeps the wait that its provider named: another account or a person may end it
	}
	before, chance := s.before(set, r.Class, d.Tries), set.chance(d)
	decision := retry.Decide(set.Profile, r.Class, before, after, chance)
	if r.AtOnce != "" {
		decision = decision.AtOnce(before, r.After, chance) // no gate keeps it
	}
	if decision.Burn {
		d.Tries++
	} else if !d.Pulled {
		decision.Wait = leastRateWait
	}
	return decision
}

// afterRefusal follows a refusal that may be retried (T10), or the last one (T11).
func (s *step) afterRefusal(set *Settings, r channel.Result, now time.Time) {
	if s.elsewhere { // it is the account that was refused: that burns none of the delivery's tries
		s.again(posthouse.EventRetry, ReasonFailover, now, func(e *posthouse.Event) { s.describe(e, r) })
		return
	}
	decision := s.burn(set, r)
	if decision.GiveUp {
		s.describe(s.to(posthouse.EventFail, posthouse.Failed, ReasonTriesUsedUp), r)
		return
	}
	reason := string(r.Class)
	if Doubtful(s.change.Before) {
		reason = string(posthouse.ClassUnknown)
	}
	s.again(posthouse.EventRetry, reason, set.due(now, decision.Wait), func(e *posthouse.Event) { s.describe(e, r) })
}

// Doubtful reports whether a delivery is under way once more although an earlier attempt may have
// arrived: resend gives it the reason unknown, and a later refusal does not take it away.
func Doubtful(d posthouse.Delivery) bool { return d.Reason == string(posthouse.ClassUnknown) }

// again puts the delivery back to pending for another try, unless its cancellation was asked for
// or its deadline comes first.
func (s *step) again(kind posthouse.EventType, reason string, due time.Time, describe func(*posthouse.Event)) {
	d := &s.change.After
	d.DueAt = due
	e := s.to(kind, posthouse.Pending, reason)
	e.Due = due
	if describe != nil {
		describe(e)
	}
	switch {
	case d.CancelRequested:
		s.to(posthouse.EventCancel, posthouse.Cancelled, ReasonCancelled)
	case !d.Deadline.IsZero() && !due.Before(d.Deadline):
		s.to(posthouse.EventExpire, posthouse.Expired, ReasonDeadlineBefore)
	}
}

// afterUnknown applies the policy to a delivery that has just become unknown (T14, T15, T17), or
// leaves it there with the time at which it is looked at again.
func (s *step) afterUnknown(set *Settings, now time.Time) {
	d := &s.change.After
	s.hold(set, now)
	switch d.OnUnknown {
	case posthouse.AssumeSent:
		d.Unconfirmed = true
		s.to(posthouse.EventAssumeSent, posthouse.Sent, "unconfirmed")
	case posthouse.Query:
		d.DueAt = now.Add(queryAfter)
	case posthouse.Retry:
		s.resend(set, now)
	}
}

// hold says when an unknown that nobody resolves is given up, if ever.
func (s *step) hold(set *Settings, now time.Time) {
	d := &s.change.After
	d.DueAt = time.Time{}
	if set.HoldTimeout > 0 {
		d.DueAt = now.Add(set.HoldTimeout)
	}
}

// queryAfter is the wait before a provider is asked about an attempt: it may still be under way.
const queryAfter = 5 * time.Second

// resend retries an unknown with the same token, while the provider still knows that token.
func (s *step) resend(set *Settings, now time.Time) {
	d := &s.change.After
	decision := retry.Decide(set.Profile, posthouse.ClassUnknown, s.before(set, posthouse.ClassUnknown, d.Tries-1), 0, set.chance(d))
	due := set.due(now, decision.Wait)
	switch {
	case d.CancelRequested:
	case decision.GiveUp:
		s.to(posthouse.EventHoldTimeout, posthouse.Failed, ReasonTriesUsedUp)
	case !retry.MayResend(due, d.FirstStartAt, set.Window, set.Timeout):
		d.Reason = ReasonWindowClosed
		s.change.Events[len(s.change.Events)-1].Reason = d.Reason
	default:
		d.Pinned = d.Account != "" // the provider of another account would not recognise the repeat
		s.again(posthouse.EventResend, string(posthouse.ClassUnknown), due, nil)
	}
}

// AfterLeaseLost is what the rescuer does with a lease that ended without a result (T6, T7, T13). A hand-out that its agent
// has not read burns nothing.
func AfterLeaseLost(s *Settings, d posthouse.Delivery, past work.Failures, unread bool, now time.Time) work.Change {
	step := begin(d)
	step.past = past
	a := &step.change.After
	started := !d.StartedAt.IsZero()
	owner := d.LeaseOwner
	step.rest()
	a.ClaimLosses++
	a.Error = silence(owner)
	most := MaxClaimLosses
	if d.Pulled {
		most = MaxPulledLosses
	}
	if a.ClaimLosses > most {
		e := step.to(posthouse.EventQuarantine, posthouse.Quarantined, ReasonPoison)
		e.Owner, e.Error = owner, a.Error
		return step.change
	}
	if !started {
		a.DueAt = now
		e := step.to(posthouse.EventLeaseLost, posthouse.Pending, ReasonLeaseLost)
		e.Owner, e.Due, e.Error = owner, now, a.Error
		return step.change
	}
	if !unread {
		a.Tries++
	}
	e := step.to(posthouse.EventLeaseLost, posthouse.Unknown, ReasonLeaseLost)
	step.describe(e, channel.Result{Class: posthouse.ClassUnknown, Code: "LEASE_LOST", Error: a.Error})
	e.Owner = owner
	step.afterUnknown(s, now.Add(step.apart(s, now)))
	return step.change
}

// silence says who did not say what happened.
func silence(owner string) string {
	if agent := work.AgentOf(owner); agent != "" {
		return "the agent " + agent + " did not report before its lease ended"
	}
	return "the worker " + owner + " was lost before it could say what happened"
}

// apart is the wait that parts deliveries which lost their leases together for the second time or
// more: one of them may be what takes their worker down, and it must not take the same others along
// until all are poison. It is drawn from twice as long as one of them can be under way, then from
// four times, and so on. Where it would come too late for the delivery there is none.
func (s *step) apart(set *Settings, now time.Time) time.Duration {
	d := &s.change.After
	if d.ClaimLosses < 2 || d.Pulled { // no phone takes another down
		return 0
	}
	most := max(set.Timeout, set.Every, time.Second) << (d.ClaimLosses - 1)
	wait := time.Duration(Fraction(d.ID, "apart", d.ClaimLosses) * float64(most))
	last := now.Add(2 * wait)
	if !d.Deadline.IsZero() && !last.Before(d.Deadline) || !retry.MayResend(last, d.FirstStartAt, set.Window, set.Timeout) {
		return 0
	}
	return wait
}

// AfterDeadline expires what has not started (T23).
func AfterDeadline(d posthouse.Delivery) work.Change {
	step := begin(d)
	step.rest()
	step.to(posthouse.EventExpire, posthouse.Expired, ReasonDeadline)
	return step.change
}

// AfterHold ends an unknown whose time is over (T17).
func AfterHold(d posthouse.Delivery) work.Change {
	step := begin(d)
	step.to(posthouse.EventHoldTimeout, posthouse.Failed, ReasonUnknownTimeout)
	return step.change
}

// AfterQuarantine sets aside what cannot be read or made its driver panic (T25).
func AfterQuarantine(d posthouse.Delivery, reason, text string) work.Change {
	step := begin(d)
	step.rest()
	step.change.After.Error = text
	e := step.to(posthouse.EventQuarantine, posthouse.Quarantined, reason)
	e.Error, e.Attempt = text, d.Attempts
	return step.change
}

// AfterRelease gives a claimed delivery back (T5). The worker itself says that no byte has left,
// so a start that was marked with the claim is taken back and burns nothing.
func AfterRelease(d posthouse.Delivery, now time.Time, reason string) work.Change {
	if Doubtful(d) {
		reason = d.Reason
	}
	step := begin(d)
	step.takeBack()
	step.again(posthouse.EventRelease, reason, now, nil)
	return step.change
}

// AfterWindow is a release of a repeat that would have come too late for the provider's memory: it
// was due in time, and then held up by a pause, a limit or a stop. It stays unknown.
func AfterWindow(s *Settings, d posthouse.Delivery, now time.Time) work.Change {
	step := begin(d)
	step.takeBack()
	step.hold(s, now)
	step.to(posthouse.EventRelease, posthouse.Unknown, ReasonWindowClosed)
	return step.change
}

// AfterNotSent ends what was claimed and is not to be sent (T24): its address is suppressed, a cap is full, or quiet hours last
// beyond the deadline. No byte has left, so the start is taken back. A repeat stays unknown: it may have been reached before. What began too late
// for its step is withdrawn, as all of that step is that has not begun.
func AfterNotSent(s *Settings, d posthouse.Delivery, reason, text string, now time.Time) work.Change {
	step := begin(d)
	doubtful := Doubtful(d)
	step.takeBack()
	if doubtful {
		step.hold(s, now)
		step.to(posthouse.EventRelease, posthouse.Unknown, reason)
		return step.change
	}
	if reason == ReasonStepOver {
		step.to(posthouse.EventRelease, posthouse.Pending, reason).Due = d.DueAt
		step.to(posthouse.EventCancel, posthouse.Cancelled, reason)
		return step.change
	}
	step.change.After.Error = text
	step.to(posthouse.EventSuppress, posthouse.Suppressed, reason).Error = text
	return step.change
}

// QuietBeyond says why a delivery is not sent that quiet hours hold until a time: they last beyond its deadline, or never end for its recipient. It is
// empty where neither is so.
func QuietBeyond(d *posthouse.Delivery, end time.Time) string {
	if end.Equal(quiet.Never) {
		return "quiet hours leave its recipient alone for good: there is no end to wait for"
	}
	if d.Deadline.IsZero() || end.Before(d.Deadline) {
		return ""
	}
	return fmt.Sprintf("quiet hours last until %s, and its deadline comes before", end.UTC().Format(time.RFC3339))
}

// PastQuiet is how long after their end what quiet hours have held comes due: the clock that is read when it is written down may be behind by less.
const PastQuiet = time.Millisecond

// LeastSooner is by how much sooner something must come due to be worth a write. What is put off comes due later than the end by as long as it took
// to write that down.
const LeastSooner = 10 * time.Second

// Woken is what follows where the quiet hours that hold a pending delivery were shortened, taken away or moved (T34): they end at a time, zero
// where they do not hold it any more. False says that it comes due hardly sooner for that.
func Woken(d posthouse.Delivery, end, now time.Time) (work.Change, bool) {
	due, reason := end, ReasonQuietHours
	if due.IsZero() {
		due, reason = now, ""
	}
	if due.Before(d.NotBefore) {
		due = d.NotBefore
	}
	if d.State != posthouse.Pending || d.Reason != ReasonQuietHours || !due.Add(LeastSooner).Before(d.DueAt) {
		return work.Change{}, false
	}
	step := begin(d)
	step.change.After.DueAt = due
	e := step.to(posthouse.EventWake, posthouse.Pending, reason)
	e.Due, e.Error = due, "its quiet hours were changed"
	return step.change, true
}

// CappedAt says which cap has let nothing more through.
func CappedAt(held posthouse.Limit) string {
	return fmt.Sprintf("its recipient has got %d within %s, which is all that a cap allows", held.Max, held.Per)
}

// takeBack undoes the start that was marked with a claim.
func (s *step) takeBack() {
	d := &s.change.After
	if !d.StartedAt.IsZero() {
		d.Attempts--
		if d.Attempts == 0 {
			d.FirstStartAt = time.Time{}
		}
	}
	s.rest()
}

// AfterEvidence is late proof that an attempt was accepted: the result of a worker whose lease
// was lost (T18). It closes what is still open, and corrects a failure.
func AfterEvidence(d posthouse.Delivery, r channel.Result) (work.Change, bool) {
	if d.State == posthouse.Quarantined || (!d.State.Open() && d.State != posthouse.Failed) {
		return work.Change{}, false
	}
	step := begin(d)
	step.rest()
	state := posthouse.Sent
	if r.Delivered {
		state = posthouse.Delivered
	}
	step.change.After.Unconfirmed = false
	e := step.to(posthouse.EventEvidence, state, "late_result")
	step.describe(e, r)
	if d.State == posthouse.Sending && d.StartedAt.IsZero() {
		e.Attempt = 0 // handed to an agent that has not begun: no attempt ends
	}
	return step.change, true
}

// AfterLate is what follows the end of an attempt whose delivery has changed since it began. Where the attempt still holds it (somebody
// asked to cancel it meanwhile), again says what follows; one that was taken from the attempt takes a success as evidence, and
// nothing else.
func AfterLate(current posthouse.Delivery, attempt *posthouse.Delivery, r channel.Result, again func(posthouse.Delivery) work.Change) (work.Change, bool) {
	if current.State == posthouse.Sending && current.Token == attempt.Token {
		return again(current), true
	}
	if r.Class != posthouse.ClassOK {
		return work.Change{}, false
	}
	c, ok := AfterEvidence(current, r)
	if ok {
		c.Events[0].Owner = attempt.LeaseOwner // another may hold it
	}
	return c, ok
}

// AfterCancel withdraws what has not started (T21), and marks what has, so that no further try
// starts (T22).
func AfterCancel(d posthouse.Delivery) (work.Change, bool) {
	step := begin(d)
	switch {
	case d.State == posthouse.Pending, d.State == posthouse.Sending && d.StartedAt.IsZero():
		step.rest()
		step.to(posthouse.EventCancel, posthouse.Cancelled, ReasonCancelled)
	case (d.State == posthouse.Sending || d.State == posthouse.Unknown) && !d.CancelRequested:
		step.change.After.CancelRequested = true
		step.to(posthouse.EventCancelRequest, d.State, d.Reason)
	default:
		return work.Change{}, false
	}
	return step.change, true
}

// ReasonRetry is of what a person let go again, and ReasonUndo of what was taken back before it began.
const (
	ReasonRetry = "operator_retry"
	ReasonUndo  = "operator_undo"
)

// reasonAbsent is of what a provider was asked about, and does not have.
const reasonAbsent = "query_absent"

// AfterUndo takes a person's word back that a delivery is to be tried again, before it has begun (T31): it waits for a person once more,
// whatever its policy. One that never began was quarantined, and is again.
func AfterUndo(d posthouse.Delivery) (work.Change, bool) {
	if d.State != posthouse.Pending || d.Reason != ReasonRetry {
		return work.Change{}, false
	}
	step := begin(d)
	a := &step.change.After
	a.DueAt = time.Time{}
	if d.Attempts == 0 {
		step.to(posthouse.EventQuarantine, posthouse.Quarantined, ReasonUndo)
		return step.change, true
	}
	a.OnUnknown = posthouse.Hold
	step.to(posthouse.EventResolve, posthouse.Unknown, ReasonUndo)
	return step.change, true
}

// AfterResolve is a person's or a query's word on an unknown (T15, T16), or a person's on a
// quarantined delivery (T26). An absent one is tried again when retry is set, else it failed.
func AfterResolve(d posthouse.Delivery, arrived, again bool, reason string, now time.Time) (work.Change, bool) {
	step := begin(d)
	a := &step.change.After
	switch {
	case d.State == posthouse.Unknown && arrived:
		a.Unconfirmed = false
		step.to(posthouse.EventResolve, posthouse.Sent, reason)
	case d.State == posthouse.Unknown && again:
		step.again(posthouse.EventResolve, reason, now, nil)
	case d.State == posthouse.Unknown:
		step.to(posthouse.EventResolve, posthouse.Failed, reason)
	case d.State == posthouse.Quarantined && again:
		a.ClaimLosses = 1 // one is kept: caps ask again what has lost a lease, since nobody knows whether they have counted it
		step.again(posthouse.EventRequeue, reason, now, nil)
	case d.State == posthouse.Quarantined && !arrived:
		step.to(posthouse.EventDiscard, posthouse.Failed, reason)
	default:
		return work.Change{}, false
	}
	return step.change, true
}
