package retry

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Decision is what follows a failed attempt.
type Decision struct {
	// Wait is how long the delivery waits for its next try, 0 for as soon as its
	// turn comes. It means nothing where GiveUp is set.
	Wait time.Duration
	// GiveUp ends the delivery as failed.
	GiveUp bool
	// Burn counts the failure: the delivery's tries rise by one.
	Burn bool
}

// Decide says what follows a failed attempt of a class, by a profile.
//
// Before is how many failures came before this one: the delivery's tries where
// the class counts them (Burn), and where it does not, how often the account
// was refused in a row. After is the provider's own wait, 0 where it named
// none; rnd is a random number in [0, 1).
//
// An unknown outcome is decided as a failure; whether it may be repeated at all
// is the policy's matter and MayResend's. ClassOK is no failure: nothing follows.
func Decide(p Profile, class posthouse.Class, before int, after time.Duration, rnd float64) Decision {
	switch {
	case class == posthouse.ClassOK:
		return Decision{}
	case class.Final():
		return Decision{GiveUp: true, Burn: true}
	case !class.Valid():
		class = posthouse.ClassUnknown
	}
	terms := p.TermsOf(class)
	failures := max(before, 0) + 1
	if !terms.Free && terms.Tries > 0 && failures >= terms.Tries {
		return Decision{GiveUp: true, Burn: true}
	}
	return Decision{Wait: terms.Schedule.Next(failures, after, rnd), Burn: !terms.Free}
}

// AtOnce is a decision on a refusal of too many calls at the same time. That is no rate: there is room as soon as another call has ended, and
// whoever asks begins no more than the provider was seen to bear. The wait is the provider's own, spread, and doubles from one failure to the next as
// long as it is shorter than the decision's, for a provider that bears none.
func (d Decision) AtOnce(before int, after time.Duration, rnd float64) Decision {
	soon := exponential(max(after, time.Second), 2, MaxAfter)
	d.Wait = min(d.Wait, soon.Next(max(before, 0)+1, 0, rnd))
	return d
}

// MayResend reports whether an attempt that may have arrived may be repeated
// with the same idempotency key: only while the repeat is sure to end within
// the time for which the provider remembers the key, less a fifth of it for
// clocks that differ.
//
// firstStart is when the delivery's first attempt began, zero before it did.
// timeout bounds one attempt. A window of 0 is a provider without a key: the
// policy retry then accepts a second copy, so the answer is true. A provider
// that never forgets has the longest window there is.
func MayResend(now, firstStart time.Time, window, timeout time.Duration) bool {
	if window <= 0 || firstStart.IsZero() {
		return true
	}
	return now.Add(timeout).Before(firstStart.Add(window - window/5))
}
