package read

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Tiers are the windows of channels that are open.
type Tiers interface {
	Windows(tenant, channel string, accounts []string) (list []state.Counted, open bool)
	// Open are the names of a tenant's channels that are open.
	Open(tenant string) []string
}

// Fills says how full windows are.
type Fills interface {
	Fills(ctx context.Context, bounds []limit.Bound) ([][]limit.Fill, error)
}

// KeptRates are how fast accounts could go.
type KeptRates interface {
	RatesOf(ctx context.Context, tenant, channel, account string, since time.Time) ([]work.RateMinute, error)
}

// Gauges reads what bounds the sends of channels. All of its fields are required.
type Gauges struct {
	Tiers Tiers
	Fills Fills
	Rates KeptRates
}

// gauge is a window whose use is not known yet.
type gauge struct {
	wire.Window
	key   string // ascends
	bound int    // of its tier
	at    int    // in the tier
}

// Windows are how full the windows of a channel are: those of its tenant, its own, and those of its accounts, or of some of them. It
// returns a part of them, from behind a cursor on, and the next one's.
func (g Gauges) Windows(ctx context.Context, tenant, channel string, accounts []string, cursor string, limit int) ([]wire.Window, string, error) {
	tiers, open := g.Tiers.Windows(tenant, channel, accounts)
	if !open {
		return nil, "", posthouse.Errorf(posthouse.CodeConflict, "no windows of the channel %q are kept here: it is not open in this process, or agents fetch what it has", channel)
	}
	list, next := cut(gaugesOf(tiers), cursor, limit)
	return g.filled(ctx, tiers, list, next)
}

// Tightest is the fullest window of each channel of a tenant that is open here, of those that bound all that it sends: its own, its
// tenant's, and those of its one account. It takes one look for all.
func (g Gauges) Tightest(ctx context.Context, tenant string) (map[string]wire.Window, error) {
	var tiers []state.Counted
	var list []gauge
	var of []string // the channel of each window
	for _, channel := range g.Tiers.Open(tenant) {
		own, _ := g.Tiers.Windows(tenant, channel, []string{})
		for _, w := range gaugesOf(own) {
			w.bound += len(tiers)
			list, of = append(list, w), append(of, channel)
		}
		tiers = append(tiers, own...)
	}
	filled, _, err := g.filled(ctx, tiers, list, "")
	if err != nil {
		return nil, err
	}
	out := map[string]wire.Window{}
	for i, w := range filled {
		if full, some := out[of[i]]; !some || w.Used*full.Max > full.Used*w.Max {
			out[of[i]] = w
		}
	}
	return out, nil
}

// gaugesOf are the windows of tiers, by key.
func gaugesOf(tiers []state.Counted) []gauge {
	ranks := map[string]int{state.TierTenant: 0, state.TierChannel: 1, state.TierAccount: 2, state.TierRate: 2, state.TierBudget: 2}
	var list []gauge
	for i, t := range tiers {
		for j, w := range t.Limits { // those that are derived of them come behind
			list = append(list, gauge{
				Window: windowOf(&tiers[i], w),
				key:    fmt.Sprintf("%d %s %s %02d", ranks[t.Name], t.Account, t.Name, j), bound: i, at: j,
			})
		}
	}
	slices.SortFunc(list, func(a, b gauge) int { return strings.Compare(a.key, b.key) })
	return list
}

// windowOf is a window of a tier, of which it is not known yet how full it is.
func windowOf(t *state.Counted, w posthouse.Limit) wire.Window {
	out := wire.Window{Of: wire.WindowOf(t.Name), Account: t.Account, Max: w.Max, Per: w.Per}
	if s := t.Spends; s != nil {
		out.Budget, out.Reserve, out.From, out.To, out.WarnAt = s.Per, s.Reserved(), s.From, s.To, s.Warns()
	}
	return out
}

// leastForecast is how long a period must have gone on for a forecast: what was sent in its first minutes says little of the rest.
const leastForecast = time.Hour

