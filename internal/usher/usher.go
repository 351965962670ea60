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
	// Admit admits what is first in lines, once what was admitted before is settled.
	Admit(ctx context.Context, now time.Time, named []work.LineKey, max int, how work.Admission) (admitted []posthouse.Delivery, looked int, err error)
	// LinesHeldBy are the lines in which one of the messages was admitted last.
	LinesHeldBy(ctx context.Context, messages []string) ([]work.LineKey, error)
	// Holder is the message that was admitted last.
	Holder(ctx context.Context, l work.LineKey) (string, error)
}

// Routes are told what may be claimed now.
type Routes interface {
	Rouse(k state.Key, p posthouse.Priority, pin work.Pin)
}

// Usher admits what stands in the line of an ordering key, when those before it are settled. What this process accepts or
// settles wakes it, whichever process has admitted it; what another process leaves undone it finds when it looks again.
type Usher struct {
	lines  Lines
	routes Routes
	life   *life.Life
	log    *slog.Logger

	mu    sync.Mutex
	named map[work.LineKey]bool
	ended []string      // messages of which deliveries have ended
	wake  chan struct{} // capacity 1: a line was named
}

const (
	// Every is how often lines are looked at that nobody here has named.
	Every = time.Second
	// admitBatch bounds the lines of one transaction.
	admitBatch = 100
	// mostEnded bounds the messages that are remembered until somebody asks for their lines; those of others are found by their time.
	mostEnded = 10_000
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
	u.rouse()
}

// Settled says how deliveries stand that were changed: those that have ended may be what a line waits for.
func (u *Usher) Settled(list []posthouse.Delivery) {
	u.mu.Lock()
	for i := range list {
		if d := &list[i]; !d.State.Open() && len(u.ended) < mostEnded {
			u.ended = append(u.ended, d.Message)
		}
	}
	some := len(u.ended) > 0
	u.mu.Unlock()
	if some {
		u.rouse()
	}
}

// rouse has the usher look at what was named.
func (u *Usher) rouse() {
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
		u.find(ctx)
		for more := true; more && !u.life.Stopped(); {
			list := u.taken()
			more = len(list) > 0 && u.admit(ctx, list)
		}
	}
}

// find names the lines that wait for messages of which something has ended.
func (u *Usher) find(ctx context.Context) {
	u.mu.Lock()
	ended := u.ended
	u.ended = nil
	u.mu.Unlock()
	if len(ended) == 0 {
		return
	}
	slices.Sort(ended)
	lines, err := u.lines.LinesHeldBy(ctx, slices.Compact(ended))
	if err != nil {
		if ctx.Err() == nil {
			u.log.Warn("the lines of what has ended cannot be found now", "messages", len(ended), "error", err)
		}
		return // they are looked at by their time
	}
	for _, l := range lines {
		u.Look(l)
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
		admitted, looked, err := u.lines.Admit(ctx, time.Now(), named, admitBatch, Admission())
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

// Admission admits all that was found, and quarantines what cannot be read.
func Admission() work.Admission {
	return work.Admission{
		Admit: func(found []posthouse.Delivery) []work.Change {
			changes := make([]work.Change, len(found))
			for i := range found {
				changes[i] = state.Admitted(found[i])
			}
			return changes
		},
		SetAside: func(d posthouse.Delivery, why string) work.Change {
			return state.AfterQuarantine(d, state.ReasonUnreadable, why)
		},
	}
}
