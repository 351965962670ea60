package admission

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/retry"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// What another process says of a gate counts, but no two ends are exchanged for the sooner one.
func TestAGateEndsWhenOthersSaySo(t *testing.T) {
	t.Parallel()
	now := midnight
	ends := func(in time.Duration) work.Gate { return work.Gate{Account: "a", Until: now.Add(in)} }
	for name, c := range map[string]struct {
		told   time.Duration // when the others could know of ours, which ends in an hour; they were asked now
		stored []work.Gate
		want   time.Duration // 0 for none
	}{
		"gone":                      {-time.Second, nil, 0},
		"not known of":              {time.Second, nil, time.Hour},
		"ends later":                {-time.Second, []work.Gate{ends(2 * time.Hour)}, 2 * time.Hour},
		"ends sooner":               {-time.Second, []work.Gate{ends(time.Minute)}, time.Hour},
		"that of before ends later": {time.Second, []work.Gate{ends(2 * time.Hour)}, 2 * time.Hour},
		"that of before is over":    {time.Second, []work.Gate{ends(time.Minute)}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			woken := false
			ch := channelOf(nil)
			c2 := New(ch, Options{Wake: func() { woken = true }})
			c2.gates["a"] = gate{Gate: ends(time.Hour), told: now.Add(c.told)}
			stored := map[string]work.Gate{}
			for _, g := range c.stored {
				stored[g.Account] = g
			}
			c2.Merge(now, now, stored)
			got := time.Duration(0)
			if g, ok := c2.gates["a"]; ok {
				got = g.Until.Sub(now)
			}
			if got != c.want || woken != (c.want == 0) {
				t.Errorf("it ends in %s, and who waits was woken: %t; want %s, and woken where it is gone", got, woken, c.want)
			}
		})
	}
}

// A refusal for going too fast that names no wait closes an account whose rate is learned for a moment, and for longer where nothing else
// comes back; one without such a rate has nothing else to slow it down.
func TestARefusalWithoutAWaitIsBriefWhereTheRateIsLearned(t *testing.T) {
	t.Parallel()
	refused := channel.Result{Class: posthouse.ClassRate}
	for name, c := range map[string]struct {
		rate *posthouse.RateSettings
		want []time.Duration // of refusals in a row, each when the gate has just opened
	}{
		"learned":     {&posthouse.RateSettings{}, []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}},
		"not learned": {nil, []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute}},
	} {
		ch := New(channelOf(func(ch *state.Channel) {
			ch.Settings.Rate, ch.Settings.Profile = c.rate, named(t, retry.Default)
		}), Options{})
		now := midnight
		for i, want := range c.want {
			g, closed := ch.Refuse(now, "", refused, 0)
			if got := g.Until.Sub(now); !closed || got != want {
				t.Errorf("%s, refusal %d: closed for %s, want %s", name, i+1, got, want)
			}
			now = g.Until
		}
		if g, _ := ch.Refuse(now, "", channel.Result{Class: posthouse.ClassRate, After: 7 * time.Second}, 0); g.Until.Sub(now) != 7*time.Second {
			t.Errorf("%s: closed for %s, want the 7 s that the provider names", name, g.Until.Sub(now))
		}
		ch.Reopen(now.Add(8*time.Second), "")
		if g, _ := ch.Refuse(now.Add(8*time.Second), "", refused, 0); g.Until.Sub(now.Add(8*time.Second)) != c.want[0] {
			t.Errorf("%s: after a success closed until %s, want %s again", name, g.Until, c.want[0])
		}
	}
}

func named(t *testing.T, name string) retry.Profile {
	t.Helper()
	p, ok := retry.Named(name)
	if !ok {
		t.Fatalf("there is no profile %s", name)
	}
	return p
}
