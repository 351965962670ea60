package admission

import (
	"fmt"
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
)

// lane is a backlog in which a message says what the script gives at its place, empty for something of its own.
type lane struct {
	c            *Channel
	says         func(i int) string
	waits        []int // numbers of messages that went back
	next         int
	calls, in    int // calls of it, and messages that were in them
	vain, claims int // messages that went back, and claims
}

// claim claims of the lane for one account with so many calls.
func (l *lane) claim(calls int) {
	asked := Portion{Max: 1000, Calls: calls, Messages: l.c.sharing[Lane{Priority: posthouse.Normal}].messages(calls)}
	claimed := l.waits[:min(asked.Messages, len(l.waits))]
	l.waits = slices.Clone(l.waits[len(claimed):])
	for len(claimed) < asked.Messages {
		claimed, l.next = append(claimed, l.next), l.next+1
	}
	open, n, room := map[string]int{}, 0, map[int]int{} // the last call of each text, the calls, and the messages in each
	var back []int
	for _, i := range claimed {
		says := l.says(i)
		call, is := open[says]
		if !is || says == "" || room[call] == 50 {
			call, n = n, n+1
			open[says] = call
		}
		if room[call]++; call >= calls {
			back = append(back, i)
		}
	}
	l.waits = append(back, l.waits...)
	given := Given{Calls: min(n, calls), Brought: Brought{Messages: len(claimed), Calls: n, Most: 50, Carried: len(claimed) - len(back), Accounts: 1}}
	l.vain, l.claims = l.vain+len(back), l.claims+1
	l.calls, l.in = l.calls+given.Calls, l.in+len(claimed)-len(back)
	l.c.learn(Lane{Priority: posthouse.Normal}, []Portion{asked}, []Given{given}, true)
}

// taking is a text of so many that take turns.
func taking(texts int) func(int) string {
	return func(i int) string { return fmt.Sprint("text ", i%texts) }
}

func own(int) string { return "" }

// most is a lane of which so many messages in ten say the same, and each other one something of its own.
func most(same int) func(int) string {
	return func(i int) string {
		if i*7%10 < same {
			return "the same"
		}
		return ""
	}
}

func TestClaimsBringWhatTheirCallsCarry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		says  func(int) string
		calls int
		mean  float64 // messages a call, at least
		vain  float64 // in vain for each that was sent, at most
	}{
		"all say the same":                  {taking(1), 16, 49, 0.02},
		"all say the same, one call":        {taking(1), 1, 47, 0.02},
		"two texts take turns, one call":    {taking(2), 1, 45, 1.1},
		"ten texts take turns, five calls":  {taking(10), 5, 40, 1.1},
		"forty texts take turns, 20 calls":  {taking(40), 20, 20, 1.1},
		"six in ten, many calls":            {most(6), 16, 2.1, 3},
		"each says something of its own":    {own, 16, 1, 0.02},
		"each something of its own, a call": {own, 1, 1, 0.02},
		"a hundred texts, one call":         {taking(100), 1, 1, 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &lane{c: New(channelOf(nil), Options{}), says: test.says}
			for range 2000 {
				l.claim(test.calls)
			}
			if mean := float64(l.in) / float64(l.calls); mean < test.mean {
				t.Errorf("%.2f messages a call in 2000 claims, want %v", mean, test.mean)
			}
			if vain := float64(l.vain) / float64(l.in); vain > test.vain {
				t.Errorf("%.3f messages were claimed in vain for each of %d, want at most %v", vain, l.in, test.vain)
			}
		})
	}
}

// Where what waits says the same no more, that is known after one claim.
func TestSharingIsForgottenAtOnce(t *testing.T) {
	t.Parallel()
	l := &lane{c: New(channelOf(nil), Options{}), says: taking(1)}
	for range 20 {
		l.claim(4)
	}
	l.says, l.vain = own, 0
	for range 1000 {
		l.claim(4)
	}
	if l.vain > 8*50 {
		t.Errorf("%d were claimed in vain after nothing said the same, want those of a few claims", l.vain)
	}
	if s := l.c.sharing[Lane{Priority: posthouse.Normal}]; s.messages(4) != 4 {
		t.Errorf("%d messages are claimed for 4 calls", s.messages(4))
	}
	l.c.learn(Lane{Priority: posthouse.Low}, []Portion{{Max: 9, Calls: 2}}, []Given{{Brought: Brought{Messages: 2, Calls: 2, Most: 50, Carried: 2}}}, false)
	if _, kept := l.c.sharing[Lane{Priority: posthouse.Low}]; kept {
		t.Error("something is remembered of a lane that is empty")
	}
}
