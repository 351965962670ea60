package store

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// sendAwaited sends n deliveries whose receipts are due at once, and returns them.
func sendAwaited(t *testing.T, s *Store, n int) []posthouse.Delivery {
	t.Helper()
	accept(t, s, entry(n))
	var changes []work.Change
	for _, item := range claim(t, s, n) {
		c := step(item.Delivery, posthouse.EventSent, posthouse.Sent)
		c.Await = &work.Awaited{
			Delivery: c.After.ID, Tenant: "t1", Channel: "c1", Account: "acc", Ref: "号 1",
			DueAt: at().Add(-time.Minute), UntilAt: at().Add(time.Hour),
		}
		changes = append(changes, c)
	}
	record(t, s, changes...)
	var sent []posthouse.Delivery
	for _, c := range changes {
		sent = append(sent, c.After)
	}
	return sent
}

func awaited(t *testing.T, s *Store, hold time.Duration) []work.Awaited {
	t.Helper()
	list, err := s.Receipts.Awaited(t.Context(), at(), 100, hold)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestReceiptsAreWrittenWithTheEndOfTheirWait(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		sent := sendAwaited(t, s, 3)
		list := awaited(t, s, time.Minute)
		slices.SortFunc(list, func(a, b work.Awaited) int {
			return posthouse.DeliveryNumber(a.Delivery) - posthouse.DeliveryNumber(b.Delivery)
		})
		if len(list) != 3 {
			t.Fatalf("%d are to be asked about, want 3", len(list))
		}
		want := work.Awaited{Delivery: sent[0].ID, Tenant: "t1", Channel: "c1", Account: "acc", Ref: "号 1", Recipient: sent[0].Recipient}
		if diff := cmp.Diff(want, list[0], cmpopts.IgnoreFields(work.Awaited{}, "DueAt", "UntilAt")); diff != "" {
			t.Errorf("awaited (-want +got):\n%s", diff)
		}
		if again := awaited(t, s, time.Minute); len(again) != 0 {
			t.Errorf("%d are handed out twice", len(again))
		}
		ids := []string{sent[0].ID, sent[1].ID, sent[2].ID}
		err := s.Receipts.Receive(t.Context(), at(), ids, func(now time.Time, found []posthouse.Delivery) work.Learnt {
			byID := map[string]posthouse.Delivery{}
			for _, d := range found {
				byID[d.ID] = d
			}
			return work.Learnt{
				Changes: []work.Change{
					step(byID[ids[0]], posthouse.EventReceipt, posthouse.Delivered), step(byID[ids[1]], posthouse.EventReceipt, posthouse.Undelivered),
				},
				Done: ids[:2], Later: ids[2:], At: now.Add(-time.Second),
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		var states []posthouse.State
		for _, id := range ids {
			d, err := s.Messages.Delivery(t.Context(), "t1", id)
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, d.State)
		}
		if diff := cmp.Diff([]posthouse.State{posthouse.Delivered, posthouse.Undelivered, posthouse.Sent}, states); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		if left := awaited(t, s, time.Minute); len(left) != 1 || left[0].Delivery != ids[2] || left[0].Asks != 1 {
			t.Errorf("left to ask about: %+v, want the third, asked about once", left)
		}
	})
}

func TestReceiptThatIsRefusedLeavesItsWait(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		sent := sendAwaited(t, s, 1)
		err := s.Receipts.Receive(t.Context(), at(), []string{sent[0].ID}, func(_ time.Time, found []posthouse.Delivery) work.Learnt {
			stale := found[0]
			stale.Version--
			return work.Learnt{Changes: []work.Change{step(stale, posthouse.EventReceipt, posthouse.Delivered)}, Done: []string{stale.ID}}
		})
		if err == nil {
			t.Error("a receipt of a delivery that has moved on is taken")
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_awaited"); n != 1 {
			t.Errorf("%d waits are left, want 1", n)
		}
	})
}

func TestWhatIsNoLongerSentIsNotAskedAbout(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		sent := sendAwaited(t, s, 3)
		tamper(t, s, "UPDATE posthouse_settled SET state = 'delivered' WHERE id = ?", sent[0].ID)
		tamper(t, s, "DELETE FROM posthouse_settled WHERE id = ?", sent[1].ID)
		if list := awaited(t, s, time.Minute); len(list) != 1 || list[0].Delivery != sent[2].ID {
			t.Errorf("asked about: %+v, want %s alone", list, sent[2].ID)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_awaited"); n != 1 {
			t.Errorf("%d waits are left, want 1", n)
		}
	})
}

func TestResultThatIsRefusedAwaitsNothing(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(1))
		d := claim(t, s, 1)[0].Delivery
		d.Token++ // somebody else's
		c := step(d, posthouse.EventSent, posthouse.Sent)
		c.Await = &work.Awaited{Delivery: d.ID, Tenant: "t1", Channel: "c1", Ref: "r", DueAt: at(), UntilAt: at()}
		refused, err := s.Queue.Record(t.Context(), at(), func(time.Time) []work.Change { return []work.Change{c} })
		if len(refused) != 1 || err != nil {
			t.Fatalf("Record refused %v, %v", refused, err)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_awaited"); n != 0 {
			t.Errorf("%d waits were written", n)
		}
	})
}