// foresee says what is left of a budget at the end of its period, if it goes on as it has gone since its beginning.
func foresee(w *wire.Window, now time.Time) {
	gone, all := now.Sub(w.From), w.To.Sub(w.From)
	if w.Budget == "" || w.Used == 0 || gone < leastForecast {
		return
	}
	w.Forecast = int(math.Ceil(float64(w.Used) * float64(all) / float64(gone)))
	share := w.Max - w.Reserve // the rest is for high priority: a message of another waits from here on, and the log says that the budget is spent
	if w.Used < share && w.Forecast > share {
		w.SpentAt = w.From.Add(time.Duration(float64(gone) * float64(share) / float64(w.Used))).UTC().Truncate(time.Second)
	}
}

// cut is the part behind a cursor, and the cursor of the next one.
func cut(list []gauge, cursor string, limit int) (part []gauge, next string) {
	from, _ := slices.BinarySearchFunc(list, cursor, func(w gauge, key string) int { return cmp.Or(strings.Compare(w.key, key), -1) })
	if part = list[from:]; len(part) <= limit {
		return part, ""
	}
	return part[:limit], part[limit-1].key
}

// filled looks how full windows are, by one look for all.
func (g Gauges) filled(ctx context.Context, tiers []state.Counted, list []gauge, next string) ([]wire.Window, string, error) {
	var bounds []limit.Bound
	at := map[int]int{}
	for _, w := range list {
		if _, asked := at[w.bound]; !asked {
			at[w.bound], bounds = len(bounds), append(bounds, tiers[w.bound].Bound)
		}
	}
	now := time.Now()
	fills, err := g.Fills.Fills(ctx, bounds)
	if err != nil {
		return nil, "", err
	}
	out := make([]wire.Window, len(list))
	for i, w := range list {
		f := fills[at[w.bound]][w.at]
		out[i] = w.Window
		out[i].Used, out[i].Left = f.Used, max(0, f.Max-f.Used)
		if out[i].Left == 0 {
			out[i].OpensAt = now.Add(f.Opens).UTC()
		}
		if out[i].Budget != "" && out[i].Left == 0 {
			out[i].OpensAt = out[i].To
		}
		foresee(&out[i], now)
	}
	return out, next, nil
}

// tenMinutes is the step of points that are further back than four hours.
const tenMinutes = 10 * time.Minute

// RateHistory is how fast an account could go since a time, and what made it so.
func (g Gauges) RateHistory(ctx context.Context, tenant, channel, account string, now, since time.Time) (wire.RateHistory, error) {
	step := time.Minute
	if now.Sub(since) > byMinute {
		step = tenMinutes
	}
	out := wire.RateHistory{Account: account, Step: posthouse.Duration(step), Points: []wire.RatePoint{}}
	rows, err := g.Rates.RatesOf(ctx, tenant, channel, account, since.Truncate(step))
	if err != nil {
		return out, err
	}
	for len(rows) > 0 {
		at := rows[0].At.Truncate(step)
		n := slices.IndexFunc(rows, func(r work.RateMinute) bool { return !r.At.Truncate(step).Equal(at) })
		if n < 0 {
			n = len(rows)
		}
		out.Points, rows = append(out.Points, pointOf(at, rows[:n])), rows[n:]
	}
	return out, nil
}

// pointOf is what rows of some minutes and processes say together. Each factor is weighted by what stands before it in the product, so that
// the rate is the product of means too.
func pointOf(at time.Time, rows []work.RateMinute) wire.RatePoint {
	p := wire.RatePoint{At: at}
	minutes, processes := map[time.Time]bool{}, map[int64]bool{}
	lowest := rows[0].Health
	var before, after, plain [4]float64 // of each factor: what it is weighted by, what came of it, and its sum
	for _, r := range rows {
		minutes[r.At], processes[r.Process] = true, true
		p.Rate, p.Base = p.Rate+r.Rate.Rate, p.Base+r.Base
		so := r.Base
		for i, factor := range []float64{r.Health, r.Success, r.Load, r.Time} {
			before[i], plain[i] = before[i]+so, plain[i]+factor
			so *= factor
			after[i] += so
		}
		if r.Health <= lowest {
			lowest, p.Reason = r.Health, r.Reason
		}
	}
	p.Processes = len(processes)
	p.Rate, p.Base = p.Rate/float64(len(minutes)), p.Base/float64(len(minutes))
	for i, mean := range []*float64{&p.Health, &p.Success, &p.Load, &p.Time} {
		if *mean = plain[i] / float64(len(rows)); before[i] > 0 {
			*mean = after[i] / before[i]
		}
	}
	return p
}
