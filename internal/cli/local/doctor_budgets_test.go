package local

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/server"
)

// leftInRedis is a Redis in which so much is left of each budget.
type leftInRedis int

func (c leftInRedis) Peek(context.Context, []limit.Bound) (limit.Grant, error) {
	return limit.Grant{N: int(c)}, nil
}

// The doctor names the budgets that are spent or nearly so, of channels and of accounts, by what the database has counted and by what Redis
// has counted beyond it. It calls none of it a fault.
func TestTheDoctorNamesBudgetsThatAreNearlySpent(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Options{DSN: dbtest.SQLite(t), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.Schema.Migrate(t.Context())
	must(err)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	put := func(ch posthouse.Channel) {
		t.Helper()
		ch.Tenant, ch.Driver = posthouse.DefaultTenant, "discard"
		_, _, err := s.Channels.PutChannel(t.Context(), now, ch)
		must(err)
	}
	put(posthouse.Channel{Name: "plain"})
	put(posthouse.Channel{Name: "fleet", ChannelSettings: posthouse.ChannelSettings{Accounts: true, Budget: &posthouse.Budget{Max: 100, Per: posthouse.PerMonth}, AccountBudget: &posthouse.Budget{Max: 10, Per: posthouse.PerDay}}})
	_, _, err = s.Accounts.PutAccounts(t.Context(), now, posthouse.DefaultTenant, "fleet", []posthouse.Account{
		{Name: "a"}, {Name: "b", AccountSettings: posthouse.AccountSettings{Budget: &posthouse.Budget{Max: 20, Per: posthouse.PerDay, WhenSpent: posthouse.SpentHighPriority, Reserve: 5}}},
	})
	must(err)
	look := func(now time.Time) []finding { return examineBudgets(t.Context(), s, config.Config{}, now) }
	if got, want := look(now), []finding{{"budgets", true, "3, counted in the database"}}; !slices.Equal(got, want) {
		t.Errorf("of what is not used: %+v", got)
	}
	now = time.Now() // by which the database counts
	list, err := budgetsOf(t.Context(), s, config.Config{}, now)
	must(err)
	for i, n := range []int{79, 10, 16} {
		g, err := limit.SQL{Rows: s.Limits}.Take(t.Context(), []limit.Bound{list[i].tier.Bound}, n)
		if must(err); g.N != n {
			t.Fatalf("%d of %d are granted", g.N, n)
		}
	}
	day := list[1].tier.Spends.To.Format(time.RFC3339)
	zone, err := time.LoadLocation(server.DefaultTimeZone)
	if must(err); list[1].tier.Spends.To.In(zone).Hour() != 0 {
		t.Errorf("where neither channel nor settings name a zone a day ends at %s, want the server's midnight", day)
	}
	got := look(now)
	want := []finding{
		{"budgets", true, "3, counted in the database"},
		{"budget fleet/a", true, "spent: all 10 a day are used; a new period begins at " + day},
		{"budget fleet/b", true, "spent: of 20 a day, the last 4 are for high priority; a new period begins at " + day},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	all := []*outlay{{name: "budget x", tenant: "acme", used: 70, tier: state.Tier{Spends: &state.Spends{Budget: posthouse.Budget{Max: 100, Per: posthouse.PerDay}, To: now.UTC().Truncate(time.Hour)}}}}
	must(beyond(t.Context(), leftInRedis(5), all))
	if got, want := toldOf(all), []finding{{"budget x (tenant acme)", true, "95 of 100 a day are used, 95 %; a new period begins at " + now.UTC().Truncate(time.Hour).Format(time.RFC3339) + "; 25 of them are counted in Redis alone"}}; !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
