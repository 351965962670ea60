package admission

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
	*fleet
	free  map[string]int
	shut  map[string]time.Time
	asked map[string]int // how often each was looked at
	now   time.Time
}

func newYard(accounts ...Account) *yard {
	y := &yard{free: map[string]int{}, shut: map[string]time.Time{}, asked: map[string]int{}, now: time.Unix(1000, 0)}
	var list []*Account
	for i := range accounts {
		list = append(list, &accounts[i])
		y.free[accounts[i].Name] = 1000
	}
	y.fleet = newFleet(list)
	return y
}

func (y *yard) lane(time.Time, Lane) (Room, time.Time) { return everything, time.Time{} }

func (y *yard) account(now time.Time, a *Account, _ Lane, _ Room) (Room, Stage, time.Time) {
	y.asked[a.Name]++
	if until := y.shut[a.Name]; now.Before(until) {
		return Room{}, nil, until
	}
	return Room{y.free[a.Name], y.free[a.Name]}, nil, time.Time{}
}

// pick claims one of what is next, and says of which pin and by which account.
func (y *yard) pick() string {
	pick, wake := y.next(y.now, everything, y)
	switch {
	case pick.account != nil:
		y.took(pick.account, 1)
		l := pick.lanes[0]
		return fmt.Sprintf("%s%s by %s", l.Pin, map[posthouse.Priority]string{posthouse.High: "!"}[l.Priority], pick.account.Name)
	case wake.IsZero():
		return "nothing"
	}
	return fmt.Sprintf("nothing for %s", wake.Sub(y.now))
}

func (y *yard) picks(n int) map[string]int {
	counts := map[string]int{}
	for range n {
		y.mark(Lane{Priority: posthouse.Normal})
		counts[y.pick()]++
	}
	return counts
}

func TestAccountsShareByTheirWeights(t *testing.T) {
	t.Parallel()
	y := newYard(Account{Name: "a"}, Account{Name: "b"}, Account{Name: "heavy", Weight: 3})
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
	y := newYard(Account{Name: "a"}, Account{Name: "b"})
	y.shut["a"] = y.now.Add(time.Hour)
	for range 1000 {
		y.mark(Lane{work.ByAccount("a"), posthouse.High})
		y.mark(Lane{work.ByAccount("b"), posthouse.Low})
		if got := y.pick(); got != "=b by b" {
			t.Fatalf("the sibling of a parked account was not chosen: %s", got)
		}
	}
	if asked := y.asked["a"]; asked != 1 {
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
	y := newYard(Account{Name: "a", Pools: []string{"vip"}}, Account{Name: "b"})
	y.free["a"] = 0
	y.mark(Lane{work.ByAccount("a"), posthouse.Normal})
	y.mark(Lane{work.ByPool("vip"), posthouse.Normal})
	y.mark(Lane{work.ByAccount("gone"), posthouse.Normal})
	if got := y.pick(); got != "nothing" {
		t.Errorf("got %s", got)
	}
	y.free["a"] = 1
	y.freed(y.accounts["a"])
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
			list := make([]Account, n)
			for i := range list {
				list[i].Name = fmt.Sprintf("a%05d", i)
			}
			y := newYard(list...)
			for b.Loop() {
				y.mark(Lane{Priority: posthouse.Normal})
				y.pick()
			}
		})
	}
}
