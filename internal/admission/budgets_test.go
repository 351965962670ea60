package admission

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// drain sends by a channel all that may begin now, of lanes that never end, and counts it by account and priority.
func drain(t *testing.T, c *Channel, limiter limit.Limiter, lanes ...Lane) map[string]int {
	t.Helper()
	sent := map[string]int{}
	for range 200 {
		for _, l := range lanes {
			c.Mark(l)
		}
		list, _ := c.Reserve(time.Now())
		if len(list) == 0 {
			return sent
		}
		for _, r := range list {
			if asks := r.Asks(); asks != nil {
				grants, err := limiter.Each(t.Context(), asks)
				if err != nil {
					t.Fatal(err)
				}
				if _, none := r.Grant(time.Now(), grants); none {
					r.Close()
					continue
				}
			}
			var seats []*Seat
			for i, l := range r.Lanes() {
				wanted := false
				for _, of := range lanes {
					wanted = wanted || l == of
				}
				parts, n, cut := r.Claim(i)
				f := Finding{Cut: cut, Given: make([]Given, len(parts))}
				for k, p := range parts {
					if n == 0 || !wanted {
						continue
					}
					f.Given[k] = Given{N: p.Max, Calls: p.Max}
					sent[fmt.Sprint(p.Account, "/", l.Priority)] += p.Max
					for range p.Max {
						seats = append(seats, r.Begin(time.Now(), i, p.Account, 1, 0))
					}
				}
				r.Found(i, parts, f)
			}
			back, _ := r.Close()
			if err := limiter.RefundEach(t.Context(), back); err != nil {
				t.Fatal(err)
			}
			for _, s := range seats {
				s.End(time.Now(), 0)
			}
		}
	}
	t.Fatal("there is no end")
	return nil
}

// A budget is spent exactly, by whoever spends it; what is kept for high priority is used by nothing else; and a new period begins with
// nothing, at midnight of the provider's zone.
func TestABudgetIsOfItsPeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // at midnight of 1 January 2000, UTC
		limiter := limit.NewMemory()
		open := func(accounts ...string) *Channel {
			return New(channelOf(func(ch *state.Channel) {
				b := &posthouse.Budget{Max: 20, Per: posthouse.PerMonth, TimeZone: "Asia/Shanghai", WhenSpent: posthouse.SpentHighPriority, Reserve: 5}
				if accounts == nil {
					ch.Stored.Budget = b
				} else {
					ch.Stored.AccountBudget = b
				}
			}, accounts...), Options{})
		}
		normal, high := Lane{Priority: posthouse.Normal}, Lane{Priority: posthouse.High}
		alone, other := open(), open()
		if diff := cmp.Diff(map[string]int{"/normal": 15}, drain(t, alone, limiter, normal)); diff != "" {
			t.Errorf("what is normal (-want +got):\n%s", diff)
		}
		if got := drain(t, other, limiter, normal); len(got) > 0 {
			t.Errorf("another process sends %v of what is spent", got)
		}
		if closed, _ := alone.Closed(time.Now()); closed != "" {
			t.Errorf("high priority may go, and the channel says %q", closed)
		}
		if diff := cmp.Diff(map[string]int{"/high": 5}, drain(t, other, limiter, normal, high)); diff != "" {
			t.Errorf("the reserve (-want +got):\n%s", diff)
		}
		closed, until := other.Closed(time.Now())
		end := time.Date(2000, 1, 31, 16, 0, 0, 0, time.UTC)
		if !strings.Contains(closed, "budget") || !until.Equal(end) {
			t.Errorf("a channel without a budget left says %q until %s", closed, until)
		}
		why := other.Why(time.Now(), &Question{Delivery: &posthouse.Delivery{Priority: posthouse.Normal}, Due: true, Ahead: func(int) int { return 0 },
			Peek: func(b []limit.Bound) (limit.Grant, error) { return limiter.Peek(t.Context(), b) }})
		want := []Wait{{"budget", "the budget of its channel is spent: of 20 a month, the last 5 are for high priority", end}}
		if diff := cmp.Diff(want, why); diff != "" {
			t.Errorf("why it waits (-want +got):\n%s", diff)
		}
		fleet := open("a", "b")
		if diff := cmp.Diff(map[string]int{"a/normal": 15, "b/normal": 15}, drain(t, fleet, limiter, normal)); diff != "" {
			t.Errorf("of each account (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]int{"a/high": 5, "b/high": 5}, drain(t, fleet, limiter, normal, high)); diff != "" {
			t.Errorf("of the reserve of each account (-want +got):\n%s", diff)
		}
		time.Sleep(time.Until(end) - time.Second)
		if got := drain(t, alone, limiter, normal, high); len(got) > 0 {
			t.Errorf("%v are sent a second before the month ends", got)
		}
		time.Sleep(time.Second)
		if got := drain(t, alone, limiter, normal); got["/normal"] != 15 {
			t.Errorf("%v are sent in the new month", got)
		}
	})
}

