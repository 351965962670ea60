package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/work"
)

// rollup counts how attempts ended, by tenant, channel, account, content type, outcome and minute. It writes what this process
// has counted once a second, one row a key and not one a message, and reads what all have: that feeds success rates and
// the rates of accounts, and nothing is ever counted from deliveries.
type rollup struct {
	store   Minutes
	open    func(tenant, channel string) bool // is it a channel that is open?
	life    *life.Life
	log     *slog.Logger
	metrics *metrics.Metrics

	mu     sync.Mutex
	counts map[work.MinuteKey]*sum // not yet written

	some   chan struct{} // capacity 1: something was counted
	writes sync.Mutex    // one write at a time
	hour   hour
}

// sum is what is counted of a key.
type sum struct {
	n    int
	took time.Duration
}

// rollEvery is how often counts are written, and readEvery how often those of all are read.
const (
	rollEvery = time.Second
	readEvery = 10 * time.Second
)

func newRollup(store Minutes, open func(tenant, channel string) bool, l *life.Life, log *slog.Logger, m *metrics.Metrics) *rollup {
	return &rollup{store: store, open: open, life: l, log: log, metrics: m, some: make(chan struct{}, 1), counts: map[work.MinuteKey]*sum{}}
}

// add counts an attempt that has ended.
func (u *rollup) add(d *done, took time.Duration) {
	key := work.MinuteKey{
		At: u.life.Now().Truncate(time.Minute), Tenant: d.route.Key.Tenant, Channel: d.route.Key.Channel, Account: d.item.Delivery.Account,
		Type: string(d.kind()), Outcome: string(d.result.Class),
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	of := u.counts[key]
	if of == nil {
		if len(u.counts) == 0 {
			select {
			case u.some <- struct{}{}:
			default:
			}
		}
		of = &sum{}
		u.counts[key] = of
	}
	of.n++
	of.took += took
}

// run writes what was counted until the engine stops.
func (u *rollup) run(ctx context.Context) {
	for {
		select {
		case <-u.some:
		case <-u.life.Stopping():
			return
		}
		if !u.life.Pause(rollEvery) {
			return
		}
		u.write(ctx)
	}
}

// finish writes what is left. Nothing is counted any more.
func (u *rollup) finish(ctx context.Context) { u.write(ctx) }

// write adds what was counted to the database. What it does not take is counted with the next. Counts are statistics: where
// only the answer to a commit is lost, they are added twice.
func (u *rollup) write(ctx context.Context) {
	u.writes.Lock()
	defer u.writes.Unlock()
	u.mu.Lock()
	counts := u.counts
	u.counts = make(map[work.MinuteKey]*sum, len(counts))
	u.mu.Unlock()
	if len(counts) == 0 {
		return
	}
	list := make([]work.Minute, 0, len(counts))
	for key, of := range counts {
		list = append(list, work.Minute{MinuteKey: key, N: of.n, Took: of.took})
	}
	if err := u.store.AddMinutes(ctx, time.Now(), list); err != nil {
		u.log.Warn("counts of attempts could not be written: trying again", "error", err)
		u.putBack(counts)
	}
}

func (u *rollup) putBack(counts map[work.MinuteKey]*sum) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, of := range counts {
		if now := u.counts[key]; now != nil {
			of.n, of.took = of.n+now.n, of.took+now.took
		}
		u.counts[key] = of
	}
	select {
	case u.some <- struct{}{}:
	default:
	}
}

// read takes over what all processes have counted since the last look, and shows the success rates that follow.
func (u *rollup) read(ctx context.Context) {
	now := u.life.Now()
	list, err := u.store.Minutes(ctx, u.hour.since(now))
	if err != nil {
		if ctx.Err() == nil {
			u.log.Warn("counts of attempts cannot be read", "error", err)
		}
		return
	}
	u.metrics.Success.Reset()
	for of, ends := range u.hour.take(now, list) {
		if ends.Good+ends.Bad > 0 && u.open(of.Tenant, of.Channel) {
			u.metrics.Success.WithLabelValues(of.Tenant, of.Channel, of.Account).Set(float64(ends.Good) / float64(ends.Good+ends.Bad))
		}
	}
}
