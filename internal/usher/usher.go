// Package usher admits what stands in the line of an ordering key, one message after the other.
package usher

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Lines is where messages stand that have an ordering key.
type Lines interface {
	// Admit lets decide admit what is first in lines, once what was admitted before is settled.
	Admit(ctx context.Context, now time.Time, named []work.LineKey, max int, decide func(found []posthouse.Delivery) []work.Change) (admitted []posthouse.Delivery, looked int, err error)
	// Holder is the message that was admitted last.
	Holder(ctx context.Context, l work.LineKey) (string, error)
}

// Routes are told what may be claimed now.
type Routes interface {
	Rouse(k state.Key, p posthouse.Priority, pin work.Pin)
}

// Usher admits what stands in the line of an ordering key, when those before it are settled. What this process accepts or
// settles wakes it; what others settle it finds when it looks again.
type Usher struct {
	lines  Lines
	routes Routes
	life   *life.Life
	log    *slog.Logger

	mu    sync.Mutex
	named map[work.LineKey]bool
	wake  chan struct{} // capacity 1: a line was named
}

const (
	// Every is how often lines are looked at that nobody here has named.
	Every = time.Second
	// admitBatch bounds the lines of one transaction.
	admitBatch = 100
)

// New is an usher that was told of no line.
func New(lines Lines, routes Routes, l *life.Life, log *slog.Logger) *Usher {
	return &Usher{lines: lines, routes: routes, life: l, log: log, named: map[work.LineKey]bool{}, wake: make(chan struct{}, 1)}
}

// Look says that somebody may be first in a line now.
func (u *Usher) Look(l work.LineKey) {
	u.mu.Lock()
	u.named[l] = true
	u.mu.Unlock()
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// Run admits until the engine stops.
func (u *Usher) Run(ctx context.Context) {
	timer := time.NewTimer(life.Spread(Every))
	defer timer.Stop()
	for {
		select {
		case <-u.wake:
		case <-timer.C:
			u.admit(ctx, nil)
			timer.Reset(life.Spread(Every))
		case <-u.life.Stopping():
			return
		}
		for more := true; more && !u.life.Stopped(); {
			list := u.taken()
			more = len(list) > 0 && u.admit(ctx, list)
		}
	}
}

// taken takes some of the lines that were named.
func (u *Usher) taken() []work.LineKey {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := slices.SortedFunc(maps.Keys(u.named), work.LineKey.Compare)
	list = list[:min(len(list), admitBatch)]
	for _, l := range list {
		delete(u.named, l)
	}
	return list
}

// admit looks at the lines that are named, or at those whose time has come, and reports whether the database answered.
func (u *Usher) admit(ctx context.Context, named []work.LineKey) bool {
	for {
		admitted, looked, err := u.lines.Admit(ctx, time.Now(), named, admitBatch, Admissions)
		if err != nil {
			if ctx.Err() == nil {
				u.log.Warn("what stands in line cannot be admitted now", "lines", len(named), "error", err)
			}
			return false // they are looked at again by their time
		}
		for i := range admitted {
			d := &admitted[i]
			u.routes.Rouse(state.Key{Tenant: d.Tenant, Channel: d.Channel}, d.Priority, work.PinOf(d))
		}
		if len(named) > 0 || looked < admitBatch {
			return true
		}
	}
}

// Admissions admits all that was found.
func Admissions(found []posthouse.Delivery) []work.Change {
	changes := make([]work.Change, len(found))
	for i := range found {
		changes[i] = state.Admitted(found[i])
	}
	return changes
}
