package upkeep_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/upkeep"
)

// spending is one budget.
type spending upkeep.Budget

func (s spending) Budgets(time.Time) []upkeep.Budget { return []upkeep.Budget{upkeep.Budget(s)} }

// Of all processes one warns, once in a period, when a budget is nearly spent and when it is.
func TestABudgetIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	shared, log := limit.NewMemory(), &bytes.Buffer{}
	is := spending{Tenant: "t", Channel: "c", Account: "a", To: time.Now().Add(time.Hour), Budget: posthouse.Budget{Max: 10, Per: posthouse.PerDay},
		Bound: limit.Bound{Key: "t/c/a:budget:1", Windows: []posthouse.Limit{{Max: 10, Per: posthouse.Duration(48 * time.Hour)}}}}
	var processes []*upkeep.Budgets
	var seen []*prometheus.Registry
	for range 3 {
		seen = append(seen, prometheus.NewRegistry())
		processes = append(processes, &upkeep.Budgets{Spending: is, Counts: shared, Log: slog.New(slog.NewTextHandler(log, nil)), Metrics: metrics.New(seen[len(seen)-1])})
	}
	for _, step := range []struct {
		more, used, nearly, spent int
	}{{7, 7, 0, 0}, {1, 8, 1, 0}, {1, 9, 1, 0}, {1, 10, 1, 1}} {
		if g, err := shared.Take(t.Context(), []limit.Bound{is.Bound}, step.more); err != nil || g.N != step.more {
			t.Fatalf("%d are granted, %v", g.N, err)
		}
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
