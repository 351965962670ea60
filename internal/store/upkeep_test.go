package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

const day = 24 * time.Hour

// age makes deliveries as old as if they had been stored and settled d ago, with new ids, and
// returns those.
func aged(d time.Duration) func(*work.Entry) {
	return func(e *work.Entry) {
		e.Message.ID = layout.IDAt(time.Now().Add(-d))[:10] + e.Message.ID[10:]
		for i := range e.Deliveries {
			x := &e.Deliveries[i]
			x.ID = posthouse.DeliveryID(e.Message.ID, i+1)
			x.Message, x.IdemKey = e.Message.ID, x.ID
		}
	}
}

func TestPruneDeletesWhatIsSettledAndOldAndNothingElse(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		old := accept(t, s, entry(2, aged(100*day)), entry(1, aged(90*day)))
		half := accept(t, s, entry(2, aged(80*day)))
		items := claim(t, s, 100)
		for _, item := range items {
			if item.Delivery.ID != half[1] {
				record(t, s, step(item.Delivery, posthouse.EventSent, posthouse.Sent))
			} else {
				record(t, s, step(item.Delivery, posthouse.EventAmbiguous, posthouse.Unknown))
			}
		}
		tamper(t, s, "UPDATE posthouse_settled SET updated_at = created_at - ?", (70 * day).Microseconds())
		late := accept(t, s, entry(1, aged(60*day))) // handed in long ago, settled now
		settle(t, s, posthouse.EventFail, posthouse.Failed)
		open := accept(t, s, entry(1, aged(200*day)))
		tamper(t, s, "INSERT INTO posthouse_idempotency (tenant, endpoint, idem_key, body_hash, owner, answer, created_at, expires_at) VALUES ('t1', 'e', 'old', '', '', '', 1, 2)")
		tamper(t, s, "INSERT INTO posthouse_dedup (tenant, channel, dedup_key, message_id, created_at, expires_at) VALUES ('t1', 'c', 'old', '', 1, 2)")
		tamper(t, s, "INSERT INTO posthouse_limits (name, state, updated_at) VALUES ('old', '', 1)")
		live := submit(entry(1, func(e *work.Entry) { e.Message.DedupKey = "live" }))
		live.Key = "live"
		if _, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{live}); err != nil {
			t.Fatal(err)
		}

		if n, err := s.Upkeep.Prune(t.Context(), at(), work.KeepAll(30*day), 1); n != 1 || err != nil {
			t.Errorf("Prune of at most 1 = %d, %v", n, err)
		}
		if n, err := s.Upkeep.Prune(t.Context(), at(), work.KeepAll(30*day), 1000); n != 3 || err != nil {
			t.Errorf("Prune = %d, %v; want the other 3", n, err)
		}
		gone := append(old, half[0])
		for _, id := range slices.Concat(old, half, late, open) {
			_, err := s.Messages.Delivery(t.Context(), "t1", id)
			if is := posthouse.CodeOf(err) == posthouse.CodeNotFound; is != slices.Contains(gone, id) {
				t.Errorf("delivery %s: %v", id, err)
			}
			_, _, err = s.Messages.Message(t.Context(), "t1", posthouse.MessageID(id))
			if is := posthouse.CodeOf(err) == posthouse.CodeNotFound; is != slices.Contains(old, id) {
				t.Errorf("message of %s: %v", id, err)
			}
			n := count(t, s, "SELECT COUNT(*) FROM posthouse_events WHERE delivery = ?", id)
			if (n == 0) != slices.Contains(gone, id) {
				t.Errorf("%d events of %s", n, id)
			}
		}
		for _, table := range []string{"posthouse_idempotency", "posthouse_dedup"} {
			if n := count(t, s, "SELECT COUNT(*) FROM "+table); n != 1 {
				t.Errorf("%d rows of %s, want the live one", n, table)
			}
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_limits"); n != 0 {
			t.Errorf("%d limits, want none", n)
		}
	})
}

