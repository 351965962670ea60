package rate

import (
	"time"
)

// Interval is how often a state is stepped.
const Interval = 100 * time.Millisecond

// The controller's constants. They were chosen by the simulations in this package's tests.
const (
	start   = 1.0   // calls a second of an account of which nothing is known
	climb   = 1.05  // growth an interval until the first refusal: 1 to 1,000 a second in 14 s
	below   = 0.95  // of what was accepted just before a refusal: the learned limit
	lower   = 0.9   // the same where the limit itself seems to fall
	cut     = 0.7   // what is left after a refusal or a failure
	nip     = 0.9   // what is left after a trial that met no more than few refusals
	few     = 2     // calls in a second, refused or failed
	regain  = 0.03  // of the learned limit, gained an interval after a cut: a second to be back
	fallen  = 0.3   // of the most that an account had: more than a limit that moves
	least   = 0.05  // of the base: a provider in trouble is still asked
	floor   = 0.1   // calls a second, for all that is learned
	refused = 0.005 // the share of refusals in a second that is a sign of a limit
	heavy   = 0.05  // the share from which the accepted calls alone are believed
	failed  = 0.1   // the share of failures that is a sign of trouble
	slow    = 2     // times the account's own median latency
	quick   = 50 * time.Millisecond
	claims  = 100 * time.Millisecond // for longer a claim is rarely under way
	enough  = 20                     // calls that a measurement of the limit needs
	longest = 60                     // seconds that it looks back
	window  = 10                     // seconds of the longest window that is told from one of a second
)

// Hold is how long after a punishment nothing beyond the learned limit is tried.
const Hold = 65 * time.Minute

// punishment is a wait from which a refusal is one.
const punishment = 10 * time.Second

// Punishes reports whether a refusal that names a wait is a punishment.
func Punishes(wait time.Duration) bool { return wait >= punishment }

// Settings are what is configured of an account.
type Settings struct {
	// Base is the most calls a second; 0 where it is to be learned.
	Base float64
}

// Seen is what all processes together saw of an account since the last step.
type Seen struct {
	// Called is how many calls ended. OK of them were accepted, also where the recipient or the content was refused;
	// Refused were refused for going too fast; Failed met a 5xx, a time-out or a broken connection.
	// Late are refusals of calls that began before the rate was last cut or while the account was parked: they are no news.
	Called, OK, Refused, Failed, Late int
	// Latency is the mean of the calls that were accepted, 0 without any.
	Latency time.Duration
	// Wait is the longest wait that a refusal named, 0 for none.
	Wait time.Duration
	// Short is set where more was waiting than the rate let through. A rate that nobody uses up proves nothing.
	Short bool
}

// The reasons.
const (
	Began    Reason = "began"    // nothing is known yet
	Climbs   Reason = "climbs"   // no refusal was met yet
	Refusal  Reason = "refused"  // the provider refused for going too fast
	Punished Reason = "punished" // the provider refused, and named a long wait
	Trouble  Reason = "failing"  // the provider fails
	Slowed   Reason = "slow"     // the provider answers slowly
	Recovers Reason = "recovers" // on the way back to what was learned
	Probes   Reason = "probes"   // tries whether a little more is allowed
	Holds    Reason = "holds"    // at what is allowed
)

// State is what is known of an account. The zero State knows nothing.
type State struct {
	// Learned is the limit that was learned, in calls a second, 0 before the first refusal.
	Learned float64 `json:"learned,omitempty"`
	// Allowed is what may be called a second, before the factors that are not the provider's.
	Allowed float64 `json:"allowed"`
	// Parked is until when nothing may be called, Held until when nothing beyond Learned is tried.
	Parked time.Time `json:"parked,omitzero"`
	Held   time.Time `json:"held,omitzero"`
	// Reason is that of the last change, Since its time.
	Reason Reason    `json:"reason"`
	Since  time.Time `json:"since,omitzero"`

	past    past
	median  time.Duration // of the latency, moving
	best    float64       // the most that was accepted, calls a second
	lastCut time.Time
	trial   trial
	dip     dip
}

