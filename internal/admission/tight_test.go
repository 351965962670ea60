package admission

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
)

// bucketed answers asks as a limiter with one window for all, and one for each account, does: in their order. Tokens come as time goes by.
type bucketed struct {
	all  float64
	each map[string]float64
}

func (b *bucketed) fill(all, each float64, names []string) {
	b.all = min(b.all+all/10, all)
	for _, name := range names {
		b.each[name] = min(b.each[name]+each/10, each)
	}
}

func (b *bucketed) take(r *Reservation, asks []limit.Ask) []limit.Grant {
	grants := make([]limit.Grant, len(asks))
	for i, a := range asks {
		name := r.parts[i].account.Name
		n := min(a.Want, int(b.all), int(b.each[name]))
		grants[i] = limit.Grant{N: n, Wait: 50 * time.Millisecond, Key: r.c.accountKey(r.parts[i].account)}
		if int(b.all) == 0 {
			grants[i].Key = r.c.Key.LimitKey()
		}
		b.all -= float64(n)
		b.each[name] -= float64(n)
	}
	return grants
}

// FLEET-10: a channel with several accounts shares a tight limit by the weights of what waits, whether it is the limit of all or of each
// account, and from the first second on. Where a priority has nothing to send, the others have what it leaves.
func TestPrioritiesOfAFleetShareATightLimit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		accounts  int
		all, each float64 // a second
	}{
		"the channel's, two accounts":       {2, 20, 1000},
		"the channel's, twenty accounts":    {20, 20, 1000},
		"each account's, two accounts":      {2, 1e6, 5},
		"each account's, twenty accounts":   {20, 1e6, 5},
		"unlike accounts under a channel's": {5, 50, 20},
	} {
		for _, absent := range []posthouse.Priority{"", posthouse.High, posthouse.Low} {
			t.Run(fmt.Sprint(name, " without ", absent), func(t *testing.T) {
				t.Parallel()
				sent := tightly(test.accounts, test.all, test.each, absent)
				weights, sum, all := map[posthouse.Priority]int{posthouse.High: 6, posthouse.Normal: 3, posthouse.Low: 1}, 0, 0
				delete(weights, absent)
				for p, w := range weights {
					sum, all = sum+w, all+sent[p]
				}
				if want := min(test.all, test.each*float64(test.accounts)) * 60; float64(all) < 0.95*want {
					t.Errorf("%d were sent in a minute, want nearly %.0f", all, want)
				}
				for p, w := range weights {
					if got, want := 100*float64(sent[p])/float64(all), 100*float64(w)/float64(sum); got < want-2 || got > want+2 {
						t.Errorf("%s had %.1f %% of %d, want %.0f %%", p, got, all, want)
					}
				}
			})
		}
	}
}

// tightly sends for a minute what is endless in all priorities but one, and counts what was sent.
func tightly(accounts int, all, each float64, absent posthouse.Priority) map[posthouse.Priority]int {
	names := make([]string, accounts)
	for i := range names {
		names[i] = fmt.Sprintf("a%02d", i)
	}
	c := New(channelOf(func(ch *state.Channel) {
		ch.Settings.MaxInflight, ch.Settings.ChannelInflight = 64, 1000
		ch.Settings.Limits = []posthouse.Limit{{Max: int(all), Per: posthouse.Duration(time.Second)}}
	}, names...), Options{})
	limiter := bucketed{each: map[string]float64{}}
	sent := map[posthouse.Priority]int{}
	for tick := range 600 {
		now := midnight.Add(time.Duration(tick) * 100 * time.Millisecond)
		limiter.fill(all, each, names)
		for range 5 { // looks until nothing may begin
			list, _ := c.Reserve(now)
			if len(list) == 0 {
				break
			}
			c.Share(list)
			none, seats := 0, []*Seat(nil)
			for _, res := range list {
				if _, nothing := res.Grant(now, limiter.take(res, res.Asks())); nothing {
					none++
					res.Close()
					continue
				}
				parts, _, cut := res.Claim(0)
				f := Finding{Given: make([]Given, len(parts)), Cut: cut}
				if p := res.Lanes()[0].Priority; p != absent {
					for i, part := range parts {
						f.Given[i] = Given{N: part.Max, Calls: part.Max}
						for range part.Max {
							seats = append(seats, res.Begin(now, 0, part.Account, 1, 0))
						}
						sent[p] += part.Max
					}
				}
				res.Found(0, parts, f)
				res.Close()
			}
			for _, s := range seats {
				s.End(now, 0)
			}
			if none == len(list) {
				break
			}
		}
		for _, p := range posthouse.Priorities() {
			if p != absent {
				c.Mark(Lane{Priority: p})
			}
		}
	}
	return sent
}