// After a restore nothing starts that may have been sent.
func TestBumpEpochHoldsWhatMayHaveBeenSent(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		tried := accept(t, s, entry(1))[0]
		retry := step(mustClaim(t, s, tried), posthouse.EventRetry, posthouse.Pending)
		retry.After.DueAt = time.Now().Add(time.Hour)
		record(t, s, retry)
		unknown := accept(t, s, entry(1))[0]
		ambiguous := step(mustClaim(t, s, unknown), posthouse.EventAmbiguous, posthouse.Unknown)
		ambiguous.After.DueAt = time.Now().Add(time.Hour)
		record(t, s, ambiguous)
		sending := accept(t, s, entry(1))[0]
		inFlight := mustClaim(t, s, sending)
		due := accept(t, s, entry(600)) // more than one transaction holds
		later := accept(t, s, entry(1, each(func(d *posthouse.Delivery) { d.DueAt = time.Now().Add(time.Hour) })))[0]

		held, err := s.Epochs.BumpEpoch(t.Context(), at())
		if err != nil || held != 602 {
			t.Fatalf("BumpEpoch = %d, %v; want 602 held", held, err)
		}
		if epoch, err := s.Epochs.Epoch(t.Context()); epoch != 2 || err != nil {
			t.Errorf("Epoch = %d, %v; want 2", epoch, err)
		}
		for _, id := range slices.Concat([]string{tried, sending, unknown}, due[:2], due[598:]) {
			d, err := s.Messages.Delivery(t.Context(), "t1", id)
			if err != nil || d.State != posthouse.Unknown || d.OnUnknown != posthouse.Hold || !d.DueAt.IsZero() || d.LeaseOwner != "" || d.Epoch != 2 {
				t.Errorf("held: %+v, %v", d, err)
			}
			if id != unknown && d.Reason != "epoch_hold" {
				t.Errorf("reason %q", d.Reason)
			}
		}
		wantChain(t, s, tried, "accept start retry epoch_hold")
		wantChain(t, s, sending, "accept start epoch_hold")
		wantChain(t, s, due[599], "accept epoch_hold")
		wantChain(t, s, unknown, "accept start ambiguous epoch_hold")
		wantChain(t, s, later, "accept")

		refused, err := s.Queue.Record(t.Context(), at(), func(time.Time) []work.Change {
			return []work.Change{step(inFlight, posthouse.EventRetry, posthouse.Pending)}
		})
		if err != nil || len(refused) != 1 {
			t.Errorf("a result from before is refused %v, %v", refused, err)
		}
		tamper(t, s, "UPDATE posthouse_queue SET due_at = 1 WHERE id = ?", later)
		for epoch, want := range map[int64]int{1: 0, 2: 1} {
			items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: lane, Max: 1000, Lease: time.Minute, Epoch: epoch})
			if len(items) != want || err != nil {
				t.Errorf("epoch %d claims %d, %v; want %d", epoch, len(items), err, want)
			}
		}
	})
}

// What is held already is not gone through again for each that follows. MariaDB counts what a connection reads.
func TestBumpEpochReadsTheQueueOnce(t *testing.T) {
	t.Parallel()
	s := openTest(t, dbtest.MariaDB(t))
	const due = 10_000
	for range due / 1000 {
		accept(t, s, entry(1000))
	}
	s.DB.Writer.SetMaxOpenConns(1)
	read := func() (n int64) {
		err := s.Queue.change(t.Context(), at(), "count", func(x *tx) (err error) {
			n, _, err = sqldb.First(x.Query, sqldb.Number, "SELECT CAST(SUM(variable_value) AS SIGNED) FROM information_schema.session_status WHERE variable_name IN ('Handler_read_first', 'Handler_read_key', 'Handler_read_next')")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := read()
	if held, err := s.Epochs.BumpEpoch(t.Context(), at()); held != due || err != nil {
		t.Fatalf("BumpEpoch = %d, %v; want %d held", held, err, due)
	}
	if n := read() - before; n < due || n > 4*due { // once to look at each, and once to change it
		t.Errorf("%d rows were read to hold %d", n, due)
	}
}

func TestInterruptedBumpIsFinishedByTheNext(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(1))
		tamper(t, s, "UPDATE posthouse_meta SET value = '-4' WHERE name = 'epoch'")
		_, err := s.Epochs.Epoch(t.Context())
		wantCode(t, err, posthouse.CodeUnavailable)
		if held, err := s.Epochs.BumpEpoch(t.Context(), at()); held != 1 || err != nil {
			t.Errorf("BumpEpoch = %d, %v", held, err)
		}
		if epoch, err := s.Epochs.Epoch(t.Context()); epoch != 4 || err != nil {
			t.Errorf("Epoch = %d, %v; want the 4 that was begun", epoch, err)
		}
	})
}

