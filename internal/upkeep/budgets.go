package upkeep

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/metrics"
)

// Spending lists the budgets of the channels that are open in this process.
type Spending interface {
	Budgets(now time.Time) []Budget
}

// Budget is one in its period, and the window that counts it.
type Budget struct {
	Tenant, Channel string
	Account         string // empty for all of the channel
	posthouse.Budget
	Bound limit.Bound
	To    time.Time // when the next period begins
}

// Counts says how much of windows is used, and counts in them. limit's types satisfy it.
type Counts interface {
	Fills(ctx context.Context, bounds []limit.Bound) ([][]limit.Fill, error)
	Take(ctx context.Context, bounds []limit.Bound, want int) (limit.Grant, error)
}

// Budgets tells Prometheus how far budgets are spent, and logs once, over all processes, that one has come to its warning or its end.
type Budgets struct {
	Spending Spending
	Counts   Counts
	Life     *life.Life
	Log      *slog.Logger
	Metrics  *metrics.Metrics

	told map[string]time.Time // marks that need no look any more, until when
}

// Run looks at the budgets until the engine stops.
func (b *Budgets) Run(ctx context.Context) {
	for b.Life.Pause(life.Spread(DepthEvery)) {
		if err := b.Look(ctx, time.Now()); err != nil && ctx.Err() == nil {
			b.Log.Warn("it cannot be seen how far budgets are spent", "error", err)
		}
	}
}

// mostLooked bounds the budgets that one statement looks at.
const mostLooked = 500

// Look looks at all budgets once.
func (b *Budgets) Look(ctx context.Context, now time.Time) error {
	list := b.Spending.Budgets(now)
	var fills [][]limit.Fill
	for part := range slices.Chunk(list, mostLooked) {
		bounds := make([]limit.Bound, len(part))
		for i := range part {
			bounds[i] = part[i].Bound
		}
		found, err := b.Counts.Fills(ctx, bounds)
		if err != nil {
			return err
		}
		fills = append(fills, found...)
	}
	b.Metrics.BudgetUsed.Reset()
	b.Metrics.BudgetLimit.Reset()
	for i := range list {
		is, used := &list[i], fills[i][0].Used
		b.Metrics.BudgetUsed.WithLabelValues(is.Tenant, is.Channel, is.Account, string(is.Per)).Set(float64(used))
		b.Metrics.BudgetLimit.WithLabelValues(is.Tenant, is.Channel, is.Account, string(is.Per)).Set(float64(is.Max))
		if err := b.tell(ctx, now, is, used); err != nil {
			return err
		}
	}
	return nil
}

// tell logs that a budget has come to its warning or its end, once in its period.
func (b *Budgets) tell(ctx context.Context, now time.Time, is *Budget, used int) error {
	text, mark := "a budget is nearly spent", ":warned"
	switch {
	case used < is.Warns():
		return nil
	case used >= is.For(posthouse.Normal):
		text, mark = "a budget is spent", ":spent"
	}
	key := is.Bound.Key + mark
	if _, told := b.told[key]; told {
		return nil
	}
	first, err := b.Counts.Take(ctx, []limit.Bound{{Key: key, Windows: markOf(is.Bound)}}, 1)
	if err != nil {
		return err
	}
	b.remember(now, key, is.To)
	if first.N > 0 {
		b.Log.Warn(text, "tenant", is.Tenant, "channel", is.Channel, "account", is.Account, "used", used, "budget", is.Max, "per", is.Per, "until", is.To)
	}
	return nil
}

// markOf are windows of one, as long as those of a bound: whoever takes it is the first.
func markOf(b limit.Bound) (list []posthouse.Limit) {
	for _, w := range b.Windows {
		w.Max = 1
		list = append(list, w)
	}
	return list
}

// remember notes that a mark was looked at, and forgets those of periods that are over.
func (b *Budgets) remember(now time.Time, key string, until time.Time) {
	for other, to := range b.told {
		if now.After(to) {
			delete(b.told, other)
		}
	}
	if b.told == nil {
		b.told = map[string]time.Time{}
	}
	b.told[key] = until
}
