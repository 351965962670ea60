package read

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// gauged are windows and rates that a test made up.
type gauged struct {
	tiers []state.Counted
	rates []work.RateMinute
	looks [][]string // which keys were looked at together
	since time.Time
}

func (g *gauged) Windows(_, channel string, _ []string) ([]state.Counted, bool) {
	return g.tiers, channel == "c"
}

func (g *gauged) Open(string) []string { return []string{"c"} }

func (g *gauged) Fills(_ context.Context, bounds []limit.Bound) ([][]limit.Fill, error) {
	var keys []string
	list := make([][]limit.Fill, len(bounds))
	for i, b := range bounds {
		keys = append(keys, b.Key)
		for _, w := range b.Windows {
			list[i] = append(list[i], limit.Fill{Limit: w, Used: 2, Opens: map[bool]time.Duration{true: time.Hour}[w.Max <= 2]})
		}
	}
	g.looks = append(g.looks, keys)
	return list, nil
}

func (g *gauged) RatesOf(_ context.Context, _, _, _ string, since time.Time) ([]work.RateMinute, error) {
	g.since = since
	return g.rates, nil
}

// Windows are listed those of all first and then by account, a page at a time; a page costs one look, at what is on it.
func TestWindowsAreListedByPages(t *testing.T) {
	t.Parallel()
	of := func(tier, account, key string, most ...int) state.Counted {
		var limits []posthouse.Limit
		for _, n := range most {
			limits = append(limits, posthouse.Limit{Max: n, Per: posthouse.Duration(time.Minute)})
		}
		return state.Counted{Account: account, Tier: state.TierOf(tier, "", key, limits)}
	}
	g := &gauged{tiers: []state.Counted{of(state.TierAccount, "b", "kb", 5), of(state.TierRate, "a", "kar", 1), of(state.TierAccount, "a", "ka", 9, 2), of(state.TierChannel, "", "kc", 3), of(state.TierTenant, "", "kt", 7)}}
	began := time.Now()
	var got []wire.Window
	var cursor string
	for pages := 1; ; pages++ {
		list, next, err := Gauges{g, g, g}.Windows(t.Context(), "t", "c", nil, cursor, 2)
		if err != nil || len(list) == 0 || len(list) > 2 || pages > 3 {
			t.Fatalf("page %d has %d, %v", pages, len(list), err)
		}
		got, cursor = append(got, list...), next
		if cursor == "" {
			break
		}
	}
	minute := posthouse.Duration(time.Minute)
	want := []wire.Window{
		{Of: "tenant", Max: 7, Per: minute, Used: 2, Left: 5}, {Of: "channel", Max: 3, Per: minute, Used: 2, Left: 1},
		{Of: "account", Account: "a", Max: 9, Per: minute, Used: 2, Left: 7}, {Of: "account", Account: "a", Max: 2, Per: minute, Used: 2},
		{Of: "rate", Account: "a", Max: 1, Per: minute, Used: 2}, {Of: "account", Account: "b", Max: 5, Per: minute, Used: 2, Left: 3},
	}
	for i := range got {
		if full := got[i].Left == 0; full == got[i].OpensAt.Before(began.Add(time.Hour)) {
			t.Errorf("%+v opens at %s", got[i], got[i].OpensAt)
		}
		got[i].OpensAt = time.Time{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"kt", "kc"}, {"ka"}, {"kar", "kb"}}, g.looks); diff != "" {
		t.Errorf("looked at (-want +got):\n%s", diff)
	}
	g.looks = nil
	full, err := Gauges{g, g, g}.Tightest(t.Context(), "t")
	if w := full["c"]; err != nil || len(full) != 1 || w.Max != 1 || w.Used != 2 || len(g.looks) != 1 {
		t.Errorf("the fullest is %+v after %d looks, %v", full, len(g.looks), err)
	}
	if _, _, err := (Gauges{g, g, g}).Windows(t.Context(), "t", "elsewhere", nil, "", 2); posthouse.CodeOf(err) != posthouse.CodeConflict {
		t.Errorf("of a channel that is not open: %v", err)
	}
}

