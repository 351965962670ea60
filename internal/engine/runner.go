package engine

import (
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/metrics"
)

// runner serves channels that send in runs.
type runner struct {
	dispatcher *dispatcher
	life       *life.Life
	log        *slog.Logger
	metrics    *metrics.Metrics
}

// serve serves a channel that sends in runs: one each period, the first at once. A run
// takes everything that was due when it began, each delivery once.
func (rn *runner) serve(r *route) {
	next := time.Now()
	for {
		r.mu.Lock()
		r.nextRun = next
		r.mu.Unlock()
		for time.Now().Before(next) {
			if !rn.dispatcher.await(r, time.Until(next)) {
				return
			}
		}
		if wait, closed := rn.dispatcher.barred(r); closed {
			if !rn.dispatcher.await(r, wait) {
				return
			}
			continue
		}
		rn.runOnce(r)
		if r.ctx.Err() != nil {
			return
		}
		for next = next.Add(r.Settings.Every); time.Now().After(next); {
			next = next.Add(r.Settings.Every) // a run that took longer than the period skips what it missed
		}
	}
}

// runOnce is one run, with its start, end and counts in the log.
func (rn *runner) runOnce(r *route) {
	start := time.Now()
	log := rn.log.With("job", r.Settings.Job, "tenant", r.Key.Tenant, "channel", r.Key.Channel)
	log.Info("run starts")
	r.mu.Lock()
	r.ran = sum{}
	for _, p := range posthouse.Priorities() {
		r.due[p] = true
	}
	r.mu.Unlock()
	for {
		if _, closed := rn.dispatcher.barred(r); closed {
			break // the account was refused during the run: the rest waits
		}
		at := rn.dispatcher.room(r)
		shares, wait := sharesOf(r, at)
		if len(shares) == 0 {
			if !r.anyDue() {
				break
			}
			if !rn.dispatcher.await(r, wait) {
				break
			}
			continue
		}
		wait, err := rn.dispatcher.start(r, []room{at}, shares, r.began(), r.count)
		if err != nil {
			log.Error("run stops: the database does not answer; the next period tries again", "code", codeDatabase, "error", err, "stack", string(debug.Stack()))
			break
		}
		if wait > 0 && wait != whenWoken && !rn.dispatcher.await(r, wait) {
			break
		}
	}
	r.settle(rn.life.Context())
	r.mu.Lock()
	t := r.ran
	r.mu.Unlock()
	rn.metrics.Runs.WithLabelValues(r.Settings.Job).Inc()
	log.Info("run ends", "claimed", t.claimed, "success", t.ok, "failure", t.failed, "took", time.Since(start))
}

func (r *route) began() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ran.began
}

// count notes what a run claimed.
func (r *route) count(found claimed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ran.claimed += found.n
	if found.n > 0 && r.ran.began.IsZero() {
		r.ran.began = found.at
	}
}

// ranOne notes how one attempt of a run ended.
func (r *route) ranOne(ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ok {
		r.ran.ok++
	} else {
		r.ran.failed++
	}
}
