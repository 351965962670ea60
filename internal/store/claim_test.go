package store

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// FLEET-3, FLEET-8: a lane is claimed in the order in which it is due, what has failed before among it, and nothing before its time. A
// claim is one transaction: nothing is between the queue and its claimer.
func TestClaimStartsWhatIsDueInItsLaneEarliestFirst(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		now := time.Now()
		due := func(d time.Duration) func(*work.Entry) {
			return each(func(x *posthouse.Delivery) { x.DueAt = now.Add(d) })
		}
		deadline := func(d time.Duration) func(*work.Entry) {
			return each(func(x *posthouse.Delivery) { x.Deadline = now.Add(d) })
		}
		second, first := accept(t, s, entry(1)), accept(t, s, entry(1, deadline(time.Hour)))
		tamper(t, s, "UPDATE posthouse_queue SET due_at = due_at - 3600000000 WHERE id = ?", first[0])
		accept(t, s, entry(1, due(time.Hour)))
		accept(t, s, entry(1, deadline(-time.Second)))
		accept(t, s, entry(1, in("t2", "c1")), entry(1, in("t2", "c1")))
		accept(t, s, entry(1, in("t1", "c2")))
		accept(t, s, entry(1, each(func(d *posthouse.Delivery) { d.Priority = posthouse.High })))

		ready, err := s.Queue.Ready(t.Context(), at(), []work.Lane{lane, {Tenant: "t1", Channel: "c9", Priority: posthouse.Normal}})
		if diff := cmp.Diff([]bool{true, false}, ready); err != nil || diff != "" {
			t.Errorf("Ready: %v\n%s", err, diff)
		}
		items := claim(t, s, 10)
		var got []string
		for _, item := range items {
			got = append(got, item.Delivery.ID)
			if item.Message == nil || item.Message.Content.Text != "你好 👋" {
				t.Errorf("message = %+v", item.Message)
			}
			stored, err := s.Messages.Delivery(t.Context(), "t1", item.Delivery.ID)
			if diff := cmp.Diff(stored, item.Delivery); err != nil || diff != "" {
				t.Errorf("what Claim returns differs from what is stored: %v\n%s", err, diff)
			}
			d := item.Delivery
			if d.State != posthouse.Sending || d.Version != 2 || d.Token != 1 || d.Attempts != 1 || d.LeaseOwner != "w1" ||
				d.StartedAt.IsZero() || !d.FirstStartAt.Equal(d.StartedAt) || d.LeaseUntil.Sub(d.StartedAt) != time.Minute {
				t.Errorf("claimed = %+v", d)
			}
		}
		if diff := cmp.Diff([]string{first[0], second[0]}, got); diff != "" {
			t.Errorf("claimed (-want +got):\n%s", diff)
		}
		if more := claim(t, s, 10); len(more) != 0 {
			t.Errorf("a second claim finds %d", len(more))
		}
	})
}

func TestClaimTakesNoMoreThanItAskedForNorLaterThanItsBound(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(5))
		for _, want := range []int{2, 3} {
			got := claim(t, s, want)
			if len(got) != want {
				t.Errorf("claimed %d, want %d", len(got), want)
			}
			for _, item := range got {
				if item.Message == nil || item.Message.ID != item.Delivery.Message {
					t.Errorf("the message of %s is %+v", item.Delivery.ID, item.Message)
				}
			}
		}
		accept(t, s, entry(5))
		items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: lane, Max: 10, Owner: "w", Lease: time.Minute, Epoch: 1, DueBefore: time.Now().Add(-time.Hour)})
		if len(items) != 0 || err != nil {
			t.Errorf("claimed %d due after the bound, %v", len(items), err)
		}
	})
}

func TestAClaimWritesTheAccountItIsFor(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		id := accept(t, s, entry(1))[0]
		items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: lane, Max: 10, By: []work.Share{{Account: "north", Max: 10}}, Owner: "w1", Lease: time.Minute, Epoch: 1})
		if err != nil || len(items) != 1 || items[0].Delivery.Account != "north" {
			t.Fatalf("claimed %+v, %v; want one for the account north", items, err)
		}
		stored, err := s.Messages.Delivery(t.Context(), "t1", id)
		if err != nil || stored.Account != "north" {
			t.Errorf("stored for the account %q, %v; want north", stored.Account, err)
		}
		events, err := s.History.Events(t.Context(), "t1", id)
		if err != nil || events[len(events)-1].Account != "north" {
			t.Errorf("events %+v, %v; want the start for the account north", events, err)
		}
	})
}

