package admission

import (
	"testing"

	"github.com/posthouse/posthouse"
)

// lane is a backlog of which so many messages in ten say the same, and each other one something of its own.
type lane struct {
	c            *Channel
	same         int
	calls, in    int // calls of it, and messages that were in them
	vain, claims int // messages that went back, and claims
}

// claim claims of the lane for one account with so many calls.
func (l *lane) claim(calls int) {
	asked := Portion{Max: 1000, Calls: calls, Messages: l.c.sharing[Lane{Priority: posthouse.Normal}].messages(calls)}
	alike := asked.Messages * l.same / 10
	needs := asked.Messages - alike + (alike+49)/50
	given := Given{Calls: min(needs, calls), Brought: Brought{Messages: asked.Messages, Calls: needs, Most: 50, Accounts: 1}}
	l.vain, l.claims = l.vain+max(0, needs-calls), l.claims+1
	l.calls, l.in = l.calls+given.Calls, l.in+asked.Messages-max(0, needs-calls)
	l.c.learn(Lane{Priority: posthouse.Normal}, []Portion{asked}, []Given{given}, true)
}

func TestClaimsBringWhatTheirCallsCarry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		same, calls int
		mean        float64 // messages a call, at least
	}{
		"all say the same":                  {10, 16, 49},
		"all say the same, one call":        {10, 1, 47},
		"six in ten, many calls":            {6, 16, 2.1},
		"each says something of its own":    {0, 16, 1},
		"each something of its own, a call": {0, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &lane{c: New(channelOf(nil), Options{}), same: test.same}
			for range 1000 {
				l.claim(test.calls)
			}
			if mean := float64(l.in) / float64(l.calls); mean < test.mean {
				t.Errorf("%.2f messages a call in 1000 claims, want %v", mean, test.mean)
			}
			if most := l.in * 2 / 100; l.vain > most {
				t.Errorf("%d of %d messages were claimed in vain, want at most %d", l.vain, l.in, most)
			}
		})
	}
}

// Where what waits says the same no more, that is known after one claim.
func TestSharingIsForgottenAtOnce(t *testing.T) {
	t.Parallel()
	l := &lane{c: New(channelOf(nil), Options{}), same: 10}
	for range 20 {
		l.claim(4)
	}
	l.same, l.vain = 0, 0
	for range 1000 {
		l.claim(4)
	}
	if l.vain > 4*50 {
		t.Errorf("%d were claimed in vain after nothing said the same, want those of one claim", l.vain)
	}
	if s := l.c.sharing[Lane{Priority: posthouse.Normal}]; s.messages(4) != 4 {
		t.Errorf("%d messages are claimed for 4 calls", s.messages(4))
	}
	l.c.learn(Lane{Priority: posthouse.Low}, []Portion{{Max: 9, Calls: 2}}, []Given{{Brought: Brought{Messages: 2, Calls: 2, Most: 50, Accounts: 1}}}, true)
	if _, kept := l.c.sharing[Lane{Priority: posthouse.Low}]; kept {
		t.Error("something is remembered of a lane that shares nothing")
	}
}
