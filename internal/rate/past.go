package rate

import "time"

// past is what was seen in each of the last seconds.
type past struct {
	first time.Time // of all
	parts [longest + 1]second
}

type second struct {
	at                          int64 // Unix
	called, ok, refused, failed int
}

func (p *past) add(now time.Time, seen Seen) {
	if p.first.IsZero() {
		p.first = now
	}
	part := &p.parts[now.Unix()%int64(len(p.parts))]
	if part.at != now.Unix() {
		*part = second{at: now.Unix()}
	}
	part.called += seen.Called
	part.ok += seen.OK
	part.refused += seen.Refused + seen.Late
	part.failed += seen.Failed
}

// span is what was seen in a time.
type span struct {
	called, ok, refused, failed float64
	seconds                     float64
}

func (s span) share(of float64) float64 {
	if s.called == 0 {
		return 0
	}
	return of / s.called
}

// rate is the accepted calls a second.
func (s span) rate() float64 { return s.ok / s.seconds }

// last sums up the time before now. The second in which it begins counts by its share.
func (p *past) last(now time.Time, d time.Duration) span {
	from := now.Add(-d)
	sum := span{seconds: d.Seconds()}
	for i := range p.parts {
		part := &p.parts[i]
		share := 1.0
		switch {
		case part.at < from.Unix() || part.at > now.Unix():
			continue
		case part.at == from.Unix():
			share = 1 - float64(from.Nanosecond())/1e9
		}
		sum.called += share * float64(part.called)
		sum.ok += share * float64(part.ok)
		sum.refused += share * float64(part.refused)
		sum.failed += share * float64(part.failed)
	}
	return sum
}

// accepted is how many calls a second a provider accepted of late: over a second or, of an account that is slower, over as
// long as it takes to have some.
func (p *past) accepted(now time.Time, rate float64) float64 {
	seconds := 1.0
	if rate < enough {
		seconds = min(enough/max(rate, floor), longest)
	}
	seconds = max(1, min(seconds, now.Sub(p.first).Seconds()))
	return p.last(now, time.Duration(seconds*float64(time.Second))).rate()
}
