package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/partition"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// wholeness holds that what readers see is whole: every message with deliveries, every delivery with all its events and counted once.
func wholeness(t *testing.T, s *Store) {
	t.Helper()
	versions, settled := map[string]int64{}, 0
	if _, err := s.History.ExportEvents(t.Context(), "", "", func(e posthouse.Event) error {
		versions[e.Delivery] = max(versions[e.Delivery], e.Version)
		return nil
	}); err != nil {
		t.Error(err)
	}
	err := s.History.Holdings(t.Context(), func(h reading.Holding) error {
		if h.Message == nil || len(h.Deliveries) == 0 {
			t.Errorf("message %s: %v with %d deliveries", h.ID, h.Message, len(h.Deliveries))
		}
		for i := range h.Deliveries {
			d := &h.Deliveries[i]
			if versions[d.ID] != d.Version {
				t.Errorf("delivery %s is of version %d, and its events of %d", d.ID, d.Version, versions[d.ID])
			}
			if delete(versions, d.ID); !d.State.Open() {
				settled++
			}
		}
		return nil
	})
	if err != nil || len(versions) > 0 {
		t.Errorf("events without deliveries: %v, %v", versions, err)
	}
	counts, err := s.Queue.Counts(t.Context(), "t1", time.Time{})
	for _, c := range counts {
		settled -= c.Count
	}
	if err != nil || settled != 0 {
		t.Errorf("%d more settled deliveries are stored than counted, %v", settled, err)
	}
}

// pastSent and pastFailed hand in messages of some time ago, which were settled then.
func pastSent(t *testing.T, s *Store, ago time.Duration) string {
	id := handedIn(t, s, entry(1, aged(ago)), sentClean)
	raw(t, s, "UPDATE posthouse_sent SET at = at - ? WHERE id = ?", ago.Microseconds(), id)
	raw(t, s, "DELETE FROM posthouse_late WHERE id = ?", id)
	return id
}

func pastFailed(t *testing.T, s *Store, ago time.Duration) string {
	id := handedIn(t, s, entry(1, aged(ago)), failed)
	raw(t, s, "UPDATE posthouse_settled SET updated_at = updated_at - ? WHERE id = ?", ago.Microseconds(), id)
	raw(t, s, "UPDATE posthouse_transitions SET at = at - ? WHERE delivery = ?", ago.Microseconds(), id)
	raw(t, s, "DELETE FROM posthouse_late WHERE id = ?", id)
	return id
}

func missing(t *testing.T, s *Store, id string) {
	t.Helper()
	if _, err := s.Messages.Delivery(t.Context(), "t1", id); posthouse.CodeOf(err) != posthouse.CodeNotFound {
		t.Errorf("delivery %s: %v, want it gone", id, err)
	}
}

// A process that is killed between two tables of MariaDB leaves rows that nobody sees or misses, and the next one completes it.
func TestADropThatWasKilledIsCompleted(t *testing.T) {
	eachPartitioned(t, func(t *testing.T, s *Store) {
		if s.Upkeep.parted.Way().Resume == nil {
			return // one transaction
		}
		const keep = 30 * day
		for ago := 100; ago > 60; ago -= 4 {
			partitionsBefore(t, s, time.Duration(ago)*day, keep)
		}
		for tables := range len(partition.InPartitions) + 1 {
			over := partition.SpansOver(slotsOf(t, s), time.Now(), keep)
			if len(over) == 0 {
				t.Fatal("no partition is over")
			}
			of := over[0]
			ago := time.Since(of.From) - time.Hour
			gone, refused := pastSent(t, s, ago), pastFailed(t, s, ago)
			stays := []string{handedIn(t, s, entry(1, aged(ago)), ambiguous), handedIn(t, s, entry(1, aged(ago)), sentClean)}
			before := story(t, s, stays...)
			if err := killedAfter(t, s, of, tables, keep); err != nil {
				t.Fatal(err)
			}
			wholeness(t, s)
			if diff := cmp.Diff(before, story(t, s, stays...)); diff != "" {
				t.Errorf("after %d tables (-before +after):\n%s", tables, diff)
			}
			changeLate(t, s, refused, tables)
			if err := s.Upkeep.parted.Way().Resume(t.Context(), s.Upkeep.parted, sqldb.Micros(time.Now().Add(-keep))); err != nil {
				t.Fatal(err)
			}
			wholeness(t, s)
			if diff := cmp.Diff(before, story(t, s, stays...)); diff != "" {
				t.Errorf("completed after %d tables (-before +after):\n%s", tables, diff)
			}
			missing(t, s, gone)
			missing(t, s, refused)
			if n := rowsIn(t, s, "posthouse_transitions WHERE delivery = '"+refused+"'") + rowsIn(t, s, "posthouse_sent WHERE id = '"+gone+"'"); n != 0 {
				t.Errorf("%d rows are left of what is gone", n)
			}
		}
		if list, err := sqldb.All(s.DB.Reads(t.Context()), sqldb.Word, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE '%leaving'"); err != nil || len(list) > 0 {
			t.Errorf("tables %v are left, %v", list, err)
		}
	})
}