// A replay, T27 in docs/states.md.
func TestReplayIsANewDelivery(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		ids := accept(t, s, entry(2, each(func(d *posthouse.Delivery) { d.Deadline = time.Now().Add(time.Hour) })))
		old := settle(t, s, posthouse.EventFail, posthouse.Failed)[0]
		tamper(t, s, "UPDATE posthouse_settled SET deadline = 1 WHERE id = ?", ids[1])
		list, err := s.Submissions.AddReplay(ctx, at(), "t1", []string{ids[0], ids[0], "管理员"}, false)
		if err != nil || len(list) != 3 {
			t.Fatal(list, err)
		}
		wantCode(t, list[1].Err, posthouse.CodeConflict)
		wantCode(t, list[2].Err, posthouse.CodeNotFound)
		if list[0].Err != nil || list[0].ID != posthouse.DeliveryID(old.Message, 3) {
			t.Fatalf("replay = %+v", list[0])
		}
		d, err := s.Messages.Delivery(ctx, "t1", list[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		want := posthouse.Delivery{
			ID: list[0].ID, Message: old.Message, Tenant: "t1", Channel: "c1", Recipient: old.Recipient, Priority: posthouse.Normal,
			State: posthouse.Pending, Version: 1, IdemKey: old.IdemKey, OnUnknown: posthouse.Retry, ReplayOf: ids[0], Epoch: 1,
			CreatedAt: d.CreatedAt, UpdatedAt: d.CreatedAt, DueAt: d.CreatedAt, Deadline: d.Deadline,
		}
		if diff := cmp.Diff(want, d); diff != "" || d.Deadline.IsZero() {
			t.Errorf("(-want +got):\n%s", diff)
		}
		wantChain(t, s, ids[0], "accept start fail")
		wantChain(t, s, d.ID, "accept")

		list, err = s.Submissions.AddReplay(ctx, at(), "t1", ids, true)
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, list[0].Err, posthouse.CodeConflict) // its replay is open
		fresh, err := s.Messages.Delivery(ctx, "t1", list[1].ID)
		if err != nil || fresh.IdemKey != fresh.ID || posthouse.DeliveryNumber(fresh.ID) != 4 || !fresh.Deadline.IsZero() {
			t.Errorf("with forceNew, past its deadline: %+v, %v", fresh, err)
		}
		settle(t, s, posthouse.EventSent, posthouse.Sent)
		list, err = s.Submissions.AddReplay(ctx, at(), "t1", []string{ids[0], fresh.ID}, false)
		if err != nil || list[0].Err != nil || posthouse.DeliveryNumber(list[0].ID) != 5 {
			t.Errorf("after the first replay has settled: %+v, %v", list, err)
		}
		wantCode(t, list[1].Err, posthouse.CodeConflict) // it is sent
	})
}

// A number that was given once is not given again, also where its delivery was deleted while another of the message was
// still held: the log of hand-outs would refuse it, for it may be kept for longer.
func TestAReplayGetsANumberThatNoneHasHad(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		ids := accept(t, s, entry(2, pulled))
		gone := func(id string) {
			tamper(t, s, "DELETE FROM posthouse_settled WHERE id = ?", id)
			tamper(t, s, "DELETE FROM posthouse_transitions WHERE delivery = ?", id)
		}
		handed := handOut(t, s, wish(10)).Items
		record(t, s, step(handed[0].Delivery, posthouse.EventFail, posthouse.Failed), step(handed[1].Delivery, posthouse.EventSent, posthouse.Sent))
		gone(ids[1])
		for want := 3; want < 6; want++ { // and so with the replays themselves
			list, err := s.Submissions.AddReplay(ctx, at(), "t1", ids[:1], false)
			if err != nil || list[0].Err != nil || posthouse.DeliveryNumber(list[0].ID) != want {
				t.Fatalf("replay: %+v, %v; want number %d", list, err, want)
			}
			handed := handOut(t, s, wish(10)).Items
			if len(handed) != 1 {
				t.Fatalf("%d were handed out, want the replay", len(handed))
			}
			record(t, s, step(handed[0].Delivery, posthouse.EventSent, posthouse.Sent))
			gone(list[0].ID)
		}
		// Without the log, the message knows how many it had.
		pushed := accept(t, s, entry(2))
		settle(t, s, posthouse.EventFail, posthouse.Failed)
		gone(pushed[1])
		list, err := s.Submissions.AddReplay(ctx, at(), "t1", pushed[:1], false)
		if err != nil || list[0].Err != nil || posthouse.DeliveryNumber(list[0].ID) != 3 {
			t.Errorf("replay: %+v, %v; want number 3", list, err)
		}
	})
}