// Step is the state after an interval in which something was seen.
func (s State) Step(now time.Time, seen Seen, c Settings) State {
	if s.Reason == "" {
		s = State{Allowed: start, Reason: Began, Since: now, trial: trial{credit: credits}}
		if c.Base > 0 {
			s.Allowed = c.Base
		}
	}
	s.past.add(now, seen)
	s.trial.pay(seen)
	if until := now.Add(seen.Wait); seen.Wait > 0 && until.After(s.Parked) {
		s.Parked = until
	}
	second := s.past.last(now, time.Second)
	switch {
	case seen.Refused > 0 && (Punishes(seen.Wait) || second.share(second.refused) >= refused):
		s.refuse(now, seen, second)
	case now.Before(s.Parked):
	case s.dip.over(now):
		s.judge(now)
	case s.wonders(now):
		s.lower(now)
	case s.busy(now, second):
		s.learn(now, max(s.trial.from, below*s.Allowed), nip, Trouble)
	case s.fails(now):
		s.dip.begin(now, s.Allowed, second)
		s.trouble(now, Trouble, c)
	case s.slowed(seen.Latency):
		s.trouble(now, Slowed, c)
	case s.dip.open: // nothing grows while it is looked at
	default:
		s.grow(now, seen, second, c)
	}
	s.median = nudge(s.median, seen.Latency)
	if c.Base > 0 {
		s.Allowed = min(s.Allowed, c.Base)
	}
	s.best = max(s.best, s.past.last(now, window*time.Second).rate())
	return s
}

// refuse learns from a refusal. Refusals that were under way when the rate was cut say nothing new, unless they go on.
func (s *State) refuse(now time.Time, seen Seen, second span) {
	punished := Punishes(seen.Wait) && s.another(s.Parked)
	if !punished && (now.Sub(s.lastCut) < time.Second || now.Before(s.lastCut.Add(time.Second))) {
		return
	}
	again := now.Before(s.Held)
	share, left := below, cut
	limit := min(s.past.accepted(now, s.Allowed), s.Allowed)
	switch {
	case !punished && s.trial.running() && second.refused <= few && now.Sub(s.lastCut) > settled:
		limit, left = s.Allowed, nip // the trial has just passed the limit
	case second.share(second.refused) >= heavy: // a window that is full lets little in for a while, yet its share comes back
		limit = max(limit, s.past.last(now, window*time.Second).rate())
	}
	if punished && again { // the limit is one of a longer window than was thought
		limit = min(limit, s.past.last(now, longest*time.Second).rate())
	}
	if second.share(second.refused) < heavy { // few refusals may be a provider's mood
		limit = max(limit, cut*s.Learned)
	}
	if punished || !s.trial.running() && second.refused >= few { // one more would cost too much, or what was borne is borne no longer
		share = lower
	}
	s.learn(now, share*limit, left, Refusal)
	if punished {
		s.Held = s.Parked.Add(Hold)
		s.become(now, Punished)
	}
}

// another reports whether what ends then is another punishment than the last one. The same is heard of many times, each with another
// end by some milliseconds, since clocks differ; the next one ends at least as much later as a punishment lasts.
func (s *State) another(until time.Time) bool { return until.Add(Hold).Sub(s.Held) >= punishment/2 }

// knows reports whether a refusal of a call that began at a time is no news: the rate was cut since, or the call was being
// claimed meanwhile, or the account was parked.
func (s *State) knows(began time.Time) bool {
	return began.Before(s.lastCut.Add(claims)) || began.Before(s.Parked)
}

// learn takes a limit, and goes on with what is left of it.
func (s *State) learn(now time.Time, limit, left float64, why Reason) {
	s.Learned = max(limit, floor)
	s.Allowed, s.lastCut = max(left*s.Learned, floor), now
	s.trial.end(s.Learned, s.fallen())
	s.become(now, why)
}

// trouble slows down for a provider that is ill, once a second.
func (s *State) trouble(now time.Time, why Reason, c Settings) {
	if now.Sub(s.lastCut) < time.Second {
		return
	}
	s.Allowed, s.lastCut = max(cut*s.Allowed, least*s.base(c), floor), now
	s.become(now, why)
}