// killedAfter does what is left by a process that was killed after so many tables, in the middle of the next.
func killedAfter(t *testing.T, s *Store, of partition.Span, tables int, keep time.Duration) error {
	cutoff := sqldb.Micros(time.Now().Add(-keep))
	return partition.AlterMySQL(t.Context(), s.Upkeep.parted, func(x partition.Altering) error {
		err := errors.Join(x.Note(partition.MetaLeaving, layout.IDAt(of.From)+" "+layout.IDAt(of.To)), x.Note(partition.MetaFloor, layout.IDAt(of.To)))
		for _, in := range partition.InPartitions[:tables] {
			for _, h := range slotsOf(t, s) {
				if err == nil && h.Table == in.Table && h.To == layout.IDAt(of.To) {
					err = x.RetireOne(h, of, cutoff)
				}
			}
		}
		if err == nil && tables < len(partition.InPartitions) {
			err = x.MakeLeaving(partition.InPartitions[tables].Table)
		}
		return err
	})
}

// changeLate asks for a change of what is on its way out.
func changeLate(t *testing.T, s *Store, id string, tables int) {
	t.Helper()
	made, err := s.Submissions.AddReplay(t.Context(), at(), "t1", []string{id}, false)
	switch {
	case tables < 3 && posthouse.CodeOf(err) != posthouse.CodeUnavailable:
		t.Errorf("a replay of what leaves after %d tables: %+v, %v; want it refused for now", tables, made, err)
	case tables >= 3 && (err != nil || posthouse.CodeOf(made[0].Err) != posthouse.CodeNotFound):
		t.Errorf("a replay of what has left after %d tables: %+v, %v", tables, made, err)
	}
}

// What is changed while its partition is dropped stays whole or goes whole.
func TestReplaysAndReceiptsMeetADrop(t *testing.T) {
	eachPartitioned(t, func(t *testing.T, s *Store) {
		const keep, rounds, each = 30 * day, 3, 6
		for ago := 100; ago > 80; ago -= 4 {
			partitionsBefore(t, s, time.Duration(ago)*day, keep)
		}
		for range rounds {
			of := partition.SpansOver(slotsOf(t, s), time.Now(), keep)[0]
			ago := time.Since(of.From) - time.Hour
			var failedOnes, sentOnes []string
			for range each {
				failedOnes, sentOnes = append(failedOnes, pastFailed(t, s, ago)), append(sentOnes, pastSent(t, s, ago))
			}
			var all sync.WaitGroup
			var mu sync.Mutex
			stays := map[string]bool{}
			add := func(id string) { mu.Lock(); stays[id] = true; mu.Unlock() }
			all.Go(func() { replayEach(t, s, failedOnes, add) })
			all.Go(func() { receiveEach(t, s, sentOnes, add) })
			all.Go(func() {
				for range 2 * each { // others go on
					accept(t, s, entry(1))
					claim(t, s, 1)
				}
			})
			all.Go(func() {
				for partition.SpansOver(slotsOf(t, s), time.Now(), keep)[0].To.Equal(of.To) { // where a lock was not had it is tried again
					_, _ = s.Upkeep.parted.Way().Retire(t.Context(), s.Upkeep.parted, of, sqldb.Micros(time.Now().Add(-keep)))
				}
			})
			all.Wait()
			for len(claim(t, s, 100)) > 0 { // else the next round would take them for its own
			}
			wholeness(t, s)
			for id := range stays {
				if _, err := s.Messages.Delivery(t.Context(), "t1", id); err != nil {
					t.Errorf("delivery %s was changed and is gone: %v", id, err)
				}
			}
		}
	})
}

