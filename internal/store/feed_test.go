package store

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// follow reads the feed behind a position, as deliveries and what they came to.
func follow(t *testing.T, s *Store, pos int64) (list []work.FeedEvent, last int64) {
	t.Helper()
	if _, err := s.Feed.Sequence(t.Context(), at()); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Feed.After(t.Context(), pos, 1000)
	if err != nil {
		t.Fatal(err)
	}
	list, err = s.Feed.Events(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) > 0 {
		pos = rows[len(rows)-1].Pos
	}
	return list, pos
}

// FLEET-2: whatever course a delivery takes, the feed tells each step of its history once and in order.
func TestTheFeedTellsTheWholeHistoryOfEveryDelivery(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		clean := entry(1, func(e *work.Entry) { e.Message.Kind, e.Message.Ref = "order", "7" })
		several, stays := entry(2), entry(1)
		accept(t, s, clean, several)
		accept(t, s, stays)
		before, pos := follow(t, s, 0)
		items := claim(t, s, 10)
		var changes []work.Change
		for _, item := range items {
			switch d := item.Delivery; d.ID {
			case clean.Deliveries[0].ID:
				changes = append(changes, sentClean(d))
			case several.Deliveries[0].ID:
				changes = append(changes, step(d, posthouse.EventSent, posthouse.Sent))
			default:
				changes = append(changes, step(d, posthouse.EventRetry, posthouse.Pending))
			}
		}
		if refused, err := s.Queue.Record(t.Context(), at(), func(time.Time) []work.Change { return changes }); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
		after, _ := follow(t, s, pos)
		ids := []string{clean.Deliveries[0].ID, several.Deliveries[0].ID, several.Deliveries[1].ID, stays.Deliveries[0].ID}
		told := slices.Concat(before, after)
		for _, id := range ids {
			events, err := s.History.Events(t.Context(), "t1", id)
			if err != nil {
				t.Fatal(err)
			}
			var want, got []string
			for _, e := range events {
				want = append(want, fmt.Sprint(e.Version, e.Type, e.To, e.At.UnixMicro()))
			}
			for _, e := range told {
				if e.Delivery == id {
					got = append(got, fmt.Sprint(e.Version, e.Event, e.To, e.At.UnixMicro()))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || len(want) < 3 {
				t.Errorf("the feed tells of %s otherwise than its history (-history +feed):\n%s", id, diff)
			}
		}
		for _, e := range told {
			at, err := posthouse.ParseFeedPosition(e.ID)
			if err != nil || at.Row < 1<<epochBits {
				t.Errorf("the event's id %q is at %+v, %v; want one of epoch 1", e.ID, at, err)
			}
			if e.Delivery == ids[0] && (e.Kind != "order" || e.Ref != "7" || e.Channel != "c1" || e.User != "u1" || e.Tenant != "t1") {
				t.Errorf("the event says %+v of its message", e)
			}
			if e.Delivery == ids[2] && e.User != "u2" {
				t.Errorf("the event of the second recipient says user %q", e.User)
			}
		}
	})
}

// FLEET-2: a transaction that commits late is behind what was read before.
func TestTheFeedNeverPassesALateCommitter(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		if s.DB.Dialect.OneWriter {
			return // one process writes one transaction after the other
		}
		d := entry(1).Deliveries[0]
		written, release, late := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		write := sync.OnceFunc(func() { close(written) })
		go func() {
			late <- s.Queue.change(t.Context(), at(), "commit late", func(slow *tx) error {
				told := slow.news()
				told.add(&d, &posthouse.Event{Version: 1}, nil)
				err := slow.tell(told)
				write()
				<-release
				return err
			})
		}()
		<-written
		accept(t, s, entry(1)) // begins after it, and is committed before
		first, pos := follow(t, s, 0)
		close(release)
		if err := <-late; err != nil {
			t.Fatal(err)
		}
		if _, err := s.Feed.Sequence(t.Context(), at()); err != nil {
			t.Fatal(err)
		}
		rows, err := s.Feed.After(t.Context(), pos, 10)
		if err != nil || len(rows) != 1 || rows[0].Deliveries[0] != d.ID || len(first) != 1 {
			t.Errorf("behind what was read before the late commit there is %+v, %v; want the late one; before it %d events", rows, err, len(first))
		}
	})
}

