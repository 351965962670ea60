package engine

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// route is a channel as the engine runs it.
type route struct {
	*state.Channel
	admission *admission.Channel // what of it may begin, and by which account

	ctx    context.Context // ends when the route is replaced or removed
	cancel context.CancelFunc
	wake   chan struct{} // capacity 1: something is due, or may begin that could not

	pinsFrom time.Time              // when the poller may look again for what is pinned to accounts; its own
	took     prometheus.ObserverVec // of its calls, by content type
	asking   sync.WaitGroup         // questions to the driver about earlier attempts, which take no slot

	mu     sync.Mutex
	ran    sum                           // of the run under way
	looked map[posthouse.Priority]looked // what is known of lanes that ask for seats
}

// sum is what one run did.
type sum struct {
	claimed, ok, failed int
	// began is the database's time of the run's first claim: a delivery that fails in this run
	// comes due after it and so waits for the next one.
	began time.Time
}

func newRoute(c *state.Channel, o admission.Options, m *metrics.Metrics) *route {
	r := &route{Channel: c, wake: make(chan struct{}, 1), looked: map[posthouse.Priority]looked{}, took: m.Duration.MustCurryWith(prometheus.Labels{"channel": c.Key.Channel})}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	o.Wake = r.nudge
	o.Shaped = func(p posthouse.Priority) { m.Shaped.WithLabelValues(c.Key.Tenant, c.Key.Channel, string(p)).Inc() }
	r.admission = admission.New(c, o)
	return r
}

// rouse says that a lane may hold something due.
func (r *route) rouse(pin work.Pin, p posthouse.Priority) {
	r.filled(p)
	r.admission.Mark(admission.Lane{Pin: pin, Priority: p})
}

func (r *route) nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// crowded reports whether so many attempts are under way that more of them will end in a moment.
func (r *route) crowded() bool { return r.admission.UnderWay() >= crowd }

const crowd = 16

// settle waits until nothing of the route is under way.
func (r *route) settle(ctx context.Context) {
	for {
		busy, idle := r.admission.Busy()
		if !busy {
			return
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return
		}
	}
}

// replaced reports whether a channel has another route by now, or none.
func (r *route) replaced() bool { return r.ctx.Err() != nil }