// What was sent again since a moment is not sent again a second time, open or settled; before that moment it counts for nothing.
func TestAReplayIsMadeOnceSinceAMoment(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := accept(t, s, entry(2))
		settle(t, s, posthouse.EventFail, posthouse.Failed)
		since := at()
		replay := func(since time.Time) string {
			t.Helper()
			list, err := s.Submissions.ReplayOnce(t.Context(), at(), "t1", ids[:1], false, since)
			if err != nil || len(list) != 1 || list[0].Err != nil {
				t.Fatal(list, err)
			}
			return list[0].ID
		}
		made := replay(since.Add(-time.Hour))
		for _, c := range []struct {
			tenant       string
			since, until time.Time
			want         int
		}{{"t1", since.Add(-time.Hour), since.Add(time.Hour), 1}, {"t2", since.Add(-time.Hour), since.Add(time.Hour), 0}, {"t1", since.Add(time.Hour), since.Add(2 * time.Hour), 0}, {"t1", since.Add(-2 * time.Hour), since.Add(-time.Hour), 0}} {
			if got, err := s.Submissions.ReplaysBetween(t.Context(), c.tenant, ids, c.since, c.until); err != nil || len(got) != c.want || c.want == 1 && got[0] != made {
				t.Errorf("of %s between %s and %s wait %v, %v", c.tenant, c.since, c.until, got, err)
			}
		}
		if again := replay(since.Add(-time.Hour)); again != made {
			t.Errorf("while %s is open, %s is made", made, again)
		}
		settle(t, s, posthouse.EventFail, posthouse.Failed)
		if got, err := s.Submissions.ReplaysBetween(t.Context(), "t1", ids, since.Add(-time.Hour), since.Add(time.Hour)); err != nil || len(got) != 0 {
			t.Errorf("settled replays wait: %v, %v", got, err)
		}
		if again := replay(since.Add(-time.Hour)); again != made {
			t.Errorf("after %s has ended, %s is made", made, again)
		}
		if again := replay(since.Add(time.Hour)); again == made {
			t.Error("a replay of before the moment stands for one")
		}
	})
}

func TestReplaysAtOnceGetTheirOwnNumbers(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := accept(t, s, entry(8))
		settle(t, s, posthouse.EventFail, posthouse.Failed)
		var mu sync.Mutex
		made := map[string]int{}
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				list, err := s.Submissions.AddReplay(t.Context(), at(), "t1", []string{ids[i], ids[(i+1)%8]}, false)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, r := range list {
					if r.Err == nil {
						made[r.ID]++
					}
				}
			})
		}
		wg.Wait()
		if len(made) != 8 || count(t, s, "SELECT COUNT(DISTINCT replay_of) FROM posthouse_queue") != 8 {
			t.Errorf("%d replays were made, want one of each", len(made))
		}
	})
}

