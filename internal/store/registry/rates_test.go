package registry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/store/sqltest"
	"github.com/posthouse/posthouse/internal/work"
)

// Rates are kept by the minute, each process's beside the others', and read of one account of one tenant. What is written twice stands
// once, and what is older than a day goes in parts.
func TestRatesAreKeptForADay(t *testing.T) {
	sqltest.Each(t, func(t *testing.T, db *sqldb.DB) {
		s := Minutes{db}
		now, err := db.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		now = now.Truncate(time.Minute)
		row := func(at time.Time, account string, process int64, rate float64) work.RateMinute {
			return work.RateMinute{At: at, Tenant: "default", Channel: "wecom", Process: process, Rate: posthouse.Rate{
				Account: account, Rate: rate, Base: 20, Health: rate / 20, Success: 1, Load: 0.5, Time: 2, Reason: "punished"}}
		}
		theirs := row(now, "a", 1, 9)
		theirs.Tenant = "other"
		elsewhere := row(now, "a", 1, 9)
		elsewhere.Channel = "wechat"
		old := now.Add(-24*time.Hour - time.Minute)
		list := []work.RateMinute{
			row(now, "a", 2, 0.002), row(now, "a", 1, 12.5), row(now.Add(-time.Minute), "a", 1, 5), row(now.Add(-2*time.Minute), "a", 1, 4), row(now, "b", 1, 3), row(now, "", 1, 2), theirs, elsewhere,
			row(old, "a", 1, 1), row(old.Add(-time.Minute), "a", 1, 1), row(old.Add(-time.Minute), "b", 1, 1), row(old.Add(-2*time.Minute), "a", 1, 1),
		}
		for range 2 {
			if err := s.AddRates(t.Context(), time.Now(), list); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.RatesOf(t.Context(), "default", "wecom", "a", now.Add(-time.Minute))
		if diff := cmp.Diff([]work.RateMinute{list[2], list[1], list[0]}, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if got, err := s.RatesOf(t.Context(), "default", "wecom", "", now); err != nil || len(got) != 1 || got[0].Rate.Rate != 2 {
			t.Errorf("of the account without a name: %+v, %v", got, err)
		}
		for _, want := range []int{3, 1, 0} {
			if n, err := s.DropRates(t.Context(), time.Now(), 2); err != nil || n != want {
				t.Errorf("%d rows were deleted, %v; want %d", n, err, want)
			}
		}
		if got, err := s.RatesOf(t.Context(), "default", "wecom", "a", old.Add(-time.Hour)); err != nil || len(got) != 4 {
			t.Errorf("%d rows are left, %v; want the four of today", len(got), err)
		}
	})
}
