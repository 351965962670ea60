package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// given has so many seats in each lane, and notes what it was asked for.
type given struct {
	n     int
	epoch int64
	by    []string
	asked map[work.Lane]int
	runs  int
	last  []work.Seating // of the last run
}

func (g *given) Run(time.Time) { g.runs, g.asked, g.last = g.runs+1, map[work.Lane]int{}, nil }

func (g *given) Ask(lane work.Lane, n int) work.Seating {
	g.asked[lane] += n
	s := work.Seating{N: min(g.n, n), Accounts: g.by, Owner: "w1", Lease: time.Minute, Epoch: g.epoch, Flight: posthouse.NewID()}
	g.last = append(g.last, s)
	return s
}

// start accepts with seats.
func start(t *testing.T, s *Store, g *given, subs ...*work.Submission) ([]work.Outcome, []work.Start) {
	t.Helper()
	outcomes, starts, err := s.Submissions.AcceptAndStart(t.Context(), at(), subs, g)
	if err != nil {
		t.Fatal(err)
	}
	return outcomes, starts
}

func startedIDs(starts []work.Start) (ids []string) {
	for _, s := range starts {
		for i := range s.Items {
			ids = append(ids, s.Items[i].Delivery.ID)
		}
	}
	return ids
}

// A start with the accept is told as any other: what is said of it is the same once it is expanded, and its results are written as
// those of a claim.
func TestAStartWithTheAcceptIsToldAsAClaim(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for _, fed := range []bool{false, true} {
			s.Queue.feed.set(fed)
			var subs []*work.Submission
			var ids []string
			for range 4 {
				subs = append(subs, submit(entry(1, func(e *work.Entry) { e.Message.Kind, e.Message.Ref = "k", "7" })))
				ids = append(ids, subs[len(subs)-1].Entries[0].Deliveries[0].ID)
			}
			subs[0].Key, subs[0].Hash = posthouse.NewID(), "h" // which makes it many statements
			outcomes, starts := start(t, s, &given{n: 3, epoch: 1, by: []string{"north", "south", "north"}}, subs...)
			if diff := cmp.Diff(ids[:3], startedIDs(starts)); diff != "" || len(starts) != 1 {
				t.Fatalf("what has begun, in %d starts (-want +got):\n%s", len(starts), diff)
			}
			for i := range outcomes {
				if !outcomes[i].SeatAsked(0) {
					t.Errorf("submission %d is said not to have asked", i)
				}
			}
			wantRows(t, s, map[string]int64{"posthouse_flights": 1, "posthouse_due": 1})
			for i, item := range starts[0].Items {
				d, err := s.Messages.Delivery(t.Context(), "t1", item.Delivery.ID)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(d, item.Delivery); diff != "" {
					t.Errorf("what is sent (-stored +handed over):\n%s", diff)
				}
				m, _, err := s.Messages.Message(t.Context(), "t1", item.Message.ID)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(m, *item.Message); diff != "" {
					t.Errorf("the message that is sent (-stored +handed over):\n%s", diff)
				}
				if want := []string{"north", "south", "north"}[i]; item.Delivery.Account != want {
					t.Errorf("delivery %d goes by %q, want %q", i, item.Delivery.Account, want)
				}
			}
			record(t, s, sentClean(starts[0].Items[0].Delivery))
			before := told(t, s, ids...)
			unfold(t, s)
			if diff := cmp.Diff(before, told(t, s, ids...)); diff != "" {
				t.Errorf("a clean delivery and an expanded one (-clean +expanded):\n%s", diff)
			}
			changes := []work.Change{sentClean(starts[0].Items[1].Delivery), sentClean(starts[0].Items[2].Delivery)}
			if refused, err := s.Queue.Record(t.Context(), at(), func(time.Time) []work.Change { return changes }); err != nil || len(refused) > 0 {
				t.Errorf("the results of expanded deliveries: %v, refused %v", err, refused)
			}
			for _, d := range claim(t, s, 1) {
				record(t, s, sentClean(d.Delivery))
			}
			tamper(t, s, "DELETE FROM posthouse_flights")
		}
	})
}