func TestLimitRowsCountExactlyUnderContention(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		const callers, calls = 8, 10
		var last time.Time
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				for range calls {
					keys := []string{fmt.Sprint("通道 ", c%2), "通道", fmt.Sprint("客户 ", c%3)}
					rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
					err := s.Limits.UpdateLimits(t.Context(), keys, func(now time.Time, states [][]byte) ([][]byte, error) {
						if time.Since(now).Abs() > time.Hour {
							t.Errorf("now = %v", now)
						}
						for i := range states {
							n, _ := strconv.Atoi(string(states[i]))
							states[i] = strconv.AppendInt(nil, int64(n+1), 10)
						}
						return states, nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		keys := []string{"通道 0", "通道", "nobody's", "通道 1", "客户 2"}
		states, now, err := s.Limits.LookLimits(t.Context(), keys)
		got, want := string(bytes.Join(states, []byte(","))), fmt.Sprintf("%d,%d,,%d,%d", callers*calls/2, callers*calls, callers*calls/2, 2*calls)
		if got != want || err != nil || !now.After(last) {
			t.Errorf("%q = %s at %v, %v, want %s", keys, got, now, err, want)
		}
		broken := errors.New("broken")
		err = s.Limits.UpdateLimits(t.Context(), []string{"new", "通道 0"}, func(time.Time, [][]byte) ([][]byte, error) {
			return [][]byte{[]byte("x"), []byte("x")}, broken
		})
		if !errors.Is(err, broken) || count(t, s, "SELECT COUNT(*) FROM posthouse_limits") != 6 {
			t.Errorf("an error of change = %v; nothing may be stored", err)
		}
		if err := s.Limits.UpdateLimits(t.Context(), []string{"通道 1", "通道 0"}, func(time.Time, [][]byte) ([][]byte, error) {
			return [][]byte{[]byte("x"), nil}, nil
		}); err != nil {
			t.Error(err)
		}
		if states, _, _ := s.Limits.LookLimits(t.Context(), []string{"通道 0", "通道 1"}); string(states[0]) != "40" || string(states[1]) != "x" {
			t.Errorf("a nil text changes the row to %q, and the other is %q, want x", states[0], states[1])
		}
	})
}

// On SQLite what a prune leaves free goes back to the file system, and what is not old stays.
func TestAPruneMakesTheFileSmaller(t *testing.T) {
	t.Parallel()
	s := openTest(t, dbtest.SQLite(t))
	long := func(e *work.Entry) { e.Message.Content.Text = strings.Repeat("x", 20_000) }
	for range 10 {
		var entries []work.Entry
		for range 100 {
			entries = append(entries, entry(1, long, aged(40*day)))
		}
		accept(t, s, entries...)
		var changes []work.Change
		for _, item := range claim(t, s, 100) {
			changes = append(changes, sentClean(item.Delivery))
		}
		record(t, s, changes...)
	}
	if err := s.Queue.change(t.Context(), at(), "age", func(x *tx) error {
		_, err := x.Exec("UPDATE posthouse_sent SET at = at - ?", (40 * day).Microseconds())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	accept(t, s, entry(1, aged(40*day)))
	number := func(query string) int64 {
		t.Helper()
		n, _, err := sqldb.First(s.DB.Reads(t.Context()), sqldb.Number, query)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	pages := func() int64 { return number("PRAGMA page_count") }
	before := pages()
	if n, err := s.Upkeep.Prune(t.Context(), at(), work.KeepAll(30*day), 10_000); n != 1000 || err != nil {
		t.Fatalf("Prune = %d, %v; want 1000", n, err)
	}
	if n := number("SELECT COUNT(*) FROM posthouse_messages"); n != 1 {
		t.Errorf("%d messages are left, want the open one", n)
	}
	if after := pages(); after > before/2 {
		t.Errorf("%d pages, of %d before", after, before)
	}
}

// Where messages are kept for less time than their keys, what a key stands for may be gone by the retention, and by nothing else.
func TestAKeyMayOutliveAMessageThatIsKeptBriefly(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		keyed := func(key string, d time.Duration) string {
			sub := submit(entry(1, aged(d), func(e *work.Entry) { e.Message.DedupKey = key }))
			if _, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{sub}); err != nil {
				t.Fatal(err)
			}
			return sub.Entries[0].Message.ID
		}
		old, young := keyed("old", 2*time.Hour), keyed("young", time.Minute)
		settle(t, s, posthouse.EventFail, posthouse.Failed)
		tamper(t, s, "UPDATE posthouse_settled SET updated_at = created_at - ?", (3 * time.Hour).Microseconds())
		for range 2 { // the second finds the note of the first
			if _, err := s.Upkeep.Prune(t.Context(), at(), work.KeepAll(time.Hour), 1000); err != nil {
				t.Fatal(err)
			}
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_messages WHERE id = ?", old); n != 0 {
			t.Error("the old message is there: the test shows nothing")
		}
		tamper(t, s, "DELETE FROM posthouse_messages WHERE id = ?", young)
		missing := map[string]bool{}
		err := s.History.KeyHolders(t.Context(), func(k reading.KeyHolder) error {
			missing[k.Message] = !k.Found
			return nil
		})
		if err != nil || missing[old] || !missing[young] {
			t.Errorf("%v; %s was pruned by its age, and %s taken away: of the second alone a key must say so, got %v", err, old, young, missing)
		}
	})
}
