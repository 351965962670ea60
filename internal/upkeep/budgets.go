package upkeep

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/work"
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

// Feed tells whoever follows what happens. What has the same id is told once.
type Feed interface {
	Tell(ctx context.Context, now time.Time, list []work.Told) (told int, err error)
}

// Budgets tells Prometheus how far budgets are spent. That one has come to its warning or its end, it logs and tells who follows the feed, once
// in a period over all processes.
type Budgets struct {
	Spending Spending
	Counts   Counts
	// Feed is told of warnings. Defaults to nobody.
	Feed Feed
	// Every is the time between two looks. Defaults to DepthEvery.
	Every   time.Duration
	Life    *life.Life
	Log     *slog.Logger
	Metrics *metrics.Metrics

	told map[string]time.Time // marks that need no look any more, until when
	seen map[string]bool      // marks that the last look found, and told nobody of
}

// Run looks at the budgets until the engine stops.
func (b *Budgets) Run(ctx context.Context) {
	for b.Life.Pause(life.Spread(cmp.Or(b.Every, DepthEvery))) {
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
	before := b.seen
	b.seen = map[string]bool{}
	var failed []error
	for i := range list {
		is, used := &list[i], fills[i][0].Used
		b.Metrics.BudgetUsed.WithLabelValues(is.Tenant, is.Channel, is.Account, string(is.Per)).Set(float64(used))
		b.Metrics.BudgetLimit.WithLabelValues(is.Tenant, is.Channel, is.Account, string(is.Per)).Set(float64(is.Max))
		failed = append(failed, b.tell(ctx, now, is, used, before)) // of the others it is told all the same
	}
	return errors.Join(failed...)
}

// tell says that a budget has come to its warning or its end, once in its period, where the look before found it too: processes hold what they
// have not used yet for a moment, and give it back. The mark is taken last: whoever dies before it tells the same once more, which the feed
// knows by its id.
func (b *Budgets) tell(ctx context.Context, now time.Time, is *Budget, used int, before map[string]bool) error {
	text, mark := "a budget is nearly spent", posthouse.BudgetWarned
	switch {
	case used < is.Warns():
		return nil
	case used >= is.For(posthouse.Normal):
		text, mark = "a budget is spent", posthouse.BudgetSpent
	}
	key := is.Bound.Key + ":" + string(mark)
	if _, told := b.told[key]; told {
		return nil
	}
	if b.seen[key] = true; !before[key] {
		return nil
	}
	taken := []limit.Bound{{Key: key, Windows: markOf(is.Bound)}}
	fills, err := b.Counts.Fills(ctx, taken)
	if err != nil {
		return err
	}
	first := limit.Grant{}
	if fills[0][0].Used == 0 {
		if err := b.feed(ctx, now, key, is, posthouse.BudgetEvent{Mark: mark, Used: used, Max: is.Max, Per: is.Per, Until: is.To.UTC()}); err != nil {
			return err
		}
		if first, err = b.Counts.Take(ctx, taken, 1); err != nil {
			return err
		}
	}
	b.remember(now, key, is.To)
	if first.N > 0 {
		b.Log.Warn(text, "tenant", is.Tenant, "channel", is.Channel, "account", is.Account, "used", used, "budget", is.Max, "per", is.Per, "until", is.To)
	}
	return nil
}

// feed tells whoever follows what a budget has come to. Its key, which names the period, is what makes the event the same.
func (b *Budgets) feed(ctx context.Context, now time.Time, key string, is *Budget, event posthouse.BudgetEvent) error {
	if b.Feed == nil {
		return nil
	}
	sum := sha256.Sum256([]byte(key))
	_, err := b.Feed.Tell(ctx, now, []work.Told{{ID: posthouse.OfBudget + hex.EncodeToString(sum[:16]), FeedEvent: posthouse.FeedEvent{
		Tenant: is.Tenant, Channel: is.Channel, Account: is.Account, Budget: &event,
	}}})
	return err
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
