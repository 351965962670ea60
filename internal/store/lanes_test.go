package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

func TestLaneNumbersAreReadBack(t *testing.T) {
	t.Parallel()
	want := map[int64]work.Lane{
		0: {Priority: posthouse.High}, 1: {Priority: posthouse.Normal}, 2: {Priority: posthouse.Low},
		10: {Priority: posthouse.High, Pulled: true}, 11: {Priority: posthouse.Normal, Pulled: true}, 12: {Priority: posthouse.Low, Pulled: true},
		20: {Priority: posthouse.High, Pulled: true, Again: true}, 21: {Priority: posthouse.Normal, Pulled: true, Again: true},
		22: {Priority: posthouse.Low, Pulled: true, Again: true},
	}
	got := map[int64]work.Lane{}
	for n := int64(-3); n < 40; n++ {
		var l work.Lane
		if l.Priority, l.Pulled, l.Again = layout.ReadLane(n); layout.NumberOf(l) == n {
			got[n] = l
		} else if l != (work.Lane{Priority: posthouse.Normal}) {
			t.Errorf("number %d is read as %+v", n, l)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
}

// What is pulled and what is pushed never meet, and what failed waits apart.
func TestLanesAreLookedAtAndCountedApart(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(2, pulled), entry(1, pulled, each(func(d *posthouse.Delivery) { d.Tries = 1 })))
		lanes := []work.Lane{lane, lane, lane}
		lanes[1].Pulled, lanes[2].Pulled, lanes[2].Again = true, true, true
		ready, err := s.Queue.Ready(t.Context(), at(), lanes)
		if diff := cmp.Diff([]bool{false, true, true}, ready); err != nil || diff != "" {
			t.Errorf("ready: %v (-want +got):\n%s", err, diff)
		}
		if items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: lane, Max: 10, Owner: "w", Lease: time.Minute, Epoch: 1}); err != nil || len(items) != 0 {
			t.Errorf("a worker claims %d of what agents fetch, %v", len(items), err)
		}
		depths, err := s.Queue.Depths(t.Context())
		got := map[work.Lane]int{}
		for _, d := range depths {
			if got[d.Lane] = d.Count; d.Unreadable {
				t.Errorf("%+v cannot be read", d.Lane)
			}
		}
		if diff := cmp.Diff(map[work.Lane]int{lanes[1]: 2, lanes[2]: 1}, got); err != nil || diff != "" {
			t.Errorf("depths: %v (-want +got):\n%s", err, diff)
		}
	})
}

// However many channels there are, each is looked at, with few texts: those that PostgreSQL is told are kept.
func TestTheLanesOfManyChannelsAreLookedAt(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		var lanes []work.Lane
		for c := range 200 {
			for _, p := range posthouse.Priorities() {
				lanes = append(lanes, work.Lane{Tenant: "t1", Channel: fmt.Sprint("c", c), Priority: p})
			}
		}
		want := make([]bool, len(lanes))
		for _, c := range []int{0, 33, 34, 66, 199} { // on both sides of where the looks are cut
			for i, p := range posthouse.Priorities() {
				if want[3*c+i] = (c+i)%2 == 0; want[3*c+i] {
					accept(t, s, entry(1, in("t1", fmt.Sprint("c", c)), each(func(d *posthouse.Delivery) { d.Priority = p })))
				}
			}
		}
		texts := 0
		for n := range 6 {
			ready, err := s.Queue.Ready(t.Context(), at(), lanes[100*n:])
			if diff := cmp.Diff(want[100*n:], ready); err != nil || diff != "" {
				t.Fatalf("ready of %d lanes: %v (-want +got):\n%s", len(lanes[100*n:]), err, diff)
			}
			kept := 0
			s.DB.Texts.Range(func(any, any) bool { kept++; return true })
			if n == 0 {
				texts = kept
			} else if kept != texts {
				t.Errorf("%d texts are kept after a look at %d lanes, want %d as before", kept, len(lanes[100*n:]), texts)
			}
		}
	})
}

// What was accepted as its channel turned waits where nobody looks, until it is moved: all of it, however often it was tried.
func TestWhatWaitsInALaneOfTheOtherKindIsTurned(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		pushed, again := lane, lane
		again.Pulled, again.Again = true, true
		fresh := again
		fresh.Again = false
		tried := each(func(d *posthouse.Delivery) { d.Tries, d.DueAt = 1, time.Now().Add(time.Hour) })
		accept(t, s, entry(1))
		sending := claim(t, s, 1)[0].Delivery
		ids := accept(t, s, entry(sqldb.BulkStep+2), entry(1, tried))
		accept(t, s, entry(1, in("t1", "c2")), entry(1, each(func(d *posthouse.Delivery) { d.Priority = posthouse.High })))
		depths := func() map[work.Lane]int {
			t.Helper()
			list, err := s.Queue.Depths(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := map[work.Lane]int{}
			for _, d := range list {
				if d.Channel == "c1" && d.Priority == posthouse.Normal && d.State == posthouse.Pending {
					got[d.Lane] = d.Count
				}
			}
			return got
		}
		for _, turn := range []struct {
			from      work.Lane
			max, want int
			lanes     map[work.Lane]int
			tally     work.Tally
		}{
			{pushed, 1, 1, map[work.Lane]int{pushed: sqldb.BulkStep + 2, fresh: 1}, work.Tally{New: 1}},
			{pushed, 2 * sqldb.BulkStep, sqldb.BulkStep + 2, map[work.Lane]int{fresh: sqldb.BulkStep + 2, again: 1}, work.Tally{New: sqldb.BulkStep + 2, Retry: 1}},
			{pushed, 2 * sqldb.BulkStep, 0, map[work.Lane]int{fresh: sqldb.BulkStep + 2, again: 1}, work.Tally{New: sqldb.BulkStep + 2, Retry: 1}},
			{again, 10, 1, map[work.Lane]int{pushed: 1, fresh: sqldb.BulkStep + 2}, work.Tally{New: sqldb.BulkStep + 2}},
			{fresh, 2 * sqldb.BulkStep, sqldb.BulkStep + 2, map[work.Lane]int{pushed: sqldb.BulkStep + 3}, work.Tally{}},
		} {
			n, err := s.Queue.Turn(t.Context(), at(), turn.from, turn.max)
			if n != turn.want || err != nil {
				t.Errorf("Turn(%+v, %d) = %d, %v; want %d", turn.from, turn.max, n, err, turn.want)
			}
			if diff := cmp.Diff(turn.lanes, depths()); diff != "" {
				t.Errorf("lanes after Turn(%+v, %d) (-want +got):\n%s", turn.from, turn.max, diff)
			}
			wantTally(t, s, turn.tally)
		}
		wantChain(t, s, ids[0], "accept")
		record(t, s, step(sending, posthouse.EventSent, posthouse.Sent)) // what was under way is as it was
	})
}
