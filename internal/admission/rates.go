package admission

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/work"
)

// rates hold each account to its learned rate. A call is spent when it begins; what is reserved for calls of a claim that is being made
// is kept from others.
type rates struct {
	counter // of calls that are reserved
	c       *Channel
	paces   []*rate.Pace // by account; nil until it has something to send
	time    float64      // the factor of the time of day
}

func (s *rates) scope() scope { return ofAccount }

// pace is an account's, made when it has something to send first. Nil where the channel has none.
func (s *rates) pace(a *Account, now time.Time) *rate.Pace {
	if a.rate == nil {
		return nil
	}
	if s.paces[a.place] == nil {
		hour, best := s.c.of.Ends(a.Name)
		p := rate.NewPace(now, rate.Settings{Base: a.rate.Base}, best)
		p.Surround(rate.Surroundings{Hour: hour, Room: s.c.Settings.MaxInflight, Time: s.time})
		s.paces[a.place] = p
		g := s.c.gates[a.Name].Gate
		s.heard(a, &g, now)
	}
	p := s.paces[a.place]
	p.Flights(a.underWay)
	return p
}

// heard tells an account's pace of a punishment that its gate remembers.
func (s *rates) heard(a *Account, g *work.Gate, now time.Time) {
	if p := s.paces[a.place]; p != nil && g.Learned > 0 {
		p.Heard(now, g.Until, g.Learned)
	}
}

// punished is what an account bears that was punished, in calls a second of this process; 0 where it was not, or has no rate.
func (s *rates) punished(a *Account, res channel.Result, now time.Time) float64 {
	p := s.paces[a.place]
	if p == nil || res.Class != posthouse.ClassRate || !rate.Punishes(res.After) {
		return 0
	}
	return p.Punished(now)
}

// Free is Stage's. Somebody who asks, and finds nothing, is short.
func (s *rates) Free(now time.Time, of Of) (Room, time.Time) {
	p := s.pace(of.Account, now)
	if p == nil {
		return everything, time.Time{}
	}
	calls, next := p.Free(now)
	if calls == 0 {
		p.Short()
		return Room{}, next
	}
	return Room{unbounded, calls - s.at(of).Calls}, time.Time{}
}

// Begin is Stage's.
func (s *rates) Begin(now time.Time, of Of, n Room, _ time.Duration) {
	s.counter.Return(of, n)
	if p := s.pace(of.Account, now); p != nil && n.Calls > 0 {
		p.Spend(n.Calls)
	}
}

// End is Stage's. How many may be under way at once says nothing of how many a second.
func (s *rates) End(now time.Time, of Of, e Ended) {
	if e.Answer == nil || e.Answer.AtOnce != "" {
		return
	}
	if p := s.pace(of.Account, now); p != nil {
		p.Saw(now, e.Answer.Class, e.Answer.Took, e.Answer.After)
	}
}

// Why is Stage's: the rates of all accounts that may send a delivery let nothing start, by the one that may first.
func (s *rates) Why(now time.Time, q *Question) []Wait {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	var first Wait
	for _, a := range s.c.crew(q.lane().Pin) {
		p := s.pace(a, now)
		if p == nil {
			return nil
		}
		calls, next := p.Free(now)
		if calls > 0 {
			return nil
		}
		if first.Cause != "" && !next.Before(first.Until) {
			continue
		}
		f := p.Factors(now)
		first = Wait{"rate", fmt.Sprintf("its account may make %.3g calls a second: base %.3g × health %.2f × success %.2f × load %.2f × time %.2f (%s since %s)",
			f.Rate, f.Base, f.Health, f.Success, f.Load, f.Time, f.Reason, f.Since.UTC().Format(time.RFC3339)), next}
	}
	if first.Cause == "" {
		return nil
	}
	return []Wait{first}
}

// Rated reports whether some account has a rate.
func (c *Channel) Rated() bool { return c.rated }

// TimeFactor is that of the time of day, as it was set last.
func (c *Channel) TimeFactor() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rates.time
}

// Surround takes over what all processes have seen, and the factor of the time of day.
func (c *Channel) Surround(factor float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rates.time = factor
	for _, a := range c.crew("") {
		if p := c.rates.paces[a.place]; p != nil {
			hour, _ := c.of.Ends(a.Name)
			p.Surround(rate.Surroundings{Hour: hour, Room: c.Settings.MaxInflight, Time: factor})
		}
	}
}

// Rates are those of the accounts that have sent, in the order of the accounts.
func (c *Channel) Rates(now time.Time) []posthouse.Rate {
	return c.ratesOf(now, func(*rate.Pace) bool { return true })
}

// Stirred are the rates of the accounts that have called, or heard of a punishment, since they were asked for last.
func (c *Channel) Stirred(now time.Time) []posthouse.Rate {
	return c.ratesOf(now, (*rate.Pace).Stirred)
}

func (c *Channel) ratesOf(now time.Time, wanted func(*rate.Pace) bool) (list []posthouse.Rate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.crew("") {
		if p := c.rates.paces[a.place]; p != nil && wanted(p) {
			p.Flights(a.underWay)
			f := p.Factors(now)
			f.Account = a.Name
			list = append(list, f)
		}
	}
	return list
}

// MostShared is how many deliveries of different messages may share a call of an account.
func (c *Channel) MostShared(now time.Time, account string, of posthouse.ContentType) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	performance := 1.0
	if p := c.rates.paces[c.account(account).place]; p != nil {
		f := p.Factors(now)
		performance = f.Success * f.Health
	} else if hour, _ := c.of.Ends(account); hour.Good+hour.Bad > 0 {
		performance = float64(hour.Good) / float64(hour.Good+hour.Bad)
	}
	return batchSize(of, performance, c.Settings.Batch)
}
