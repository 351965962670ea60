package store

import (
	"testing"
	"time"
)

func TestRowsThatNobodyCanMoveAreCountedApart(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := []string{accept(t, s, entry(1))[0], accept(t, s, entry(1))[0], accept(t, s, entry(1))[0]}
		unfold(t, s)
		for _, spoil := range []struct{ id, set string }{{ids[0], "state = 'warbling'"}, {ids[1], "priority = 77"}} {
			err := s.Queue.change(t.Context(), time.Now(), "spoil a row", func(t *tx) error {
				_, err := t.Exec("UPDATE posthouse_queue SET "+spoil.set+" WHERE id LIKE ?", spoil.id[:22]+"%")
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		depths, err := s.Queue.Depths(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		readable, unreadable := 0, 0
		for _, d := range depths {
			if d.Unreadable {
				unreadable += d.Count
			} else {
				readable += d.Count
			}
		}
		if readable != 1 || unreadable != 2 {
			t.Errorf("got %d readable and %d unreadable of %+v, want 1 and 2", readable, unreadable, depths)
		}
	})
}
