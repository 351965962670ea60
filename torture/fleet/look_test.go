package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
)

// blur is how much closer to each other messages may arrive than their permits were given, on a busy machine.
const blur = 500 * time.Millisecond

// findings are what the provider's journal says of the accounts.
type findings struct {
	accounts          int // that sent
	over              int // messages that came beyond a configured window
	dropped           int // that a member never sees
	punished, strong  int // accounts; strong ones bear what is configured
	twice             int // accounts punished twice within an hour
	refused, messages int
}

func (f *findings) refusedShare() float64 {
	return 100 * float64(f.refused) / float64(max(f.messages, 1))
}

// look goes through the arrivals of all accounts.
func look(arrivals []simulator.Arrival, s size) findings {
	f := findings{messages: len(arrivals)}
	by := map[string][]simulator.Arrival{}
	for _, a := range arrivals {
		by[a.Account] = append(by[a.Account], a)
		if a.Code == simulator.TooFast && a.Answer != simulator.Refused {
			f.dropped++
		}
	}
	delete(by, "")
	f.accounts = len(by)
	for account, list := range by {
		slices.SortFunc(list, func(a, b simulator.Arrival) int { return a.At.Compare(b.At) })
		all, marked := timesOf(list, ""), timesOf(list, markdown)
		for _, w := range s.windows {
			f.over += beyond(all, w)
		}
		for _, w := range s.markdown {
			f.over += beyond(marked, w)
		}
		times, refused := punishments(list)
		f.refused += refused
		if times > 0 {
			f.punished++
			if strings.HasPrefix(account, strongAgents) {
				f.strong++
			}
		}
		if times > 1 {
			f.twice++
		}
	}
	return f
}

// timesOf are when those arrived whose text begins with a word, the refused ones too: they cost a permit all the same.
func timesOf(list []simulator.Arrival, begin string) (at []time.Time) {
	for i := range list {
		if strings.HasPrefix(list[i].Text, begin) {
			at = append(at, list[i].At)
		}
	}
	return at
}

// beyond counts those that came although a window was full.
func beyond(at []time.Time, w posthouse.Limit) (over int) {
	for i := w.Max; i < len(at); i++ {
		if at[i].Sub(at[i-w.Max]) < w.Per.Std()-blur {
			over++
		}
	}
	return over
}

// punishments counts how often an account was locked out, for a minute the first time, and how many of its messages were
// refused. A run takes less than an hour.
func punishments(list []simulator.Arrival) (times, refused int) {
	var until time.Time
	for i := range list {
		if list[i].Answer != simulator.Refused || list[i].Code != simulator.TooFast {
			continue
		}
		refused++
		if list[i].At.Before(until) {
			continue
		}
		times++
		until = list[i].At.Add(time.Minute)
		if times > 1 {
			until = list[i].At.Add(time.Hour)
		}
	}
	return times, refused
}

// What the long run must not find is found where it is.
func TestTheJournalShowsWhatIsWrong(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	s := size{windows: []posthouse.Limit{per(2, 2*time.Second)}, markdown: []posthouse.Limit{per(1, 10*time.Second)}}
	var list []simulator.Arrival
	come := func(after time.Duration, account, text string, answer simulator.Answer, code simulator.Code) {
		list = append(list, simulator.Arrival{At: start.Add(after), Account: account, Text: text, Answer: answer, Code: code})
	}
	for i := range 3 {
		come(time.Duration(i)*time.Second, "1001", "x", simulator.Accepted, "")          // two in two seconds
		come(time.Duration(i)*700*time.Millisecond, "1002", "x", simulator.Accepted, "") // three in 1.4: one too many
	}
	come(20*time.Second, "1003", markdown, simulator.Accepted, "")
	come(25*time.Second, "1003", markdown, simulator.Accepted, "")           // one too many
	come(30*time.Second, "1001", "x", simulator.Accepted, simulator.TooFast) // dropped
	for _, at := range []time.Duration{time.Second, 40 * time.Second, 62 * time.Second} {
		come(at+10*time.Minute, "1004", "x", simulator.Refused, simulator.TooFast) // the third one is a second punishment
	}
	come(30*time.Minute, "9005", "x", simulator.Refused, simulator.TooFast)
	got := look(list, s)
	if want := (findings{accounts: 5, over: 2, dropped: 1, punished: 2, strong: 1, twice: 1, refused: 4, messages: len(list)}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// busiest tells how many calls each account has made, those with the most first: one that has used up its hour waits for the
// next, and nothing moves meanwhile.
func busiest(arrivals []simulator.Arrival) string {
	calls := map[string]int{}
	for _, a := range arrivals {
		calls[a.Account]++
	}
	names := slices.Collect(maps.Keys(calls))
	slices.SortFunc(names, func(a, b string) int { return calls[b] - calls[a] })
	text := "calls by account:"
	for _, name := range names {
		text += fmt.Sprintf(" %s=%d", name, calls[name])
	}
	return text
}
