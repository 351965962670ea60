package engine

import (
	"cmp"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

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
		r.admission.RunsAt(next)
		for time.Now().Before(next) {
			if !rn.dispatcher.await(r, time.Until(next)) {
				return
			}
		}
		if why, until := r.admission.Closed(time.Now()); why != "" {
			if !rn.dispatcher.await(r, waitFor(until)) {
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
	r.mu.Unlock()
	r.admission.MarkAll()
	for more := true; more && r.ctx.Err() == nil; {
		more = rn.goOn(r, log)
	}
	r.settle(rn.life.Context())
	r.mu.Lock()
	t := r.ran
	r.mu.Unlock()
	rn.metrics.Runs.WithLabelValues(r.Settings.Job).Inc()
	log.Info("run ends", "claimed", t.claimed, "success", t.ok, "failure", t.failed, "took", time.Since(start))
}

// goOn starts what a run may start now, and waits where nothing may for a moment. It reports whether there may be more.
func (rn *runner) goOn(r *route, log *slog.Logger) bool {
	list, next := r.admission.Reserve(time.Now())
	if len(list) == 0 {
		if why, _ := r.admission.Closed(time.Now()); why != "" {
			return false // the account was refused during the run: the rest waits
		}
		return r.admission.Any() && rn.dispatcher.await(r, waitFor(next))
	}
	answers, waits, errs := rn.dispatcher.ask(r, list), make([]time.Duration, len(list)), make([]error, len(list))
	for i, res := range list { // after an error too: what is reserved is to be given back
		waits[i], errs[i] = rn.dispatcher.start(r, res, answers[i], r.began(), r.count)
	}
	if err := cmp.Or(errs...); err != nil {
		log.Error("run stops: the database does not answer; the next period tries again", "code", codeDatabase, "error", err, "stack", string(debug.Stack()))
		return false
	}
	wait := slices.Min(waits)
	return wait <= 0 || wait == whenWoken || rn.dispatcher.await(r, wait)
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