// FLEET-12: what several accounts claim of rows, they claim in one step, each as much as its share.
func TestSeveralAccountsClaimRowsInOneStep(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(5)) // of several recipients: each has a row
		items, err := s.Queue.Claim(t.Context(), at(), work.Claim{
			Lane: lane, Max: 4, By: []work.Share{{Account: "north", Max: 3}, {Account: "south", Max: 1}}, Owner: "w1", Lease: time.Minute, Epoch: 1,
		})
		if err != nil || len(items) != 4 {
			t.Fatalf("claimed %d, %v; want 4", len(items), err)
		}
		for i := range items {
			if at := items[i].Delivery.StartedAt; !at.Equal(items[0].Delivery.StartedAt) {
				t.Errorf("delivery %d started at %v, the first at %v: that is another step", i, at, items[0].Delivery.StartedAt)
			}
			want := "north"
			if i == 3 {
				want = "south"
			}
			stored, err := s.Messages.Delivery(t.Context(), "t1", items[i].Delivery.ID)
			if err != nil || items[i].Delivery.Account != want || stored.Account != want || stored.Token != items[i].Delivery.Token {
				t.Errorf("delivery %d: claimed for %s, stored %+v, %v; want %s", i, items[i].Delivery.Account, stored, err, want)
			}
			events, err := s.History.Events(t.Context(), "t1", items[i].Delivery.ID)
			if err != nil || events[len(events)-1].Account != want {
				t.Errorf("events %+v, %v; want the start for %s", events, err, want)
			}
		}
	})
}

// Whole messages are shared by several accounts, each of which makes so many calls; what no seat holds, one account takes in parts.
func TestSeveralAccountsShareWholeMessages(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(2))
		accept(t, s, entry(3))
		accept(t, s, entry(5)) // larger than a call
		accept(t, s, entry(2))
		taken := map[string]map[string]int{} // by account and message
		claim := work.Claim{
			Lane: lane, Max: 12, Messages: 4, Owner: "w1", Lease: time.Minute, Epoch: 1, Whole: true, Cut: true,
			By: []work.Share{{Account: "north", Max: 6, Messages: 2, Cut: true}, {Account: "south", Max: 6, Messages: 2, Cut: true}},
		}
		for range 3 {
			items, err := s.Queue.Claim(t.Context(), at(), claim)
			if err != nil {
				t.Fatal(err)
			}
			calls := map[string]map[string]bool{}
			for i := range items {
				d := &items[i].Delivery
				if taken[d.Account] == nil {
					taken[d.Account] = map[string]int{}
				}
				if calls[d.Account] == nil {
					calls[d.Account] = map[string]bool{}
				}
				taken[d.Account][d.Message]++
				calls[d.Account][d.Message] = true
			}
			for account, of := range calls {
				if len(of) > 2 {
					t.Errorf("%s was given %d messages in one claim, want 2 at most", account, len(of))
				}
			}
		}
		if taken[""] != nil || len(taken["north"]) == 0 || len(taken["south"]) == 0 {
			t.Errorf("taken: %v; want some of both accounts and of no other", taken)
		}
		sum := 0
		for _, of := range taken {
			for _, n := range of {
				sum += n
			}
		}
		if sum != 12 {
			t.Errorf("%d deliveries were taken, want all 12: %v", sum, taken)
		}
	})
}

// FLOW-11: a message that does not fit into what is left of a claim stays for the next one, whole.
func TestWholeClaimsLeaveTheMessageThatDoesNotFit(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(3))
		accept(t, s, entry(5))
		for i, c := range []struct {
			max  int
			cut  bool
			want int
		}{{2, false, 0}, {6, false, 3}, {4, false, 0}, {4, true, 4}, {9, false, 1}} {
			items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: lane, Max: c.max, Owner: "w", Lease: time.Minute, Epoch: 1, Whole: true, Cut: c.cut})
			if err != nil || len(items) != c.want {
				t.Errorf("claim %d, of up to %d: %d deliveries, %v; want %d", i, c.max, len(items), err, c.want)
			}
		}
	})
}