// What is pinned to an account whose budget is spent moves, where that is what its budget says.
func TestASpentBudgetMovesWhatIsPinned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for when, want := range map[posthouse.WhenSpent]int{posthouse.SpentWait: 0, posthouse.SpentNextAccount: 1} {
			limiter := limit.NewMemory()
			c := New(channelOf(func(ch *state.Channel) {
				ch.Opened.Accounts[0].Budget = &posthouse.Budget{Max: 3, Per: posthouse.PerDay, WhenSpent: when}
			}, "a", "b"), Options{})
			pinned := Lane{work.ByAccount("a"), posthouse.Normal}
			if got := drain(t, c, limiter, pinned); got["a/normal"] != 3 {
				t.Errorf("%s: %v are sent of a budget of three", when, got)
			}
			for range 2 { // it is spent when it was refused at a few looks in a row
				if got := c.Stranded(time.Now(), 5*time.Second); c.Moves() && len(got) > 0 {
					t.Errorf("%s: %v are to move, and may come back", when, got)
				}
				time.Sleep(2 * time.Second)
				drain(t, c, limiter, pinned)
			}
			if got := c.Stranded(time.Now(), 5*time.Second); c.Moves() && len(got) != want || !c.Moves() && want > 0 {
				t.Errorf("%s: %v are to move", when, got)
			}
			if to := c.Refuge(time.Now()); to != "b" {
				t.Errorf("%s: they would move to %q", when, to)
			}
		}
	})
}

// What somebody else has reserved of a budget and gives back is not spent: nothing moves meanwhile, and it is found again in a moment.
func TestWhatOthersReserveOfABudgetIsNotSpent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := limit.NewMemory()
		open := func() *Channel {
			return New(channelOf(func(ch *state.Channel) {
				ch.Opened.Accounts[0].Budget = &posthouse.Budget{Max: 2, Per: posthouse.PerDay, WhenSpent: posthouse.SpentNextAccount}
			}, "a", "b"), Options{})
		}
		c, other, pinned := open(), open(), Lane{work.ByAccount("a"), posthouse.Normal}
		held := other.ReserveIn(time.Now(), pinned, 2)
		grants, err := limiter.Each(t.Context(), held.Asks())
		if err != nil || grants[0].N != 2 {
			t.Fatalf("the other has %+v, %v", grants, err)
		}
		held.Grant(time.Now(), grants)
		if got := drain(t, c, limiter, pinned); len(got) > 0 {
			t.Errorf("%v are sent of what the other has", got)
		}
		if moved := c.Stranded(time.Now(), 5*time.Second); len(moved) > 0 {
			t.Errorf("%v are to move, and nothing was sent", moved)
		}
		back, _ := held.Close()
		if err := limiter.RefundEach(t.Context(), back); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := drain(t, c, limiter, pinned); got["a/normal"] != 2 {
			t.Errorf("a moment later %v are sent of two", got)
		}
	})
}
