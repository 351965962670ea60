package rate

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Factors are a rate with all it is made of, to be shown.
type Factors = posthouse.Rate

// Reason says why a rate last changed.
type Reason = posthouse.RateReason

// Pace holds an account to its rate: it counts out the calls that may begin, steps the rate by what was seen of them, and
// knows the last hundred ends. It reads no clock and holds no lock.
type Pace struct {
	settings Settings
	state    State
	seen     Seen
	latency  time.Duration // of the calls in seen that were accepted, together
	until    time.Time     // of the waits that the refusals in seen named, the end of the last
	stepped  time.Time

	tokens float64 // calls that may begin
	filled time.Time

	recent [hundred]bool // whether an end was good, the oldest overwritten
	n, at  int
	good   int

	around  Surroundings
	stirred bool // it called, or heard of a punishment, since that was asked for last
}

// hundred is how many ends Recent goes back.
const hundred = 100

// quantum is the least time between two looks for room. Calls that begin together cost one claim.
const quantum = 25 * time.Millisecond

// NewPace makes the pace of an account that is known to have gone at a rate, 0 where nothing is known.
func NewPace(now time.Time, s Settings, known float64) *Pace {
	p := &Pace{settings: s, filled: now, around: Surroundings{Time: 1}}
	if known > start && s.Base == 0 {
		p.state = State{Allowed: known, Reason: Began, Since: now}
	}
	p.tokens = 1
	return p
}

// Surround says what a rate depends on besides the calls: the ends of the last hour, in all processes, the factor of the time of
// day, and the calls under way and their bound.
func (p *Pace) Surround(a Surroundings) {
	recent := p.around.Recent
	p.around = a
	p.around.Recent = recent
}

// Flights says how many calls are under way.
func (p *Pace) Flights(n int) { p.around.InFlight = n }

// Saw notes the end of a call that took a time. A refusal may name a wait.
func (p *Pace) Saw(now time.Time, c posthouse.Class, took, wait time.Duration) {
	if now.Sub(p.stepped) >= Interval { // while an account is parked nobody asks: each end counts in its own interval
		p.step(now)
	}
	good := true
	p.stirred = true
	switch c {
	case posthouse.ClassOK, posthouse.ClassRecipient, posthouse.ClassContent, posthouse.ClassRequest:
		p.seen.OK++
		p.latency += took
	case posthouse.ClassRate:
		news := Punishes(wait) && p.state.another(now.Add(wait))
		if began := now.Add(-took); !news && p.state.knows(began) {
			p.seen.Late++
		} else {
			p.seen.Refused++
		}
		p.seen.Wait = max(p.seen.Wait, wait)
		if until := now.Add(wait); until.After(p.until) {
			p.until = until
		}
		good = false
	case posthouse.ClassTransient, posthouse.ClassUnknown:
		p.seen.Failed++
		good = false
	default: // the account's gate sees to it, or this machine is to blame
		return
	}
	p.seen.Called++
	p.end(good)
}

// end puts an end into the last hundred.
func (p *Pace) end(good bool) {
	if p.n == hundred && p.recent[p.at] {
		p.good--
	}
	if good {
		p.good++
	}
	p.recent[p.at], p.at, p.n = good, (p.at+1)%hundred, min(p.n+1, hundred)
	p.around.Recent = Ends{Good: p.good, Bad: p.n - p.good}
}

// Short says that more was waiting than the rate let through.
func (p *Pace) Short() { p.seen.Short = true }

// Free is how many calls may begin now, and where none may, when to look again.
func (p *Pace) Free(now time.Time) (calls int, next time.Time) {
	f := p.Factors(now)
	if dt := now.Sub(p.filled).Seconds(); dt > 0 {
		burst := Interval // that a late look makes up for
		if now.Before(p.state.Held) {
			burst = quantum // one call too many is a punishment: what a stall kept back is not sent beside what is due
		}
		p.tokens = min(p.tokens+dt*f.Rate, max(1, f.Rate*burst.Seconds()))
		p.filled = now
	}
	switch {
	case !f.Parked.IsZero():
		return 0, f.Parked
	case p.tokens >= 1:
		return int(p.tokens), now
	case f.Rate <= 0:
		return 0, now.Add(Interval)
	}
	return 0, now.Add(max(quantum, time.Duration((1-p.tokens)/f.Rate*float64(time.Second))+time.Microsecond))
}

// Spend counts calls that begin. An account that begins all it may is short of room.
func (p *Pace) Spend(calls int) {
	p.tokens -= float64(calls)
	p.stirred = true
	if p.tokens < 1 {
		p.Short()
	}
}

// Stirred reports whether calls began or ended, or a punishment was heard of, since it was asked last. All else that a rate depends on
// moves where nobody sends too.
func (p *Pace) Stirred() bool {
	was := p.stirred
	p.stirred = false
	return was
}

// Punished is the rate that was learned from a punishment which was seen last.
func (p *Pace) Punished(now time.Time) float64 {
	p.step(now)
	return p.state.Learned
}

// Heard notes that another process was punished until a time, at that rate of its own. What this one sent of late was
// its part of too much; one that has sent nothing yet goes on where the other was. What is known is heard of again from the database.
func (p *Pace) Heard(now, until time.Time, learned float64) {
	if !until.Add(Hold).After(now) || !p.state.another(until) {
		return
	}
	p.step(now)
	p.stirred = true
	p.state.Parked = until
	if p.n > 0 {
		p.state.refuse(now, Seen{Refused: 1, Wait: max(punishment, until.Sub(now))}, p.state.past.last(now, time.Second))
	} else {
		p.state.Learned = max(learned, floor)
		p.state.Allowed = p.state.Learned
		p.state.become(now, Punished)
	}
	p.state.Held = until.Add(Hold)
	p.tokens = min(p.tokens, 1)
}

// Factors are the rate as it is now. It is stepped where an interval has passed.
func (p *Pace) Factors(now time.Time) Factors {
	if now.Sub(p.stepped) >= Interval {
		p.step(now)
	}
	return p.state.Factors(now, p.settings, p.around)
}

// atOnce bounds the intervals that are made up for at one look: more have passed only where nobody asked.
const atOnce = 20

// step makes up for all intervals since the last look. A slow account is looked at once a call: in each interval between
// it waited for its rate, if it did at the last look.
func (p *Pace) step(now time.Time) {
	if p.seen.OK > 0 {
		p.seen.Latency = p.latency / time.Duration(p.seen.OK)
	}
	if !p.until.After(now) { // what was seen just before nobody asked for long does not wait anew
		p.seen.Wait = 0
	}
	missed := int(now.Sub(p.stepped)/Interval) - 1
	if p.stepped.IsZero() || !p.seen.Short {
		missed = 0
	}
	for i := min(missed, atOnce); i > 0; i-- {
		p.state = p.state.Step(now.Add(-time.Duration(i)*Interval), Seen{Short: true}, p.settings)
	}
	p.state = p.state.Step(now, p.seen, p.settings)
	p.seen, p.latency, p.stepped = Seen{}, 0, now
}
