// Package rollup counts what was accepted and how attempts ended, by the minute and over all processes.
package rollup

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/work"
)

// Store keeps the counts of all processes.
type Store interface {
	AddMinutes(ctx context.Context, now time.Time, list []work.Minute) error
	Minutes(ctx context.Context, since time.Time) ([]work.Minute, error)
}

// Rollup counts what was accepted, and how attempts ended, by tenant, channel, account, content type, outcome and minute. It writes what this process
// has counted once a second, one row a key and not one a message, and reads what all have: that feeds success rates and
// the rates of accounts, and nothing is ever counted from deliveries.
type Rollup struct {
	store Store
	life  *life.Life
	log   *slog.Logger

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

// every is how often counts are written.
const every = time.Second

// New is a rollup that has counted nothing.
func New(store Store, l *life.Life, log *slog.Logger) *Rollup {
	return &Rollup{store: store, life: l, log: log, some: make(chan struct{}, 1), counts: map[work.MinuteKey]*sum{}}
}

// Accepted counts deliveries that were taken from a caller.
func (u *Rollup) Accepted(tenant, channel string, n int) {
	u.add(work.MinuteKey{Tenant: tenant, Channel: channel, Outcome: work.Accepted}, n, 0)
}

// Add counts an attempt that has ended. The key's minute is this one. After is what became of the delivery by it.
func (u *Rollup) Add(key work.MinuteKey, took time.Duration, after posthouse.State) {
	u.add(key, 1, took)
	if class := posthouse.Class(key.Outcome); (after == posthouse.Failed || after == posthouse.Expired) && !class.Final() && class != posthouse.ClassUnknown {
		key.Outcome = work.GaveUp
		u.add(key, 1, 0)
	}
}

func (u *Rollup) add(key work.MinuteKey, n int, took time.Duration) {
	key.At = u.life.Now().Truncate(time.Minute)
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
	of.n += n
	of.took += took
}

// Run writes what was counted until the engine stops.
func (u *Rollup) Run(ctx context.Context) {
	for {
		select {
		case <-u.some:
		case <-u.life.Stopping():
			return
		}
		if !u.life.Pause(every) {
			return
		}
		u.write(ctx)
	}
}

// Finish writes what is left. Nothing is counted any more.
func (u *Rollup) Finish(ctx context.Context) { u.write(ctx) }

// write adds what was counted to the database. What it does not take is counted with the next. Counts are statistics: where
// only the answer to a commit is lost, they are added twice.
func (u *Rollup) write(ctx context.Context) {
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

func (u *Rollup) putBack(counts map[work.MinuteKey]*sum) {
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

// Read takes over what all processes have counted since the last look, and returns how the attempts of the last hour ended.
// Nothing where the database cannot be read.
func (u *Rollup) Read(ctx context.Context) map[AccountKey]rate.Ends {
	now := u.life.Now()
	list, err := u.store.Minutes(ctx, u.hour.since(now))
	if err != nil {
		if ctx.Err() == nil {
			u.log.Warn("counts of attempts cannot be read", "error", err)
		}
		return nil
	}
	return u.hour.take(now, list)
}

// Of is how the attempts by an account ended in the last hour, in all processes, and the good ones a second in its best minute.
func (u *Rollup) Of(k AccountKey) (sum rate.Ends, best float64) { return u.hour.of(k) }
