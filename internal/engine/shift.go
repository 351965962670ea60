package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse/internal/life"
)

// shift is the goroutines of an engine, and for how long they may send.
type shift struct {
	life     *life.Life
	resting  atomic.Bool // no send starts any more
	loops    sync.WaitGroup
	claimers sync.WaitGroup // those of the loops that start sends
	sends    sync.WaitGroup
	ctx      context.Context // of sends: ends when the drain's time is over
	abort    context.CancelFunc
}

func newShift(l *life.Life) *shift {
	s := &shift{life: l}
	s.ctx, s.abort = context.WithCancel(l.Context())
	return s
}

// loop runs one role until it returns.
func (s *shift) loop(role func(ctx context.Context)) {
	s.loops.Add(1)
	go func() {
		defer s.loops.Done()
		role(s.life.Context())
	}()
}

// drain waits for what is being sent until ctx ends, and then cuts it off. It returns a channel that is closed when
// nothing is sent any more, and whether that was in time.
func (s *shift) drain(ctx context.Context) (idle chan struct{}, inTime bool) {
	idle = make(chan struct{})
	go func() {
		s.claimers.Wait() // a claim under way may still hand over what it got: it is given back
		s.sends.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return idle, true
	case <-ctx.Done():
	}
	s.abort()
	select {
	case <-idle:
	case <-time.After(abortGrace):
	}
	return idle, false
}

// abortGrace is how long sends that were cut off have to say so.
const abortGrace = 2 * time.Second

// bounded lets a driver do something until end, and reports whether it came back, at most grace later.
func (s *shift) bounded(end time.Time, grace time.Duration, do func(ctx context.Context)) bool {
	ctx, cancel := context.WithDeadline(s.ctx, end)
	defer cancel()
	back := make(chan struct{})
	go func() {
		defer close(back) // whatever ends the goroutine
		do(ctx)
	}()
	select {
	case <-back:
		return true
	case <-ctx.Done():
	}
	last := time.NewTimer(grace)
	defer last.Stop()
	select {
	case <-back:
		return true
	case <-last.C:
		return false
	}
}
