package fleet

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// yard is a fleet whose accounts have so many free slots, or are shut until a time.
type yard struct {
	*Fleet
	free map[string]int
	shut map[string]time.Time
	now  time.Time
}

func newYard(seats ...Seat) *yard {
	y := &yard{free: map[string]int{}, shut: map[string]time.Time{}, now: time.Unix(1000, 0)}
	var list []*Seat
	for i := range seats {
		list = append(list, &seats[i])
		y.free[seats[i].Name] = 1000
	}
	y.Fleet = New(list)
	return y
}

// pick claims one of what is next, and says of which pin and by which account.
func (y *yard) pick() string {
	pick, wake := y.Next(y.now, everyPriority, func(a *Seat) (int, time.Time) {
		if until := y.shut[a.Name]; y.now.Before(until) {
			return 0, until
		}
		return y.free[a.Name], time.Time{}
	})
	switch {
	case pick.By != nil:
		y.Took(pick.By, 1)
		return fmt.Sprintf("%s%s by %s", pick.Pin, map[posthouse.Priority]string{posthouse.High: "!"}[pick.Priority], pick.By.Name)
	case wake.IsZero():
		return "nothing"
	}
	return fmt.Sprintf("nothing for %s", wake.Sub(y.now))
}

func (y *yard) picks(n int) map[string]int {
	counts := map[string]int{}
	for range n {
		y.Rouse("", posthouse.Normal)
		counts[y.pick()]++
	}
	return counts
}

func TestAccountsShareByTheirWeights(t *testing.T) {
	t.Parallel()
	y := newYard(Seat{Name: "a"}, Seat{Name: "b"}, Seat{Name: "heavy", Weight: 3})
	if diff := cmp.Diff(map[string]int{" by a": 20, " by b": 20, " by heavy": 60}, y.picks(100)); diff != "" {
		t.Errorf("of 100 (-want +got):\n%s", diff)
	}
	y.shut["heavy"] = y.now.Add(time.Minute)
	if diff := cmp.Diff(map[string]int{" by a": 50, " by b": 50}, y.picks(100)); diff != "" {
		t.Errorf("while one is parked (-want +got):\n%s", diff)
	}
	y.now = y.now.Add(2 * time.Minute)
	if got := y.picks(10)[" by heavy"]; got > 7 {
		t.Errorf("the account that came back took %d of 10: it makes up for its absence", got)
	}
}

// What waits for a parked account is passed over once and costs nothing more, and its sibling goes on.
func TestWhatIsPinnedToAParkedAccountSleeps(t *testing.T) {
	t.Parallel()
	y := newYard(Seat{Name: "a"}, Seat{Name: "b"})
	y.shut["a"] = y.now.Add(time.Hour)
	asked := 0
	for range 1000 {
		y.Rouse(work.ByAccount("a"), posthouse.High)
		y.Rouse(work.ByAccount("b"), posthouse.Low)
		pick, _ := y.Next(y.now, everyPriority, func(a *Seat) (int, time.Time) {
			if a.Name == "a" {
				asked++
			}
			return y.free[a.Name] * (len(a.Name) - 1 + map[string]int{"b": 1}[a.Name]), y.shut[a.Name]
		})
		if pick.By == nil || pick.By.Name != "b" {
			t.Fatal("the sibling of a parked account was not chosen")
		}
	}
	if asked != 1 {
		t.Errorf("the parked account was looked at %d times, want once", asked)
	}
	if got := y.pick(); got != "nothing for 1h0m0s" {
		t.Errorf("got %s", got)
	}
	y.now = y.now.Add(time.Hour)
	if got := y.pick(); got != "=a! by a" {
		t.Errorf("when it is parked no more: %s", got)
	}
}

func TestAFullAccountIsWokenByASlot(t *testing.T) {
	t.Parallel()
	y := newYard(Seat{Name: "a", Pools: []string{"vip"}}, Seat{Name: "b"})
	y.free["a"] = 0
	y.Rouse(work.ByAccount("a"), posthouse.Normal)
	y.Rouse(work.ByPool("vip"), posthouse.Normal)
	y.Rouse(work.ByAccount("gone"), posthouse.Normal)
	if got := y.pick(); got != "nothing" {
		t.Errorf("got %s", got)
	}
	y.free["a"] = 1
	y.Freed(y.seats["a"])
	got := map[string]bool{y.pick(): true, y.pick(): true}
	if !got["=a by a"] || !got["~vip by a"] {
		t.Errorf("got %v, want what waited for the account and for its pool", got)
	}
	if got := y.pick(); got != "nothing" {
		t.Errorf("what is pinned to an account that is gone: %s", got)
	}
}

// 10,000 idle accounts are entries in memory: what a claim costs does not depend on them.
func BenchmarkChoiceOfAnAccount(b *testing.B) {
	for _, n := range []int{1, 500, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			list := make([]Seat, n)
			for i := range list {
				list[i].Name = fmt.Sprintf("a%05d", i)
			}
			y := newYard(list...)
			for b.Loop() {
				y.Rouse("", posthouse.Normal)
				y.pick()
			}
		})
	}
}

func everyPriority(posthouse.Priority) bool { return true }