// grow goes on where nothing was wrong and the rate was used up.
func (s *State) grow(now time.Time, seen Seen, second span, c Settings) {
	if !seen.Short || second.rate() < cut*s.Allowed && s.Allowed > 1 && !s.fallen() { // of few calls a second says little
		return
	}
	top := s.Learned
	if c.Base > 0 && (top == 0 || c.Base < top) {
		top = c.Base
	}
	switch {
	case top == 0:
		s.Allowed *= climb
		s.become(now, Climbs)
	case s.Allowed < top:
		s.Allowed = min(s.Allowed+regain*top, top)
		s.become(now, Recovers)
	case top == c.Base || now.Before(s.Held):
		s.become(now, Holds)
	case !s.trial.goesOn(s.Learned, s.Allowed, s.fallen()):
		s.become(now, Holds)
	default:
		growth := first // a provider that punishes is tried no faster
		switch {
		case !s.Held.IsZero():
		case s.fallen():
			growth = climb - 1
		default:
			growth = s.trial.growth()
		}
		s.Learned *= 1 + growth
		s.Allowed = s.Learned
		s.become(now, Probes)
	}
}

// fallen reports whether a spell of refusals has left the account at a fraction of what it had: it may be over by now.
func (s *State) fallen() bool { return s.Learned > 0 && s.Learned < fallen*s.best }

func (s *State) slowed(latency time.Duration) bool {
	return s.median > 0 && latency > slow*s.median && latency > quick
}

func (s *State) become(now time.Time, why Reason) {
	if s.Reason != why {
		s.Reason, s.Since = why, now
	}
}

// base is what health is a share of.
func (s *State) base(c Settings) float64 {
	switch {
	case c.Base > 0:
		return c.Base
	case s.Learned > 0:
		return s.Learned
	}
	return s.Allowed
}

// nudge moves a median by a step towards what was seen, so that it needs no memory of what it saw before.
func nudge(median, seen time.Duration) time.Duration {
	switch {
	case seen == 0:
		return median
	case median == 0:
		return seen
	}
	step := max(median/50, time.Microsecond)
	if seen > median {
		return median + step
	}
	return max(median-step, time.Microsecond)
}

// Ends counts good and bad ends of calls, of those that the account or its provider is to blame for.
type Ends struct{ Good, Bad int }

// share is 1 where nothing is known.
func (e Ends) share() float64 {
	if e.Good+e.Bad == 0 {
		return 1
	}
	return float64(e.Good) / float64(e.Good+e.Bad)
}

// Surroundings are what a rate depends on beside the provider's answers.
type Surroundings struct {
	// Hour and Recent are the ends of the last hour and of the last 100 calls.
	Hour, Recent Ends
	// InFlight of Room calls are under way. A Room of 0 has no bound.
	InFlight, Room int
	// Time is the factor of the time of day; 0 stands for 1.
	Time float64
}

// success is the share of good ends among the last hundred: those of the last calls, and as many of the last hour's as these
// lack. An account that recovers so has it back after a hundred calls, and not after an hour.
func (s *Surroundings) success() float64 {
	n := float64(s.Recent.Good + s.Recent.Bad)
	if n >= hundred {
		return s.Recent.share()
	}
	return (float64(s.Recent.Good) + s.Hour.share()*(hundred-n)) / hundred
}

// roomy lets the load count only where more than three quarters of the room are in use.
const roomy = 4

// leastSuccess keeps an account that fails alive: with nothing sent, nothing could get better.
const leastSuccess = 0.05

// Factors are the rate in its surroundings.
func (s *State) Factors(now time.Time, c Settings, around Surroundings) Factors {
	f := Factors{Base: s.base(c), Health: 1, Success: 1, Load: 1, Time: 1, Reason: s.Reason, Since: s.Since}
	if f.Base > 0 {
		f.Health = s.Allowed / f.Base
	}
	if now.Before(s.Parked) {
		f.Health, f.Parked = 0, s.Parked
	}
	f.Success = max(around.success(), leastSuccess)
	if around.Room > 0 {
		f.Load = min(1, max(0, roomy*(1-float64(around.InFlight)/float64(around.Room))))
	}
	if around.Time > 0 {
		f.Time = around.Time
	}
	f.Rate = f.Base * f.Health * f.Success * f.Load * f.Time
	return f
}
