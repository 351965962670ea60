package rate

import (
	"math"
	"time"
)

// dip is a short while at a lower rate that tells two kinds of failing providers apart. Some say that they are busy where
// others refuse: their failures end when the rate is lower, and the limit is to be learned from them. Others fail whatever
// the rate is, and slowing down for them for good would help nobody.
type dip struct {
	open  bool
	at    time.Time
	from  float64       // the rate before it
	share float64       // of failures at that rate
	next  time.Time     // when one may be begun again to find out
	wait  time.Duration // the last one's
}

const (
	dipLasts = 1300 * time.Millisecond // a second without what was under way when it began
	dipSoon  = 3 * time.Second         // before the next, which doubles while dips tell nothing
	dipLate  = time.Minute             // at most
	dipFrom  = 0.01                    // the share of failures that is worth a dip
	dipAfter = 3                       // failures, at least, in dipSpan
	dipSpan  = 5 * time.Second
	dipBlind = 0.9 // the share of failures from which a provider is down, whatever the rate
	clearly  = 3   // times more failures before a dip than in it
)

// begin opens a dip where none is open and a provider still answers.
func (d *dip) begin(now time.Time, rate float64, seen span) {
	if d.open || seen.share(seen.failed) > dipBlind {
		return
	}
	d.open, d.at, d.from, d.share = true, now, rate, seen.share(seen.failed)
}

// over reports whether what an open dip shows can be told.
func (d *dip) over(now time.Time) bool { return d.open && now.Sub(d.at) >= dipLasts }

// wonders reports whether an account at its limit fails now and then, so that a dip is worth it.
func (s *State) wonders(now time.Time) bool {
	if s.dip.open || s.trial.at == 0 || now.Before(s.dip.next) {
		return false
	}
	of := s.past.last(now, dipSpan)
	return of.failed >= dipAfter && of.share(of.failed) >= dipFrom
}

// lower begins a dip to find out.
func (s *State) lower(now time.Time) {
	s.dip.begin(now, s.Allowed, s.past.last(now, dipLasts))
	s.Allowed, s.lastCut = max(cut*s.Allowed, floor), now
	s.become(now, Trouble)
}

// judge ends a dip. Where failures followed the rate, the limit lies below the rate before it.
func (s *State) judge(now time.Time) {
	d := &s.dip
	d.open = false
	if in := s.past.last(now, time.Second); in.called > 0 && clearly*in.share(in.failed) < d.share {
		d.next, d.wait = now.Add(dipLasts), 0
		s.Learned = max(nip*d.from, floor)
		s.trial.end(s.Learned, s.fallen())
		return
	}
	d.wait = min(max(2*d.wait, dipSoon), dipLate)
	d.next = now.Add(d.wait)
}

// busy reports whether failures began while more was tried than was known to be borne.
func (s *State) busy(now time.Time, second span) bool {
	if s.Learned > 0 && !s.trial.running() || second.failed < few || now.Sub(s.lastCut) < time.Second {
		return false
	}
	before := s.past.last(now, window*time.Second)
	before.failed, before.called = before.failed-second.failed, before.called-second.called
	share := second.share(second.failed)
	return share >= refused && share >= clearly*before.share(before.failed)
}

// fails reports whether more calls fail than chance would have of a provider that is well: the share of failed ones and two
// standard deviations, of enough calls since the last cut.
func (s *State) fails(now time.Time) bool {
	took := min(enough/max(s.Allowed, floor), window)
	d := min(max(time.Second, time.Duration(took*float64(time.Second))), now.Sub(s.lastCut))
	of := s.past.last(now, d)
	return d >= Interval && of.called > 0 && of.failed >= failed*of.called+2*math.Sqrt(failed*(1-failed)*of.called)
}
