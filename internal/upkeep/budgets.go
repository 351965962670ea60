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
	seen map[string]sight     // marks that the last look found, and told nobody of
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
	b.seen = map[string]sight{}
	var failed []error
	for i := range list {
		is, fill := &list[i], fills[i][0]
		b.Metrics.BudgetUsed.WithLabelValues(is.Tenant, is.Channel, is.Account, string(is.Per)).Set(float64(fill.Used))
		b.Metrics.BudgetLimit.WithLabelValues(is.Tenant, is.Channel, is.Account, string(is.Per)).Set(float64(is.Max))
		failed = append(failed, b.tell(ctx, now, is, fill, before)) // of the others it is told all the same
	}
	return errors.Join(failed...)
}

// sight is what looks have seen of a mark.
type sight struct {
	looks   int       // in a row that found it
	used    int       // the least of them
	granted time.Time // when the last permit before the last of them was granted
}

// busy is how many looks in a row find a mark of a budget that is busy before it is told: a claim asks for permits before it knows what it finds,
// and gives back what it has not used, so that a look may find what nobody uses. A budget of which nothing was granted between two looks holds
// nothing of that sort.
const busy = 6

// look notes that a look has found a mark, and reports what looks in a row have seen of it, and whether nothing was granted since the one before.
func (b *Budgets) look(key string, fill limit.Fill, before map[string]sight) (is sight, rests bool) {
	was := before[key]
	is = sight{was.looks + 1, fill.Used, fill.Granted}
	rests = was.looks > 0 && is.granted.Equal(was.granted)
	if was.looks > 0 && !rests {
		is.used = min(is.used, was.used)
	}
	b.seen[key] = is
	return is, rests
}

// tell says that a budget has come to its warning or its end: once it rests, or after so many looks. One that is spent rests, but for its reserve.
func (b *Budgets) tell(ctx context.Context, now time.Time, is *Budget, fill limit.Fill, before map[string]sight) error {
	spent, warned := is.Bound.Key+":"+string(posthouse.BudgetSpent), is.Bound.Key+":"+string(posthouse.BudgetWarned)
	most := is.For(posthouse.Normal)
	if fill.Used >= most {
		if seen, rests := b.look(spent, fill, before); rests || is.Reserved() > 0 && seen.looks >= busy {
			return b.once(ctx, now, is, spent, posthouse.BudgetEvent{Mark: posthouse.BudgetSpent, Used: seen.used})
		}
	}
	if is.Warns() >= most || fill.Used < is.Warns() { // of a reserve that begins before the warning, the end comes first
		return nil
	}
	if seen, rests := b.look(warned, fill, before); rests || seen.looks >= busy {
		used := min(seen.used, most-1) // what looks spent, and is not for sure, has something left
		return b.once(ctx, now, is, warned, posthouse.BudgetEvent{Mark: posthouse.BudgetWarned, Used: used}, spent)
	}
	return nil
}

// once tells of a mark once in its period, over all processes, unless one that comes after it is told. The mark is taken last: whoever dies before
// it tells the same once more, which the feed knows by its id.
func (b *Budgets) once(ctx context.Context, now time.Time, is *Budget, key string, event posthouse.BudgetEvent, after ...string) error {
	var marks []limit.Bound
	for _, mark := range append(after, key) {
		if _, told := b.told[mark]; told {
			return nil
		}
		marks = append(marks, limit.Bound{Key: mark, Windows: markOf(is.Bound)})
	}
	fills, err := b.Counts.Fills(ctx, marks)
	if err != nil {
		return err
	}
	first := limit.Grant{}
	if !slices.ContainsFunc(fills, func(of []limit.Fill) bool { return of[0].Used > 0 }) {
		event.Max, event.Per, event.Until = is.Max, is.Per, is.To.UTC()
		if err := b.feed(ctx, now, key, is, event); err != nil {
			return err
		}
		if first, err = b.Counts.Take(ctx, marks[len(after):], 1); err != nil {
			return err
		}
	}
	b.remember(now, key, is.To)
	if first.N > 0 {
		text := "a budget is nearly spent"
		if event.Mark == posthouse.BudgetSpent {
			text = "a budget is spent"
		}
		b.Log.Warn(text, "tenant", is.Tenant, "channel", is.Channel, "account", is.Account, "used", event.Used, "budget", is.Max, "per", is.Per, "until", is.To)
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
