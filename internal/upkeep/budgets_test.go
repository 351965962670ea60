package upkeep_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/upkeep"
	"github.com/posthouse/posthouse/internal/work"
)

// spending is one budget.
type spending upkeep.Budget

func (s spending) Budgets(time.Time) []upkeep.Budget { return []upkeep.Budget{upkeep.Budget(s)} }

// wall is a feed: what has the same id is told once. While it is down it takes nothing, and nothing of a channel that it refuses.
type wall struct {
	down    bool
	refuses string
	told    map[string]posthouse.FeedEvent
}

func (w *wall) Tell(_ context.Context, _ time.Time, list []work.Told) (int, error) {
	if w.down || len(list) > 0 && list[0].Channel == w.refuses {
		return 0, errors.New("no answer")
	}
	for _, one := range list {
		w.told[one.ID] = one.FeedEvent
	}
	return len(list), nil
}

// Of all processes one warns, once in a period, when a budget is nearly spent and when it is. Whoever follows the feed is told too, also where
// it could not be reached at first.
func TestABudgetIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	shared, log, feed := limit.NewMemory(), &bytes.Buffer{}, &wall{told: map[string]posthouse.FeedEvent{}}
	is := spending{Tenant: "t", Channel: "c", Account: "a", To: time.Now().Add(time.Hour), Budget: posthouse.Budget{Max: 10, Per: posthouse.PerDay},
		Bound: limit.Bound{Key: "t/c/a:budget:1", Windows: []posthouse.Limit{{Max: 10, Per: posthouse.Duration(48 * time.Hour)}}}}
	var processes []*upkeep.Budgets
	var seen []*prometheus.Registry
	for range 3 {
		seen = append(seen, prometheus.NewRegistry())
		processes = append(processes, &upkeep.Budgets{Spending: is, Counts: shared, Feed: feed, Log: slog.New(slog.NewTextHandler(log, nil)), Metrics: metrics.New(seen[len(seen)-1])})
	}
	for _, step := range []struct {
		more, used, nearly, spent int
	}{{7, 7, 0, 0}, {1, 8, 1, 0}, {1, 9, 1, 0}, {1, 10, 1, 1}} {
		if g, err := shared.Take(t.Context(), []limit.Bound{is.Bound}, step.more); err != nil || g.N != step.more {
			t.Fatalf("%d are granted, %v", g.N, err)
		}
		if err := processes[0].Look(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		feed.down = step.used == 8
		if err := processes[0].Look(t.Context(), time.Now()); (err != nil) != feed.down {
			t.Errorf("with %d used and the feed down %t: %v", step.used, feed.down, err)
		}
		feed.down = false
		for i, p := range processes {
			for range 2 {
				if err := p.Look(t.Context(), time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			if got := gauge(t, seen[i], "posthouse_budget_used"); got != float64(step.used) {
				t.Errorf("%v are shown as used of %d", got, step.used)
			}
		}
		nearly, spent := strings.Count(log.String(), "a budget is nearly spent"), strings.Count(log.String(), "a budget is spent")
		if nearly != step.nearly || spent != step.spent {
			t.Errorf("after %d of 10: %d lines of nearly and %d of spent, want %d and %d", step.used, nearly, spent, step.nearly, step.spent)
		}
		if len(feed.told) != step.nearly+step.spent {
			t.Errorf("after %d of 10 the feed has %+v", step.used, feed.told)
		}
	}
	got := map[string]int{}
	for id, e := range feed.told {
		if len(id) > 64 || e.Tenant != "t" || e.Channel != "c" || e.Account != "a" || e.Budget.Max != 10 || e.Budget.Per != posthouse.PerDay || !e.Budget.Until.Equal(is.To) {
			t.Errorf("%s tells %+v of %+v", id, e, e.Budget)
		}
		got[e.Type()] = e.Budget.Used
	}
	if want := map[string]int{"budget.warned": 8, "budget.spent": 10}; !maps.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

// What a process holds for a moment and gives back is not told.
func TestABudgetThatIsGivenBackIsNotWarnedOf(t *testing.T) {
	t.Parallel()
	counts, feed := limit.NewMemory(), &wall{told: map[string]posthouse.FeedEvent{}}
	is := spending{Tenant: "t", Channel: "c", To: time.Now().Add(time.Hour), Budget: posthouse.Budget{Max: 5, Per: posthouse.PerDay},
		Bound: limit.Bound{Key: "t/c:budget:1", Windows: []posthouse.Limit{{Max: 5, Per: posthouse.Duration(48 * time.Hour)}}}}
	b := &upkeep.Budgets{Spending: is, Counts: counts, Feed: feed, Log: slog.New(slog.DiscardHandler), Metrics: metrics.New(prometheus.NewRegistry())}
	look := func(want ...string) {
		t.Helper()
		if err := b.Look(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range feed.told {
			got = append(got, e.Type())
		}
		slices.SortFunc(got, func(a, b string) int { return strings.Compare(b, a) })
		if !slices.Equal(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
	}
	take := func(n int) limit.Grant {
		t.Helper()
		g, err := counts.Take(t.Context(), []limit.Bound{is.Bound}, n)
		if err != nil || g.N != n {
			t.Fatalf("%d are granted, %v", g.N, err)
		}
		return g
	}
	back := func(g limit.Grant) {
		t.Helper()
		if err := counts.Refund(t.Context(), g, g.N); err != nil {
			t.Fatal(err)
		}
	}
	take(3)
	held := take(2)
	look()
	back(held)
	for range 2 {
		look()
	}
	take(1)
	held = take(1)
	look()
	for i := range 20 { // each look meets a claim, and never the same
		back(held)
		held = take(1)
		if i < 4 {
			look()
		} else {
			look("budget.warned")
		}
	}
	if used := slices.Collect(maps.Values(feed.told))[0].Budget.Used; used != 4 {
		t.Errorf("warned of %d, want 4", used)
	}
	look("budget.warned", "budget.spent") // of what nothing was granted between two looks
}

// A budget whose reserve goes on being spent is told to be spent for all others, which needs no rest.
func TestABudgetIsSpentWhileItsReserveIsNot(t *testing.T) {
	t.Parallel()
	counts, feed := limit.NewMemory(), &wall{told: map[string]posthouse.FeedEvent{}}
	is := spending{Tenant: "t", Channel: "c", To: time.Now().Add(time.Hour), Budget: posthouse.Budget{Max: 100, Per: posthouse.PerDay, WhenSpent: posthouse.SpentHighPriority, Reserve: 50},
		Bound: limit.Bound{Key: "t/c:budget:1", Windows: []posthouse.Limit{{Max: 100, Per: posthouse.Duration(48 * time.Hour)}}}}
	b := &upkeep.Budgets{Spending: is, Counts: counts, Feed: feed, Log: slog.New(slog.DiscardHandler), Metrics: metrics.New(prometheus.NewRegistry())}
	looks := 0
	for n := 50; len(feed.told) == 0; n = 1 {
		if g, err := counts.Take(t.Context(), []limit.Bound{is.Bound}, n); err != nil || g.N != n {
			t.Fatalf("%d are granted, %v: not told in %d looks", g.N, err, looks)
		}
		if err := b.Look(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		looks++
	}
	for _, e := range feed.told {
		if e.Type() != "budget.spent" || e.Budget.Used != 50 || looks != 6 {
			t.Errorf("after %d looks told %s, %d of %d; want spent, 50 of 100, after 6", looks, e.Type(), e.Budget.Used, e.Budget.Max)
		}
	}
}

// several are budgets.
type several []upkeep.Budget

func (s several) Budgets(time.Time) []upkeep.Budget { return s }

// One budget that cannot be told keeps none of the others from being told and shown.
func TestABudgetThatCannotBeToldKeepsNoOther(t *testing.T) {
	t.Parallel()
	counts, feed := limit.NewMemory(), &wall{refuses: "ill", told: map[string]posthouse.FeedEvent{}}
	var list several
	for _, channel := range []string{"ill", "well"} {
		is := upkeep.Budget{Tenant: "t", Channel: channel, To: time.Now().Add(time.Hour), Budget: posthouse.Budget{Max: 1, Per: posthouse.PerDay},
			Bound: limit.Bound{Key: "t/" + channel + ":budget:1", Windows: []posthouse.Limit{{Max: 1, Per: posthouse.Duration(48 * time.Hour)}}}}
		if g, err := counts.Take(t.Context(), []limit.Bound{is.Bound}, 1); err != nil || g.N != 1 {
			t.Fatalf("%d are granted, %v", g.N, err)
		}
		list = append(list, is)
	}
	b := &upkeep.Budgets{Spending: list, Counts: counts, Feed: feed, Log: slog.New(slog.DiscardHandler), Metrics: metrics.New(prometheus.NewRegistry())}
	for _, fails := range []bool{false, true} { // the first look only sees them
		if err := b.Look(t.Context(), time.Now()); (err != nil) != fails {
			t.Errorf("the look ends with %v, want an error: %t", err, fails)
		}
	}
	if len(feed.told) != 1 {
		t.Errorf("told %v, want the budget of well alone", feed.told)
	}
}

// gauge is the value of a gauge that has one series.
func gauge(t *testing.T, of *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := of.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name && len(f.GetMetric()) == 1 {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return -1
}