// Of several processes and minutes, rates are added up over the processes and their mean is over the minutes; the product of the means is the
// rate, also where an account was parked for a part of the time.
func TestRatesOfSeveralProcessesAndMinutes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	row := func(minute int, process int64, base, health, success, load, hours float64, why posthouse.RateReason) work.RateMinute {
		return work.RateMinute{At: at.Add(time.Duration(minute) * time.Minute), Process: process, Rate: posthouse.Rate{
			Base: base, Health: health, Success: success, Load: load, Time: hours, Rate: base * health * success * load * hours, Reason: why}}
	}
	g := &gauged{rates: []work.RateMinute{
		row(1, 1, 10, 1, 1, 1, 1, "holds"), row(1, 2, 30, 0.5, 0.8, 1, 1, "refused"), row(3, 1, 10, 0, 0.9, 1, 0.5, "punished"), row(11, 1, 8, 1, 1, 0.25, 1, "climbs"),
	}}
	near := func(got, want float64) bool { return got > want-1e-9 && got < want+1e-9 }
	for _, back := range []time.Duration{time.Hour, 24 * time.Hour} {
		h, err := Gauges{g, g, g}.RateHistory(t.Context(), "t", "c", "a", at.Add(20*time.Minute), at.Add(20*time.Minute-back))
		if err != nil || h.Account != "a" || g.since.After(at.Add(20*time.Minute-back)) {
			t.Fatal(h, err)
		}
		for _, p := range h.Points {
			if product := p.Base * p.Health * p.Success * p.Load * p.Time; !near(product, p.Rate) {
				t.Errorf("the rate is %v, the product of its factors %v: %+v", p.Rate, product, p)
			}
		}
		if back == time.Hour {
			if len(h.Points) != 3 || h.Step.Std() != time.Minute || !h.Points[0].At.Equal(at.Add(time.Minute)) || !near(h.Points[0].Rate, 22) || !near(h.Points[0].Base, 40) || h.Points[0].Processes != 2 || h.Points[0].Reason != "refused" {
				t.Errorf("by the minute: %+v", h)
			}
			if p := h.Points[1]; p.Health != 0 || !near(p.Success, 0.9) || !near(p.Time, 0.5) || p.Reason != "punished" {
				t.Errorf("parked: %+v", p)
			}
			continue
		}
		if len(h.Points) != 2 || h.Step.Std() != 10*time.Minute || !h.Points[0].At.Equal(at) || !near(h.Points[0].Rate, 11) || !near(h.Points[0].Base, 25) || !near(h.Points[0].Health, 0.5) || h.Points[0].Reason != "punished" {
			t.Errorf("by ten minutes: %+v", h)
		}
	}
}

// A budget is foreseen from how it has gone since its period began. It is spent when messages wait that are not of high priority, which is what the
// log says; a period that has just begun, or that ends before, has no such moment.
func TestABudgetIsForeseen(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	day := func(most, reserve, used int) wire.Window {
		return wire.Window{Budget: posthouse.PerDay, Max: most, Reserve: reserve, Used: used, Left: max(0, most-used), From: from, To: from.Add(24 * time.Hour)}
	}
	for name, c := range map[string]struct {
		w        wire.Window
		after    time.Duration
		forecast int
		spent    time.Duration // 0 for never
	}{
		"twice as fast as it may":               {day(100, 0, 50), 6 * time.Hour, 200, 12 * time.Hour},
		"the reserve is for high priority":      {day(100, 20, 40), 6 * time.Hour, 160, 12 * time.Hour},
		"only the reserve would be touched":     {day(100, 20, 45), 12 * time.Hour, 90, 21*time.Hour + 20*time.Minute},
		"slower than it may":                    {day(100, 20, 20), 12 * time.Hour, 40, 0},
		"ordinary messages wait already":        {day(100, 20, 80), 6 * time.Hour, 320, 0},
		"all is spent":                          {day(100, 0, 100), 6 * time.Hour, 400, 0},
		"the period has just begun":             {day(100, 0, 50), 59 * time.Minute, 0, 0},
		"nothing was sent":                      {day(100, 0, 0), 6 * time.Hour, 0, 0},
		"a part of a message counts as a whole": {day(100, 0, 1), 7 * time.Hour, 4, 0},
		"a window is no budget":                 {wire.Window{Max: 100, Used: 50, Left: 50, From: from, To: from.Add(24 * time.Hour)}, 6 * time.Hour, 0, 0},
	} {
		foresee(&c.w, from.Add(c.after))
		var want time.Time
		if c.spent > 0 {
			want = from.Add(c.spent)
		}
		if c.w.Forecast != c.forecast || !c.w.SpentAt.Equal(want) {
			t.Errorf("%s: %d and spent at %s, want %d and %s", name, c.w.Forecast, c.w.SpentAt, c.forecast, want)
		}
	}
}