// Where nobody follows, nothing is written; who follows first gets all from a time on.
func TestTheFeedIsWrittenWhileSomebodyFollows(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		look(t, s)
		accept(t, s, entry(1))
		claim(t, s, 1)
		if list, _ := follow(t, s, 0); len(list) != 0 {
			t.Errorf("nobody follows, and the feed has %d events", len(list))
		}
		since, err := s.Feed.Want(t.Context(), at(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.Feed.Want(t.Context(), at(), time.Minute); err != nil || again.After(since) && s.DB.SharedClock() {
			t.Errorf("who follows second has all since %s, %v; the first since %s", again, err, since)
		}
		accept(t, s, entry(1))
		look(t, s)
		claim(t, s, 1)
		if list, _ := follow(t, s, 0); len(list) != 2 {
			t.Errorf("somebody follows, and the feed has %d events; want 2", len(list))
		}
	})
}

func look(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Feed.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A position that was given is not given again: not after a prune, and not in the next epoch.
func TestPositionsOfTheFeedNeverComeAgain(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(1))
		accept(t, s, entry(1))
		_, pos := follow(t, s, 0)
		if n, err := s.Feed.PruneFeed(t.Context(), at(), -time.Hour, 10); err != nil || n != 1 {
			t.Errorf("PruneFeed = %d, %v; want all but the last", n, err)
		}
		accept(t, s, entry(1))
		list, next := follow(t, s, pos)
		if len(list) != 1 || next <= pos {
			t.Errorf("behind %d there is %v at %d", pos, list, next)
		}
		from, err := s.Feed.At(t.Context(), list[0].At.Add(2*time.Minute))
		if err != nil || from <= pos {
			t.Errorf("At(later) = %d, %v; want behind %d", from, err, pos)
		}
		if from, err = s.Feed.At(t.Context(), list[0].At); err != nil || from > next {
			t.Errorf("At(the last) = %d, %v; want at most %d", from, err, next)
		}
		tamper(t, s, "UPDATE posthouse_meta SET value = '2' WHERE name = 'epoch'")
		accept(t, s, entry(1))
		if _, last := follow(t, s, next); last < 2<<epochBits {
			t.Errorf("the first position of epoch 2 is %d", last)
		}
	})
}

// FLEET-2: what providers tell is told once, in the order of the feed, read back by whoever has not written it, and deleted with
// the feed; where nobody follows it is not kept.
func TestTheFeedTellsWhatProvidersToldOnce(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		said := func(id string) work.Told {
			return work.Told{ID: id, FeedEvent: posthouse.FeedEvent{Tenant: "t1", Channel: "c1", Kind: "leave", Callback: &posthouse.CallbackEvent{Event: "enter_agent", Address: id}}}
		}
		tell := func(want int, ids ...string) {
			t.Helper()
			var list []work.Told
			for _, id := range ids {
				list = append(list, said(id))
			}
			if told, err := s.Feed.Tell(t.Context(), at(), list); err != nil || told != want {
				t.Fatalf("%v: %d are told, %v; want %d", ids, told, err, want)
			}
		}
		s.Feed.feed.set(false)
		tell(0, "a")
		s.Feed.feed.set(true)
		tell(1, "a")
		accept(t, s, entry(1))
		tell(2, "b", "a", "c", "c")
		var wg sync.WaitGroup
		told := make([]int, 8)
		for i := range told {
			wg.Go(func() {
				var err error
				if told[i], err = s.Feed.Tell(t.Context(), at(), []work.Told{said("d")}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if slices.Sort(told); !slices.Equal(told, []int{0, 0, 0, 0, 0, 0, 0, 1}) {
			t.Errorf("the same is new to %v", told)
		}
		held, _ := follow(t, s, 0)
		*s.Feed.Recent = reading.Recent{} // as a process that has written nothing
		read, last := follow(t, s, 0)
		if diff := cmp.Diff(held, read, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("what is read back is told otherwise (-held +read):\n%s", diff)
		}
		var got []string
		for _, e := range read {
			if e.Callback != nil {
				got = append(got, e.Callback.Address)
			}
			if e.At.IsZero() || e.ID == "" || e.Tenant != "t1" {
				t.Errorf("told is %+v", e)
			}
		}
		if want := []string{"a", "b", "c", "d"}; !slices.Equal(got, want) || len(read) != 5 {
			t.Errorf("told are %v of %d, want %v and an acceptance", got, len(read), want)
		}
		if _, err := s.Feed.PruneFeed(t.Context(), at().Add(time.Hour), -time.Minute, 3); err != nil {
			t.Fatal(err)
		}
		if left, _, err := sqldb.First(s.DB.Reads(t.Context()), sqldb.Number, "SELECT COUNT(*) FROM posthouse_callback_events"); err != nil || left != 1 {
			t.Errorf("%d are left, %v; want 1 of 4, since 3 go at a time", left, err)
		}
		if list, _ := follow(t, s, last-1); len(list) > 1 {
			t.Errorf("after the pruning %+v are told", list)
		}
	})
}
