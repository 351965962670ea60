package registry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/store/sqltest"
	"github.com/posthouse/posthouse/internal/work"
)

// A process stands once however often it says that it is there, is gone when it says that it ends, and a day after its last word.
func TestProcessesAreNotedUntilTheyEnd(t *testing.T) {
	sqltest.Each(t, func(t *testing.T, db *sqldb.DB) {
		s, ctx := Processes{db}, t.Context()
		began := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
		first := work.Process{ID: "a-1-2f", Host: "甲", Version: "v1", Epoch: 3, Key: "k1", Keyring: "0011223344556677", Started: began}
		second := work.Process{ID: "b-9-00", Host: "b", Version: "v2", Epoch: 3, Key: "k2", Keyring: "8899aabbccddeeff", AcceptOnly: true, Untrusted: true, Started: began.Add(-time.Hour)}
		third := work.Process{ID: "c-9-00", Started: began.Add(time.Hour)}
		before := first
		before.Epoch, before.Version = 2, "v0"
		senders := 0
		for _, p := range []work.Process{before, first, second, third} {
			var err error
			if senders, err = s.Beat(ctx, time.Now(), time.Minute, p); err != nil {
				t.Fatal(err)
			}
		}
		if senders != 2 { // the second accepts alone
			t.Errorf("%d processes send, want 2", senders)
		}
		if err := s.Leave(ctx, third.ID); err != nil {
			t.Fatal(err)
		}
		look := func(want ...work.Process) {
			t.Helper()
			got, now, err := s.Processes(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if ago := now.Sub(got[i].Seen); ago < 0 || ago > time.Hour {
					t.Errorf("%s was seen %s ago", got[i].ID, ago)
				}
				got[i].Seen = time.Time{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("processes (-want +got):\n%s", diff)
			}
		}
		look(second, first)
		err := db.Change(ctx, time.Now(), "age a process", func(t *sqldb.Tx) error {
			_, err := t.Exec("UPDATE posthouse_processes SET seen_at = seen_at - ? WHERE id = ?", (24*time.Hour + time.Minute).Microseconds(), first.ID)
			return err
		})
		if err == nil {
			senders, err = s.Beat(ctx, time.Now(), time.Minute, second)
		}
		if senders != 0 { // the first is silent
			t.Errorf("%d processes send, want none", senders)
		}
		if err == nil {
			err = s.Forget(ctx, time.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
		look(second)
	})
}
