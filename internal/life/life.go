// Package life is what the roles of one process share besides the database: until when
// something new may begin and until when it may be finished, the time by the database's
// clock, and the epoch in which the process was started.
package life

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
)

// ErrStopping answers what came too late to begin.
var ErrStopping error = posthouse.Errorf(posthouse.CodeUnavailable, "the server is stopping: try again")

// ErrOutdated answers what comes to a process whose database was upgraded for newer ones.
var ErrOutdated error = posthouse.Errorf(posthouse.CodeUnavailable, "the database was upgraded for newer programs than this process: it accepts nothing until a newer one is started in its place")

// Life is that of one process. New makes it; Stop and End end it, in this order.
type Life struct {
	Clock

	stopping chan struct{} // closed when nothing new may begin
	ctx      context.Context
	end      context.CancelFunc

	epoch    atomic.Int64
	stale    atomic.Bool
	outdated atomic.Bool
	sharing  atomic.Int64

	elsewhere func() error // nil for never
}

// New makes a life that has begun.
func New() *Life {
	l := &Life{stopping: make(chan struct{})}
	l.ctx, l.end = context.WithCancel(context.Background())
	return l
}

// Context ends after the last result is recorded. What has to be finished, even when its caller has left, uses it.
func (l *Life) Context() context.Context { return l.ctx }

// Stopping is closed when nothing new may begin.
func (l *Life) Stopping() <-chan struct{} { return l.stopping }

// Stop lets nothing new begin. It may be called once.
func (l *Life) Stop() { close(l.stopping) }

// End ends all that is still under way.
func (l *Life) End() { l.end() }

// Stopped reports whether nothing new may begin.
func (l *Life) Stopped() bool {
	select {
	case <-l.stopping:
		return true
	default:
		return false
	}
}

// Pause waits for d, or until nothing new may begin; it reports whether to go on.
func (l *Life) Pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.stopping:
		return false
	}
}

// Spread is d with up to a fifth added, so that neither many processes nor the loops of one poll in step: loops that ask the
// database at the same moment need a connection each.
func Spread(d time.Duration) time.Duration { return d + time.Duration(rand.Int64N(int64(d)/5+1)) }

// A few processes look for work as often as one does. The looks of more are shared out, so that the database is asked as often as by
// fullLooks of them: one of many still finds the work as soon. None looks less often than once in rarest, since those that could
// help it learn of a backlog by their own looks.
const (
	fullLooks = 8
	rarest    = 2 * time.Second
)

// Share says how many processes look for work in this database, this one among them.
func (l *Life) Share(n int) { l.sharing.Store(int64(n)) }

// Shared is how long a look that would be due after d waits, where any process may find what it is for: longer, the more there are.
func (l *Life) Shared(d time.Duration) time.Duration {
	if d >= rarest {
		return Spread(d)
	}
	n := min(max(l.sharing.Load(), fullLooks), 1<<20)
	return Spread(min(d*time.Duration(n)/fullLooks, rarest))
}

// Epoch is the epoch this process was started in.
func (l *Life) Epoch() int64 { return l.epoch.Load() }

// SetEpoch says in which epoch the process was started.
func (l *Life) SetEpoch(epoch int64) { l.epoch.Store(epoch) }

// Stale reports whether the database was restored under this process: what the process knows of deliveries under
// way is from another history, and it may begin nothing.
func (l *Life) Stale() bool { return l.stale.Load() }

// Outlive notes that the database was restored, and reports whether that is new.
func (l *Life) Outlive() bool { return !l.stale.Swap(true) }

// Outdated reports whether the database was upgraded for newer programs: the process begins nothing and accepts nothing.
func (l *Life) Outdated() bool { return l.outdated.Load() }

// Elsewhere sets what says that another place has to do this process's work. It is called before anything begins.
func (l *Life) Elsewhere(says func() error) { l.elsewhere = says }

// Refusal is why nothing can be accepted now; nil where it can.
func (l *Life) Refusal() error {
	if l.Outdated() {
		return ErrOutdated
	}
	return l.Away()
}

// Away says where this process's work has to be done now; nil for here.
func (l *Life) Away() error {
	if l.elsewhere == nil {
		return nil
	}
	return l.elsewhere()
}

// Outdate notes that it was, and reports whether that is new.
func (l *Life) Outdate() bool {
	l.stale.Store(true)
	return !l.outdated.Swap(true)
}
