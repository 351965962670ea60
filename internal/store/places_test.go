package store

import (
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// holds compares which place holds the database; the epoch and the time are the database's.
func holds(t *testing.T, s *Store, want work.Holding) work.Holding {
	t.Helper()
	h, epoch, found, err := s.Places.Holding(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if found != (want.Place != "") {
		t.Fatalf("a place holds: %t (%+v)", found, h)
	}
	if !found {
		return work.Holding{}
	}
	if h.Epoch != epoch || h.Since.IsZero() || h.Place != want.Place || h.Phase != want.Phase || h.From != want.From {
		t.Fatalf("got %+v in epoch %d, want %+v", h, epoch, want)
	}
	return h
}

func TestAPlaceHoldsADatabaseUntilItHandsItOver(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		take := func(place string) {
			t.Helper()
			if _, err := s.Places.Take(t.Context(), at(), place); err != nil {
				t.Fatal(err)
			}
		}
		leave := func(to string) {
			t.Helper()
			if _, err := s.Places.Leave(t.Context(), at(), to); err != nil {
				t.Fatal(err)
			}
		}
		holds(t, s, work.Holding{})
		_, err := s.Places.Leave(t.Context(), at(), "b")
		wantCode(t, err, posthouse.CodeConflict)
		take("a")
		first := holds(t, s, work.Holding{Place: "a", Phase: work.PhaseHeld})
		take("b")
		take("a")
		if again := holds(t, s, work.Holding{Place: "a", Phase: work.PhaseHeld}); again != first {
			t.Errorf("taken again it is %+v, was %+v", again, first)
		}
		wantCode(t, s.Places.Ready(t.Context(), at(), "b"), posthouse.CodeConflict)

		s.SetPlace("a")
		accept(t, s, entry(1))
		if got := claim(t, s, 1); len(got) != 1 {
			t.Fatalf("claimed %d", len(got))
		}
		if n, err := s.Places.UnderWay(t.Context()); err != nil || n != 1 {
			t.Errorf("under way: %d, %v", n, err)
		}
		leave("a")
		holds(t, s, work.Holding{Place: "a", Phase: work.PhaseHeld})
		leave("b")
		left := holds(t, s, work.Holding{Place: "b", Phase: work.PhaseLeaving, From: "a"})
		if left.Epoch != first.Epoch+1 {
			t.Errorf("the epoch is %d, was %d", left.Epoch, first.Epoch)
		}
		_, err = s.Submissions.Accept(t.Context(), at(), []*work.Submission{submit(entry(1))})
		var said *posthouse.Error
		if !errors.As(err, &said) || !errors.Is(err, work.ErrElsewhere) || said.Code != posthouse.CodeUnavailable || said.Place == nil || said.Place.Name != "b" {
			t.Errorf("an accept of a place that has left: %v", err)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_messages"); n != 1 {
			t.Errorf("%d messages are stored, want 1", n)
		}
		take("b") // not before all has ended
		holds(t, s, work.Holding{Place: "b", Phase: work.PhaseLeaving, From: "a"})
		if err := s.Places.Ready(t.Context(), at(), "b"); err != nil {
			t.Fatal(err)
		}
		take("a")
		holds(t, s, work.Holding{Place: "b", Phase: work.PhaseReady, From: "a"})
		leave("a") // it takes it back
		leave("b")
		if err := s.Places.Ready(t.Context(), at(), "b"); err != nil {
			t.Fatal(err)
		}
		take("b")
		if got := holds(t, s, work.Holding{Place: "b", Phase: work.PhaseHeld, From: "a"}); got.Epoch != left.Epoch+2 {
			t.Errorf("there, back and there: epoch %d after %d", got.Epoch, left.Epoch)
		}
	})
}

func TestAPlaceHoldsADatabaseUntilItsEpochEnds(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		if _, err := s.Places.Take(t.Context(), at(), "a"); err != nil {
			t.Fatal(err)
		}
		other := work.Holding{Place: "b", Epoch: 9}
		for range 2 { // the second finds it so
			if err := s.Places.Yield(t.Context(), at(), other); err != nil {
				t.Fatal(err)
			}
			if h := holds(t, s, work.Holding{Place: "b", Phase: work.PhaseHeld, From: "a"}); h.Epoch != 9 {
				t.Fatalf("yielded to %+v", h)
			}
		}
		if _, err := s.Epochs.BumpEpoch(t.Context(), at()); err != nil {
			t.Fatal(err)
		}
		holds(t, s, work.Holding{})
		if _, err := s.Places.Take(t.Context(), at(), "a"); err != nil {
			t.Fatal(err)
		}
		holds(t, s, work.Holding{Place: "a", Phase: work.PhaseHeld, From: "b"})
		for _, want := range []bool{true, false} {
			if was, found, err := s.Places.Forget(t.Context(), at()); err != nil || found != want || found && was.Place != "a" {
				t.Errorf("forgotten: %+v, %t, %v", was, found, err)
			}
		}
		holds(t, s, work.Holding{})
	})
}