// Two messages that are both larger than what can be claimed, their deliveries due in turns: the first goes in parts.
func TestWholeClaimsTakeAPartWhereNothingIsWhole(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		began := time.Now().Add(-time.Minute).UnixMicro()
		for m := range 2 {
			for n, id := range accept(t, s, entry(6)) {
				tamper(t, s, fmt.Sprintf("UPDATE posthouse_queue SET due_at = %d WHERE id = '%s'", began+int64(2*n+m), id))
			}
		}
		for i, want := range []int{2, 3} {
			items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: lane, Max: 4, Owner: "w", Lease: time.Minute, Epoch: 1, Whole: true, Cut: true})
			if err != nil || len(items) != want || items[0].Delivery.Message != items[want-1].Delivery.Message {
				t.Errorf("claim %d: %d deliveries, %v; want %d of one message", i, len(items), err, want)
			}
		}
	})
}

// A claim of as many messages as there are calls left takes the first of them, whole; what is left comes with the next.
func TestAClaimOfSomeMessagesTakesTheFirst(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for range 3 {
			accept(t, s, entry(3))
		}
		accept(t, s, entry(1), entry(1))
		taken := 0
		for i, want := range []int{2, 2, 1, 0} {
			items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: lane, Max: 10, Owner: "w", Lease: time.Minute, Epoch: 1, Whole: true, Cut: true, Messages: 2})
			if err != nil || work.MessagesOf(items) != want {
				t.Errorf("claim %d: %d deliveries of %d messages, %v; want %d messages", i, len(items), work.MessagesOf(items), err, want)
			}
			taken += len(items)
		}
		if taken != 11 {
			t.Errorf("%d deliveries were taken in all, want 11", taken)
		}
	})
}

// A claim of whole messages that begins where the last one ended does not see the parts that were left behind it.
func TestWholeClaimsComeBackForWhatTheyLeft(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		began := time.Now().Add(-time.Minute)
		for _, due := range [][]time.Duration{{0, 30 * time.Second}, {10 * time.Second, 10 * time.Second}} {
			for n, id := range accept(t, s, entry(2)) {
				tamper(t, s, fmt.Sprintf("UPDATE posthouse_queue SET due_at = %d WHERE id = '%s'", began.Add(due[n]).UnixMicro(), id))
			}
		}
		for i, want := range []int{2, 2} {
			items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: lane, Max: 3, Owner: "w", Lease: time.Minute, Epoch: 1, Whole: true, Cut: true})
			if err != nil || len(items) != want {
				t.Errorf("claim %d: %d deliveries, %v; want %d", i, len(items), err, want)
			}
		}
	})
}

