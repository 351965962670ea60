package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/state"
)

// sender calls drivers, and hands what they say to the recorder.
type sender struct {
	shift    *shift
	recorder *recorder
	gates    *Gatekeeper
	halted   func(r *route) string // why nothing of the route may begin any more, "" where it may
	log      *slog.Logger
	metrics  *metrics.Metrics
	tracer   trace.Tracer  // nil for none
	margin   time.Duration // what a lease lasts beyond its send's time-out
}

// send starts the attempts of what was claimed, each in a goroutine of its own. leaseEnd is by our monotonic clock.
func (s *sender) send(r *route, units []unit, leaseEnd time.Time) {
	for _, u := range units {
		s.shift.sends.Add(1)
		go s.attempt(r, u, leaseEnd)
	}
}

// attempt makes one provider call and hands its results to the recorder.
func (s *sender) attempt(r *route, u unit, leaseEnd time.Time) {
	if !u.prepare(s.shift.ctx, leaseEnd) {
		s.over(u)
		return
	}
	// A send that could outlast its lease must not begin: another worker may hold it by then.
	// It ends by the clock that was read here, however long this process stands still before it begins.
	start := time.Now()
	end := start.Add(r.Settings.Timeout)
	halted := s.halted(r)
	switch {
	case end.After(leaseEnd), s.shift.resting.Load():
		u.end(ending{verdict: verdictRelease, reason: state.ReasonShutdown})
		s.over(u)
	case halted != "":
		u.end(ending{verdict: verdictRelease, reason: halted})
		s.over(u)
	default:
		s.call(r, u, start, end)
	}
}

// over hands a unit whose attempt has ended to the recorder.
func (s *sender) over(u unit) {
	u.seat().Answered(time.Now(), nil)
	s.recorder.add(u)
	s.shift.sends.Done()
}

// call runs the driver until end at the latest, on this goroutine. A driver that does not come back is left behind, so
// that it holds no slot; what it still does is as that of a worker which lost its lease.
func (s *sender) call(r *route, u unit, start, end time.Time) {
	ctx, cancel := context.WithDeadline(s.shift.ctx, end)
	c := &call{sender: s, route: r, unit: u, start: start}
	outs := u.outgoing()
	c.outs = outs
	stop := context.AfterFunc(ctx, c.leave)
	var results []channel.Result
	var panicked bool
	defer func() { // whatever ends the goroutine
		stop()
		cancel()
		c.finish(results, panicked, "NO_RESULT", "the driver gave no result for this recipient")
	}()
	results, panicked = s.drive(ctx, r, u, outs)
}

// call is one call of a driver. Either the driver's goroutine finishes it, or the one that leaves the driver behind.
type call struct {
	sender *sender
	route  *route
	unit   unit
	start  time.Time
	outs   []channel.Outgoing

	mu   sync.Mutex
	over bool
	back chan struct{} // closed when it is over; made when somebody waits for that
}

// leave finishes a call whose time is over, when the driver has had a moment to come back.
func (c *call) leave() {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	c.back = make(chan struct{})
	c.mu.Unlock()
	grace := time.NewTimer(min(c.sender.margin/4, maxGrace))
	defer grace.Stop()
	select {
	case <-c.back:
	case <-grace.C:
		c.finish(nil, false, "NO_RETURN", "the driver did not return at its time-out")
	}
}

// first reports whether the call is not over yet, and ends it.
func (c *call) first() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.over = true
	if c.back != nil {
		close(c.back)
	}
	return true
}

// maxGrace bounds how long after its time-out a driver may come back: well within its lease.
const maxGrace = time.Second

// finish sees to it that each message has a result that can be kept, once: what is left out is unknown.
func (c *call) finish(results []channel.Result, panicked bool, code, text string) {
	if !c.first() {
		return
	}
	s, r, is := c.sender, c.route, c.unit.about()
	if code == "NO_RETURN" {
		s.log.Error("the driver did not return at its time-out and is left behind", "channel", r.Key.Channel, "driver", r.Stored.Driver,
			"delivery", is.first, "timeout", r.Settings.Timeout)
	}
	for len(results) < len(c.outs) {
		results = append(results, channel.Result{Class: posthouse.ClassUnknown, Code: code, Error: text})
	}
	for i := range results {
		state.Fit(&results[i])
	}
	if is.sensitive {
		state.Hush(results, c.outs)
	}
	took := time.Since(c.start)
	r.took.WithLabelValues(string(c.outs[0].Content.Kind())).Observe(took.Seconds())
	first := &results[0]
	c.unit.seat().Answered(c.start.Add(took), &admission.Answer{Class: first.Class, After: first.After, AtOnce: first.AtOnce, Took: took})
	parked, opened := s.gates.heed(r, is.account, results[:len(c.outs)])
	e := ending{verdict: verdictResult, results: results, took: took}
	if panicked {
		e.verdict, e.reason = verdictQuarantine, state.ReasonPanic
	}
	c.unit.end(e)
	s.recorder.add(c.unit)
	s.gates.share(r, parked, opened) // after the results: the other processes can wait
	s.shift.sends.Done()
}
