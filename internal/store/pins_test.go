package store

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// pinnedEntry is an entry whose deliveries one account is to send.
func pinnedEntry(n int, account string) work.Entry {
	e := entry(n)
	e.Message.Account = account
	for i := range e.Deliveries {
		e.Deliveries[i].Account, e.Deliveries[i].Pinned = account, true
	}
	return e
}

// What waits for one account is not in the way of what waits for another, or for any.
func TestAClaimTakesWhatIsPinnedToItsAccountAlone(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, pinnedEntry(30, "parked"))
		accept(t, s, pinnedEntry(2, "a"))
		pooled := entry(1)
		pooled.Message.Pool, pooled.Deliveries[0].Pool = "vip", "vip"
		accept(t, s, pooled)
		free := accept(t, s, entry(1))
		lane := work.Lane{Tenant: "t1", Channel: "c1", Priority: posthouse.Normal}
		claim := func(pin work.Pin, account string) (users []string) {
			t.Helper()
			lane.Pin = pin
			items, err := s.Queue.Claim(t.Context(), time.Now(), work.Claim{Lane: lane, Max: 10, By: []work.Share{{Account: account, Max: 10}}, Owner: "me", Lease: time.Minute, Epoch: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range items {
				if d := item.Delivery; d.Account != account || d.Pinned != (pin.Account() != "") || d.Pool != pin.Pool() {
					t.Errorf("claimed for %q by %q: %+v", pin, account, d)
				}
				users = append(users, item.Delivery.ID)
			}
			return users
		}
		pins, err := s.Queue.DuePins(t.Context(), time.Now(), "t1", "c1")
		if err != nil {
			t.Fatal(err)
		}
		var found []work.Pin
		for _, l := range pins {
			found = append(found, l.Pin)
		}
		slices.Sort(found)
		if diff := cmp.Diff([]work.Pin{work.ByAccount("a"), work.ByAccount("parked"), work.ByPool("vip")}, found); diff != "" {
			t.Errorf("due pins (-want +got):\n%s", diff)
		}
		if got := claim(work.ByAccount("a"), "a"); len(got) != 2 {
			t.Errorf("%d were claimed for a, want 2", len(got))
		}
		if got := claim(work.ByPool("vip"), "b"); len(got) != 1 {
			t.Errorf("%d were claimed for the pool, want 1", len(got))
		}
		if got := claim("", "b"); len(got) != 1 || got[0] != free[0] {
			t.Errorf("%v were claimed of what is pinned to nothing", got)
		}
		if got := claim(work.ByAccount("parked"), "parked"); len(got) != 10 {
			t.Errorf("%d were claimed for the last, want 10", len(got))
		}
	})
}
