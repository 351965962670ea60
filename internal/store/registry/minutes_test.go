package registry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/store/sqltest"
	"github.com/posthouse/posthouse/internal/work"
)

// FLEET-11: counts of minutes add up over processes, and become counts of hours when they are old.
func TestMinutesAddUpAndBecomeHours(t *testing.T) {
	sqltest.Each(t, func(t *testing.T, db *sqldb.DB) {
		s := Minutes{db}
		now, err := db.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		now = now.Truncate(time.Hour)
		old := now.Add(-91 * 24 * time.Hour)
		count := func(at time.Time, account, outcome string, n int) work.Minute {
			key := work.MinuteKey{At: at, Tenant: "default", Channel: "wecom", Account: account, Type: "text", Outcome: outcome}
			return work.Minute{MinuteKey: key, N: n, Took: time.Duration(n) * 20 * time.Millisecond}
		}
		for range 2 {
			list := []work.Minute{
				count(now, "b", "ok", 3), count(now, "a", "ok", 5), count(now, "a", "rate", 1), count(now.Add(-time.Minute), "a", "ok", 7),
				count(old, "a", "ok", 2), count(old.Add(time.Minute), "a", "ok", 2), count(old.Add(time.Hour), "a", "ok", 1),
			}
			if err := s.AddMinutes(t.Context(), time.Now(), list); err != nil {
				t.Fatal(err)
			}
		}
		sum := func(at time.Time, outcome string, n int) work.Minute {
			return work.Minute{MinuteKey: work.MinuteKey{At: at, Tenant: "default", Channel: "wecom", Outcome: outcome}, N: n}
		}
		theirs := count(now.Add(-time.Minute), "a", "ok", 99)
		theirs.Tenant = "other"
		if err := s.AddMinutes(t.Context(), time.Now(), []work.Minute{theirs}); err != nil {
			t.Fatal(err)
		}
		own, err := s.MinutesOf(t.Context(), "default", now.Add(-time.Minute))
		if diff := cmp.Diff([]work.Minute{sum(now.Add(-time.Minute), "ok", 14), sum(now, "ok", 16), sum(now, "rate", 2)}, own); err != nil || diff != "" {
			t.Errorf("%v, of a tenant (-want +got):\n%s", err, diff)
		}
		byHour, err := s.HoursOf(t.Context(), "default", old.Add(90*time.Minute))
		if diff := cmp.Diff([]work.Minute{sum(old.Add(time.Hour), "ok", 2), sum(now.Add(-time.Hour), "ok", 14), sum(now, "ok", 16), sum(now, "rate", 2)}, byHour); err != nil || diff != "" {
			t.Errorf("%v, of a tenant by the hour (-want +got):\n%s", err, diff)
		}
		want := []work.Minute{count(now, "a", "ok", 10), count(now, "a", "rate", 2), count(now, "b", "ok", 6)}
		for _, fold := range []int{2, 1, 0} {
			got, err := s.Minutes(t.Context(), now)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Fatalf("minutes: %v (-want +got):\n%s", err, diff)
			}
			if n, err := s.FoldMinutes(t.Context(), time.Now(), 2); err != nil || n != fold {
				t.Errorf("%d rows were folded, %v; want %d", n, err, fold)
			}
		}
		hours, err := sqldb.All(db.Reads(t.Context()), readMinute(time.Hour), "SELECT "+hoursTable.List+" FROM posthouse_hours ORDER BY hour")
		if diff := cmp.Diff([]work.Minute{count(old, "a", "ok", 8), count(old.Add(time.Hour), "a", "ok", 2)}, hours); err != nil || diff != "" {
			t.Errorf("hours: %v (-want +got):\n%s", err, diff)
		}
		left, err := s.Minutes(t.Context(), old)
		if err != nil || len(left) != 5 {
			t.Errorf("%d minutes are left, %v; want the five of today", len(left), err)
		}
	})
}
