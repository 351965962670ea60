package store

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/work"
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

// FLEET-10: what stands before a delivery is counted in the order in which its lane is claimed, up to a bound, and no other lane's.
func TestFLEET_10_WhatStandsBeforeADeliveryIsCounted(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		var ids []string
		for range 3 {
			ids = append(ids, accept(t, s, entry(2))...) // these have rows of their own
			ids = append(ids, accept(t, s, entry(1))[0]) // these are clean
		}
		others := entry(1)
		for i := range others.Deliveries {
			others.Deliveries[i].Pool = "vip"
		}
		pinned := accept(t, s, others)
		for _, of := range []struct {
			id        string
			pin       work.Pin
			max, want int
		}{{ids[0], "", 100, 0}, {ids[len(ids)-1], "", 100, len(ids) - 1}, {ids[len(ids)-1], "", 4, 4}, {pinned[0], work.ByPool("vip"), 100, 0}} {
			d, err := s.Messages.Delivery(t.Context(), "t1", of.id)
			if err != nil {
				t.Fatal(err)
			}
			lane := work.Lane{Tenant: d.Tenant, Channel: d.Channel, Priority: d.Priority, Pin: of.pin}
			if n, err := s.Queue.Ahead(t.Context(), lane, d.DueAt, d.ID, of.max); n != of.want || err != nil {
				t.Errorf("%d stand before %s, %v; want %d", n, of.id, err, of.want)
			}
		}
	})
}
