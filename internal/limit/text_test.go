package limit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/posthouse/posthouse"
	"pgregory.net/rapid"
)

var sameState = []cmp.Option{cmp.AllowUnexported(State{}, window{}, run{}), cmpopts.EquateEmpty()}

// reread writes a state and reads it again.
func reread(s *State) (State, []byte, error) {
	text, err := s.MarshalText()
	if err != nil {
		return State{}, nil, err
	}
	var read State
	err = read.UnmarshalText(text)
	return read, text, err
}

func TestTextKeepsTheState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s State
		now := noon
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			limits := drawLimits(t)
			for range rapid.IntRange(0, 40).Draw(t, "calls") {
				now = now.Add(drawStep(t, limits))
				s.Take(now, limits, drawWant(t))
			}
		}
		read, text, err := reread(&s)
		if err != nil {
			t.Fatalf("read %q: %v", text, err)
		}
		s.touched, s.granted = false, s.latest // what is read is as it was written, by a grant
		if diff := cmp.Diff(s, read, sameState...); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestTextOfFourFullWindowsIsAbout1500Bytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limits []posthouse.Limit
		want   int // at once, the same in each window
		most   int // bytes
	}{
		{[]posthouse.Limit{per(500, time.Second), per(20_000, time.Minute), per(1_000_000, time.Hour), per(20_000_000, 24*time.Hour)}, 4, 1500},
		{[]posthouse.Limit{per(1, 3*time.Second), per(18, time.Minute), per(1000, time.Hour), per(10_000, 24*time.Hour)}, 1, 1000},
		{[]posthouse.Limit{per(100, time.Second), per(100, time.Minute), per(100, time.Hour), per(100, 24*time.Hour)}, 1, 2200},
	} {
		t.Run(fmt.Sprint(c.limits), func(t *testing.T) {
			t.Parallel()
			if got := longestText(t, c.limits, c.want); got < 500 || got > c.most {
				t.Errorf("at most %d bytes, want 500 to %d", got, c.most)
			}
		})
	}
}

// longestText fills the longest window evenly, then the next shorter one, and so on.
func longestText(t *testing.T, limits []posthouse.Limit, want int) int {
	var s State
	now, longest := noon, 0
	for _, l := range slices.Backward(limits) {
		for range 110 {
			now = now.Add(l.Per.Std() / 110)
			s.Take(now, limits, want)
			text, err := s.MarshalText()
			if err != nil {
				t.Fatal(err)
			}
			longest = max(longest, len(text))
		}
	}
	return longest
}

func TestTextIsReadOrRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"only a time", "aAA", ""},
		{"another format", "bAA", `it does not begin with "a"`},
		{"json", `{"latest":1}`, `it does not begin with "a"`},
		{"no time", "a", errBounds.Error()},
		{"cut off", "aAAo", errBounds.Error()},
		{"not base64", "a!!", "illegal base64 data at input byte 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := State{latest: 7}
			err := s.UnmarshalText([]byte(c.text))
			got := strings.TrimPrefix(fmt.Sprint(err), "read limit state: ")
			if c.want == "" {
				c.want = "<nil>"
			}
			if got != c.want {
				t.Errorf("got error %v, want %v", got, c.want)
			}
			if err != nil && s.latest != 7 {
				t.Error("the state changed though the text was refused")
			}
		})
	}
}

func TestTextOfAnImpossibleStateIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		window
	}{
		{"no length", window{per: 0, step: 1}},
		{"a length of years", window{per: 1 << 50, step: 1}},
		{"a step longer than the window", window{per: 10, step: 11}},
		{"runs out of order", window{per: 10, step: 1, runs: []run{{5, 1}, {4, 1}}}},
		{"two runs of one stamp", window{per: 10, step: 1, runs: []run{{5, 1}, {5, 1}}}},
		{"an empty run", window{per: 10, step: 1, runs: []run{{5, 0}}}},
		{"a count below zero", window{per: 10, step: 1, runs: []run{{5, -1}}}},
		{"too many at once", window{per: 10, step: 1, runs: []run{{5, maxMax + 1}}}},
		{"a time beyond all calendars", window{per: 10, step: 1, runs: []run{{1 << 57, 1}, {1<<58 + 1<<57, 1}}}},
		{"too many runs", window{per: 10, step: 1, runs: make([]run, maxRuns+1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, text, err := reread(&State{latest: 1, windows: []window{c.window}}); !errors.Is(err, errBounds) {
				t.Errorf("read %q with error %v, want %v", text, err, errBounds)
			}
		})
	}
	if _, _, err := reread(&State{latest: 1, windows: slices.Repeat([]window{{per: 1, step: 1}}, maxWindows+1)}); err == nil {
		t.Errorf("read %d windows, want an error", maxWindows+1)
	}
}

// FuzzText feeds garbage to the reader: it must refuse it, or read a state that
// can be written, read and used.
func FuzzText(f *testing.F) {
	var s State
	for i := range 50 {
		s.Take(noon.Add(time.Duration(i)*time.Second), []posthouse.Limit{per(3, time.Second), per(900, time.Hour)}, 5)
	}
	text, err := s.MarshalText()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", "a", "aAA", string(text), string(text[:40]), "bAA", "{}", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s State
		if err := s.UnmarshalText([]byte(text)); err != nil {
			return
		}
		read, _, err := reread(&s)
		if err != nil {
			t.Fatal(errors.Join(errors.New("cannot read what was written"), err))
		}
		s.touched = false // what is read is as it was written
		if diff := cmp.Diff(s, read, sameState...); diff != "" {
			t.Fatal(diff)
		}
		limits := []posthouse.Limit{per(5, time.Second), per(500, time.Hour)}
		if g := s.Take(noon, limits, 10); g.N < 0 || g.N > 5 || g.Wait < 0 {
			t.Fatalf("got %+v", g)
		}
	})
}