// The flight of an accept ends with its last result, as a claim's.
func TestAStartWithTheAcceptEndsWithItsResults(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		_, starts := start(t, s, &given{n: 2, epoch: 1}, submit(entry(1)), submit(entry(1)))
		var changes []work.Change
		for _, item := range starts[0].Items {
			changes = append(changes, sentClean(item.Delivery))
		}
		record(t, s, changes...)
		wantRows(t, s, map[string]int64{"posthouse_flights": 0, "posthouse_due": 0, "posthouse_sent": 2, "posthouse_transitions": 0})
	})
}

// A process from before a restore, or while the epoch is raised, starts nothing: all of it is due.
func TestUnderAnotherEpochWhatIsAcceptedIsDue(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for _, epoch := range []string{"2", "-2"} {
			tamper(t, s, "UPDATE posthouse_meta SET value = ? WHERE name = 'epoch'", epoch) // which expands what was due
			keyed := submit(entry(1))
			keyed.Key, keyed.Hash = "k"+epoch, "h"
			for _, sub := range []*work.Submission{submit(entry(1)), keyed} {
				outcomes, starts := start(t, s, &given{n: 5, epoch: 1}, sub)
				if len(starts) != 0 || outcomes[0].Err != nil {
					t.Errorf("in epoch %s %v has begun: %+v", epoch, startedIDs(starts), outcomes)
				}
			}
			wantRows(t, s, map[string]int64{"posthouse_flights": 0, "posthouse_due": 2})
		}
	})
}

// Seats are asked for what is stored and may begin as it is: duplicates, what is scheduled, and what would be read otherwise than it was
// handed in get none.
func TestOnlyWhatMayBeginAsItIsAsksForASeat(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		dedup := func(e *work.Entry) { e.Message.DedupKey = "once" }
		g := &given{n: 100, epoch: 1}
		outcomes, starts := start(t, s, g,
			submit(entry(1, dedup)), submit(entry(1, dedup)),
			submit(entry(1, each(func(d *posthouse.Delivery) { d.DueAt = time.Now().Add(time.Hour) }))),
			submit(entry(2)),
			submit(entry(1, each(func(d *posthouse.Delivery) { d.Deadline = time.Now().Add(time.Hour) }))),
			submit(entry(1, in("t1", "c2"))),
		)
		want := map[work.Lane]int{lane: 1, {Tenant: "t1", Channel: "c2", Priority: posthouse.Normal}: 1}
		if diff := cmp.Diff(want, g.asked); diff != "" {
			t.Errorf("what was asked for (-want +got):\n%s", diff)
		}
		if len(starts) != 2 || !outcomes[0].SeatAsked(0) || outcomes[1].SeatAsked(0) || !outcomes[5].SeatAsked(0) {
			t.Errorf("%v has begun: %+v", startedIDs(starts), outcomes)
		}
		wantRows(t, s, map[string]int64{"posthouse_flights": 2, "posthouse_queue": 3})
	})
}

// A start whose commit gave no answer is found by its id: what is stored of it comes back, and what is not cannot be stored any more.
func TestAStartWithoutAnAnswerIsDisowned(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		g := &given{n: 2, epoch: 1}
		_, starts := start(t, s, g, submit(entry(1)), submit(entry(1)))
		for range 2 { // the answer to this may be lost as well
			found, err := s.Queue.Disown(t.Context(), at(), lane, g.last[0])
			if diff := cmp.Diff(startedIDs(starts), found); err != nil || diff != "" {
				t.Fatalf("what was started, %v (-want +got):\n%s", err, diff)
			}
		}
		lost := work.Seating{N: 1, Owner: "w1", Lease: time.Minute, Epoch: 1, Flight: posthouse.NewID()}
		for range 2 {
			if found, err := s.Queue.Disown(t.Context(), at(), lane, lost); err != nil || found != nil {
				t.Fatalf("of what was not stored: %v, %v", found, err)
			}
		}
		sub := submit(entry(1))
		if _, _, err := s.Submissions.AcceptAndStart(t.Context(), at(), []*work.Submission{sub}, same{lost}); err == nil {
			t.Error("an accept is stored whose start was disowned")
		}
		wantRows(t, s, map[string]int64{"posthouse_messages": 2, "posthouse_flights": 2})
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_deliveries"); n != 2 {
			t.Errorf("%d deliveries are shown, want 2", n)
		}
	})
}

// same gives the same seat each time.
type same struct{ work.Seating }

func (same) Run(time.Time)                         {}
func (s same) Ask(_ work.Lane, _ int) work.Seating { return s.Seating }