// replayEach replays deliveries, and adds the replays.
func replayEach(t *testing.T, s *Store, ids []string, add func(string)) {
	for _, id := range ids {
		made, err := s.Submissions.AddReplay(t.Context(), at(), "t1", []string{id}, false)
		switch {
		case err == nil && made[0].Err == nil:
			add(made[0].ID)
		case err != nil && posthouse.CodeOf(err) != posthouse.CodeUnavailable, err == nil && posthouse.CodeOf(made[0].Err) != posthouse.CodeNotFound:
			t.Errorf("replay: %+v, %v", made, err)
		}
	}
}

// receiveEach takes receipts of deliveries, and adds those that were still there.
func receiveEach(t *testing.T, s *Store, ids []string, add func(string)) {
	for _, id := range ids {
		there := false
		err := s.Receipts.Receive(t.Context(), at(), []string{id}, func(_ time.Time, found []posthouse.Delivery) work.Learnt {
			there = len(found) > 0
			var l work.Learnt
			for _, d := range found {
				l.Changes = append(l.Changes, step(d, posthouse.EventReceipt, posthouse.Delivered))
			}
			return l
		})
		if err != nil && posthouse.CodeOf(err) != posthouse.CodeUnavailable && !errors.Is(err, context.Canceled) {
			t.Errorf("receipt: %v", err)
		}
		if err == nil && there {
			add(id)
		}
	}
}

// A walk over rows does not read again what stays.
func TestAWalkGoesOnWhereItWas(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		keep := work.Retention{Sent: 10 * day, Other: 30 * day}
		ages := []time.Duration{40 * day, 20 * day, 19 * day, 5 * day}
		var sent, failures []string
		for _, ago := range ages {
			sent = append(sent, handedIn(t, s, entry(1, aged(ago)), sentClean))
			raw(t, s, "UPDATE posthouse_sent SET at = at - ? WHERE id = ?", ago.Microseconds(), sent[len(sent)-1])
			failures = append(failures, handedIn(t, s, entry(1, aged(ago)), failed))
			raw(t, s, "UPDATE posthouse_settled SET updated_at = updated_at - ? WHERE id = ?", ago.Microseconds(), failures[len(failures)-1])
		}
		for range 2 {
			for n := 1; n > 0; {
				var err error
				if n, err = s.Upkeep.Prune(t.Context(), at(), keep, 2); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, ago := range ages {
			for kind, gone := range map[string]bool{sent[i]: ago > keep.Sent, failures[i]: ago > keep.Other} {
				if _, err := s.Messages.Delivery(t.Context(), "t1", kind); (posthouse.CodeOf(err) == posthouse.CodeNotFound) != gone {
					t.Errorf("settled %s ago, sent is %v: %v", ago, kind == sent[i], err)
				}
			}
		}
		for _, w := range walksOf(keep) {
			if from := s.Upkeep.walks.from(w.name(), at()).to; layout.TimeOfID(from).Before(at().Add(-w.keep - 2*walkSlack)) {
				t.Errorf("the walk over %s%s begins at %v", w.table, w.states, layout.TimeOfID(from))
			}
			if from := s.Upkeep.walks.from(w.name(), at().Add(walkAgain+time.Minute)).to; from != "" {
				t.Errorf("a day later it begins at %q", from)
			}
		}
		if _, err := s.Upkeep.Prune(t.Context(), at(), work.Retention{Sent: work.Forever, Other: work.Forever}, 10); err != nil {
			t.Error(err)
		}
	})
}
