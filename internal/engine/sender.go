package engine

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/retry"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// verdict is what the recorder is to write about an attempt.
type verdict string

const (
	verdictResult     verdict = "result"     // the driver answered
	verdictRelease    verdict = "release"    // no byte has left: give it back
	verdictWindow     verdict = "window"     // no byte has left, and it would come too late to repeat
	verdictQuarantine verdict = "quarantine" // unreadable, or the driver panicked
)

// done is one attempt that has ended.
type done struct {
	route   *route
	item    work.Item
	verdict verdict
	result  channel.Result
	reason  string // with quarantine and release
	took    time.Duration
}

// send starts the attempts of claimed deliveries: one call for all of a message where the driver
// can, else one each. leaseEnd is by our monotonic clock.
func (e *Engine) send(r *route, items []work.Item, leaseEnd time.Time) {
	size := 1
	if _, ok := r.Opened.Driver.(channel.BatchDriver); ok {
		size = max(1, r.Settings.Batch)
	}
	for len(items) > 0 {
		n := 1
		for n < min(size, len(items)) && items[n].Delivery.Message == items[0].Delivery.Message && items[n].Delivery.Account == items[0].Delivery.Account {
			n++
		}
		group := items[:n]
		items = items[n:]
		e.sends.Add(1)
		go func() {
			defer e.sends.Done()
			e.attempt(r, group, leaseEnd)
		}()
	}
}

// attempt makes one provider call and hands its results to the recorder.
func (e *Engine) attempt(r *route, group []work.Item, leaseEnd time.Time) {
	readable := group[:0:0]
	for _, item := range e.refill(r, e.unsealGroup(r, group, leaseEnd), leaseEnd) {
		if reason := state.Unreadable(item); reason != "" {
			e.recorder.add(done{route: r, item: item, verdict: verdictQuarantine, reason: state.ReasonUnreadable, result: channel.Result{Error: reason}})
			continue
		}
		if r.tooLate(item.Delivery, time.Until(leaseEnd)) {
			e.recorder.add(done{route: r, item: item, verdict: verdictWindow})
			continue
		}
		readable = append(readable, item)
	}
	if len(readable) == 0 {
		return
	}
	// A send that could outlast its lease must not begin: another worker may hold it by then.
	// It ends by the clock that was read here, however long this process stands still before it begins.
	start := time.Now()
	end := start.Add(r.Settings.Timeout)
	back := "" // why it is given back
	switch {
	case end.After(leaseEnd), e.resting.Load():
		back = state.ReasonShutdown
	case e.halted(r):
		back = state.ReasonPaused
	}
	if back != "" {
		for _, item := range readable {
			e.recorder.add(done{route: r, item: item, verdict: verdictRelease, reason: back})
		}
		return
	}
	results, panicked := e.call(r, readable, end)
	hush(readable, results)
	took := time.Since(start)
	e.metrics.duration.WithLabelValues(r.Key.Channel).Observe(took.Seconds())
	parked, opened := e.heed(r, readable, results)
	for i, item := range readable {
		d := done{route: r, item: item, verdict: verdictResult, result: results[i], took: took}
		if panicked {
			d.verdict, d.reason = verdictQuarantine, state.ReasonPanic
		}
		e.recorder.add(d)
	}
	e.shareGateChanges(r, parked, opened)
}

// tooLate reports whether a delivery is a repeat that the provider may not recognise any more. The
// time is that of the database, which the first start was written by: left is what is left of the lease.
func (r *route) tooLate(d posthouse.Delivery, left time.Duration) bool {
	return state.Doubtful(d) && !retry.MayResend(d.LeaseUntil.Add(-left), d.FirstStartAt, r.Settings.Window, r.Settings.Timeout)
}

// isStopping reports whether nothing new may start.
func (e *Engine) isStopping() bool {
	select {
	case <-e.stopping:
		return true
	default:
		return false
	}
}

// heed parks or reopens accounts by what their provider said, in this process at once. The results
// are recorded before the other processes are told.
func (e *Engine) heed(r *route, group []work.Item, results []channel.Result) (parked []work.Gate, opened []string) {
	for i, res := range results[:len(group)] {
		account := group[i].Delivery.Account
		switch {
		case res.Class.Blocks():
			if g, closed := e.refuse(r, account, res); closed {
				parked = append(parked, g)
			}
		case res.Class == posthouse.ClassOK && r.gated():
			if e.reopen(r, account) {
				opened = append(opened, account)
			}
		}
	}
	return parked, opened
}

func (r *route) gated() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.gates) > 0
}