// A dispatcher that is given less than it asked for, due before some time, takes it that no more is due.
func TestAClaimUpToATimeLeavesNothing(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := accept(t, s, entry(4))
		for n, id := range ids {
			tamper(t, s, fmt.Sprintf("UPDATE posthouse_queue SET due_at = %d WHERE id = '%s'", time.Now().Add(time.Duration(n-9)*10*time.Second).UnixMicro(), id))
		}
		run := work.Claim{Lane: lane, Max: 2, Owner: "w", Lease: time.Minute, DueBefore: time.Now(), Epoch: 1}
		var first []work.Item
		if s.DB.SharedClock() { // another holds the first one for a moment
			err := s.Queue.change(t.Context(), at(), "hold", func(x *tx) error {
				_, err := sqldb.All(x.Query, sqldb.Word, "SELECT id FROM posthouse_queue WHERE id = ?"+s.DB.Dialect.Lock, ids[0])
				if err == nil {
					first, err = s.Queue.Claim(t.Context(), at(), run)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		} else {
			first = claim(t, s, 2)
		}
		rest, err := s.Queue.Claim(t.Context(), at(), run)
		if err != nil || len(first)+len(rest) != 4 {
			t.Errorf("the claims take %d and %d, %v; want 2 each", len(first), len(rest), err)
		}
	})
}

// A claim that is asked again from the beginning keeps what it has, and only that, when the second commit fails.
func TestAClaimKeepsWhatItHasWhenItsRepeatFails(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := accept(t, s, entry(4))
		for n, id := range ids {
			tamper(t, s, fmt.Sprintf("UPDATE posthouse_queue SET due_at = %d WHERE id = '%s'", time.Now().Add(time.Duration(n-9)*10*time.Second).UnixMicro(), id))
		}
		claim(t, s, 2)
		tamper(t, s, "UPDATE posthouse_queue SET state = 'pending' WHERE id = ?", ids[0]) // left behind where claims begin now
		for _, refuse := range map[string][]string{
			"sqlite": {"CREATE TRIGGER refuse BEFORE UPDATE ON posthouse_queue WHEN OLD.id = '" + ids[0] + "' BEGIN SELECT RAISE(ABORT, 'no'); END"},
			"postgres": {
				"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'no'; END$$",
				"CREATE TRIGGER refuse BEFORE UPDATE ON posthouse_queue FOR EACH ROW WHEN (OLD.id = '" + ids[0] + "') EXECUTE FUNCTION refuse()",
			},
			"mysql": {"CREATE TRIGGER refuse BEFORE UPDATE ON posthouse_queue FOR EACH ROW IF OLD.id = '" + ids[0] + "' THEN SIGNAL SQLSTATE '45000'; END IF"},
		}[s.DB.Dialect.Name] {
			tamper(t, s, refuse)
		}
		s.Queue.lows.none(lane, place{}, time.Now().Add(time.Hour)) // however long that took, the next claim begins where the last one ended
		items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: lane, Max: 10, Owner: "w", Lease: time.Minute, DueBefore: time.Now(), Epoch: 1})
		var got []string
		for _, item := range items {
			got = append(got, item.Delivery.ID)
		}
		if diff := cmp.Diff(ids[2:], got); err != nil || diff != "" {
			t.Errorf("claimed, %v (-want +got):\n%s", err, diff)
		}
	})
}

// FLOW-12, FLEET-4: claimers side by side skip what another has. A claim that reads first and writes later makes
// duplicates here.
func TestManyClaimersNeverShareADelivery(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		const messages, each, claimers = 20, 20, 8
		for range messages {
			accept(t, s, entry(each))
		}
		var mu sync.Mutex
		seen := map[string]int{}
		var wg sync.WaitGroup
		for range claimers {
			wg.Go(func() {
				for misses := 0; misses < 3; {
					items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: lane, Max: 7, Owner: "w", Lease: time.Minute, Epoch: 1})
					if err != nil {
						t.Error(err)
						return
					}
					if len(items) == 0 {
						misses++
					}
					mu.Lock()
					for _, item := range items {
						seen[item.Delivery.ID]++
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		rest := claim(t, s, 1000)
		for _, item := range rest { // SKIP LOCKED may have hidden rows from the last claimers
			seen[item.Delivery.ID]++
		}
		if len(seen) != messages*each {
			t.Errorf("%d deliveries were claimed, want %d", len(seen), messages*each)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s was claimed %d times", id, n)
			}
		}
	})
}

func TestProcessOfAnotherEpochClaimsNothing(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(1))
		for _, epoch := range []int64{0, 2} {
			items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: lane, Max: 10, Owner: "w", Lease: time.Minute, Epoch: epoch})
			if len(items) != 0 || err != nil {
				t.Errorf("epoch %d claims %d, %v", epoch, len(items), err)
			}
		}
		if got := claim(t, s, 10); len(got) != 1 {
			t.Errorf("epoch 1 claims %d, want 1", len(got))
		}
	})
}

func TestClaimOfAnUnreadableMessageSaysSo(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		broken, gone := accept(t, s, entry(1)), accept(t, s, entry(1))
		tamper(t, s, "UPDATE posthouse_messages SET content = '{oops' WHERE id = ?", posthouse.MessageID(broken[0]))
		tamper(t, s, "DELETE FROM posthouse_messages WHERE id = ?", posthouse.MessageID(gone[0]))
		items := claim(t, s, 10)
		if len(items) != 2 {
			t.Fatalf("claimed %d, want 2", len(items))
		}
		for _, item := range items {
			switch item.Delivery.ID {
			case broken[0]:
				if item.Message == nil || item.Message.Unreadable == "" {
					t.Errorf("a broken message = %+v", item.Message)
				}
			case gone[0]:
				if item.Message != nil {
					t.Errorf("a message that is gone = %+v", item.Message)
				}
			}
		}
	})
}
