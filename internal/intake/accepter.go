package intake

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/work"
)

// accepter commits submissions in groups: whatever queued up during the last commit shares the next.
// A caller is answered after its commit, never before.
type accepter struct {
	store   Store
	seats   Seats // nil for none
	life    *life.Life
	metrics *metrics.Metrics
	in      chan *submission
	turn    chan struct{} // held by the commit under way; see await
	seen    atomic.Int64  // when a caller last came, in nanoseconds since 1970; see busy
}

type submission struct {
	work   *work.Submission
	result chan submitted // capacity 1: a caller that left blocks nothing
}

type submitted struct {
	outcome work.Outcome
	err     error
}

// maxGroup bounds the submissions, and maxGroupRows the deliveries, of one commit.
const (
	maxGroup     = 1000
	maxGroupRows = 4000
)

func newAccepter(o *Options) *accepter {
	return &accepter{store: o.Store, seats: o.Seats, life: o.Life, metrics: o.Metrics, in: make(chan *submission, maxGroup), turn: make(chan struct{}, 1)}
}

// submit waits until the submission is committed.
func (a *accepter) submit(ctx context.Context, w *work.Submission) (work.Outcome, error) {
	if err := a.life.Refusal(); err != nil {
		return work.Outcome{}, err
	}
	s := &submission{work: w, result: make(chan submitted, 1)}
	a.seen.Store(time.Now().UnixNano())
	select {
	case a.in <- s:
	case <-a.life.Stopping():
		return work.Outcome{}, life.ErrStopping
	case <-ctx.Done():
		return work.Outcome{}, ctx.Err()
	}
	select {
	case r := <-s.result:
		return r.outcome, r.err
	case <-a.life.Context().Done():
		select {
		case r := <-s.result:
			return r.outcome, r.err
		default:
			return work.Outcome{}, life.ErrStopping
		}
	case <-ctx.Done():
		return work.Outcome{}, &posthouse.Error{Code: posthouse.CodeOutcomeUnknown, Message: "the caller left before the commit", Cause: ctx.Err()}
	}
}

// busy reports whether callers come.
func (a *accepter) busy() bool { return time.Since(time.Unix(0, a.seen.Load())) < busyFor }

// busyFor is how long one caller is taken as a sign of the next.
const busyFor = 100 * time.Millisecond

func (a *accepter) run(ctx context.Context) {
	var waiting []*submission // left from the last group: their keys stood in it already
	for {
		if len(waiting) == 0 {
			select {
			case s := <-a.in:
				waiting = append(waiting, s)
			case <-a.life.Stopping():
				a.drain(ctx)
				return
			}
		}
		done := a.await()
		group, rest := a.gather(waiting)
		waiting = rest
		a.commit(ctx, group)
		done()
	}
}

// stagger is how long a group waits for the commit before it: a group that grows meanwhile costs less
// than two halves at once, and one that waits longer than this passes a commit that hangs.
const stagger = 10 * time.Millisecond

// await waits for the turn to commit, but not for long, and returns what passes it on.
func (a *accepter) await() (done func()) {
	timer := time.NewTimer(stagger)
	defer timer.Stop()
	select {
	case a.turn <- struct{}{}:
		return func() { <-a.turn }
	case <-timer.C:
		return func() {}
	}
}

// drain answers what was handed in before the stop.
func (a *accepter) drain(ctx context.Context) {
	for {
		select {
		case s := <-a.in:
			group, rest := a.gather([]*submission{s})
			a.commit(ctx, group)
			for _, s := range rest {
				a.commit(ctx, []*submission{s})
			}
		default:
			return
		}
	}
}

// gather makes a group of what waits and what has queued up, without waiting for more: callers whom
// the last commit has woken run before, and what they hand in next shares this one. Two
// submissions with one Idempotency-Key cannot share a commit: the second stays for the next.
func (a *accepter) gather(waiting []*submission) (group, rest []*submission) {
	runtime.Gosched()
	type key struct{ tenant, endpoint, key string }
	keys := map[key]bool{}
	rows := 0
	take := func(s *submission) {
		k := key{s.work.Tenant, s.work.Endpoint, s.work.Key}
		if s.work.Key != "" && keys[k] {
			rest = append(rest, s)
			return
		}
		keys[k] = true
		group = append(group, s)
		for i := range s.work.Entries {
			rows += len(s.work.Entries[i].Deliveries)
		}
	}
	for _, s := range waiting {
		take(s)
	}
	for len(group) < maxGroup && rows < maxGroupRows {
		select {
		case s := <-a.in:
			take(s)
		default:
			return group, rest
		}
	}
	return group, rest
}

// commit stores a group. When the database refuses it for what it holds, each is tried alone, so
// that one caller's odd value never fails another's message.
func (a *accepter) commit(ctx context.Context, group []*submission) {
	subs := make([]*work.Submission, len(group))
	for i, s := range group {
		subs[i] = s.work
	}
	began := time.Now()
	outcomes, err := a.accept(ctx, began, subs)
	if err != nil && len(group) > 1 && posthouse.CodeOf(err) == posthouse.CodeInternal {
		for _, s := range group {
			a.commit(ctx, []*submission{s})
		}
		return
	}
	if err == nil {
		a.metrics.Wrote("accept", began)
		a.metrics.Group.Observe(float64(len(group)))
	}
	for i, s := range group {
		r := submitted{err: err}
		if err == nil {
			r.outcome = outcomes[i]
		}
		s.result <- r
	}
}

// accept stores submissions, and lets begin what has seats.
func (a *accepter) accept(ctx context.Context, began time.Time, subs []*work.Submission) ([]work.Outcome, error) {
	if a.seats == nil {
		outcomes, _, err := a.store.AcceptAndStart(ctx, began, subs, nil)
		return outcomes, err
	}
	seating := a.seats.Open()
	outcomes, starts, err := a.store.AcceptAndStart(ctx, began, subs, seating)
	seating.End(starts, err)
	return outcomes, err
}
