package engine

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse/internal/work"
)

// metrics are what Prometheus sees of the engine.
type metrics struct {
	accepts     *prometheus.CounterVec
	group       prometheus.Histogram
	sends       *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	writes      *prometheus.HistogramVec
	limited     *prometheus.CounterVec
	refusals    *prometheus.CounterVec
	runs        *prometheus.CounterVec
	rosterGaps  prometheus.Counter
	leaseLosses prometheus.Counter
	depth       *prometheus.GaugeVec
	oldest      *prometheus.GaugeVec
	outbox      *prometheus.GaugeVec
	receipts    *prometheus.CounterVec
	plans       *prometheus.CounterVec
	handouts    *prometheus.CounterVec
	reports     *prometheus.CounterVec
	waiting     prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "posthouse", Name: name, Help: help}, labels)
		reg.MustRegister(v)
		return v
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "posthouse", Name: name, Help: help}, labels)
		reg.MustRegister(v)
		return v
	}
	m := &metrics{
		accepts:     counter("accepts_total", "Deliveries accepted, by channel and the state they began in.", "channel", "state"),
		sends:       counter("sends_total", "Attempts that ended, by channel and outcome.", "channel", "outcome"),
		limited:     counter("limiter_refusals_total", "Times a channel's limits let nothing start.", "channel"),
		refusals:    counter("account_refusals_total", "Times a provider refused an account, by class.", "channel", "class"),
		receipts:    counter("receipts_total", "Questions to providers what became of a delivery, by channel and answer: delivered, undelivered, unknown or given_up.", "channel", "outcome"),
		plans:       counter("plans_total", "Plans whose moment came, by type and what became of it: composed, stale or failed.", "type", "outcome"),
		handouts:    counter("handouts_total", "Deliveries handed to agents, by channel.", "channel"),
		reports:     counter("agent_reports_total", "Reports of agents, by outcome and answer: done, evidence, stale or missing.", "outcome", "answer"),
		waiting:     prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "posthouse", Name: "agents_waiting", Help: "Agents that wait for something to be handed out."}),
		runs:        counter("runs_total", "Runs of periodic sender jobs.", "job"),
		rosterGaps:  prometheus.NewCounter(prometheus.CounterOpts{Namespace: "posthouse", Name: "duty_schedule_not_configured_total", Help: "Recipients suppressed because today's roster has no entry."}),
		leaseLosses: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "posthouse", Name: "lease_losses_total", Help: "Leases that ended before their result was recorded."}),
		depth:       gauge("queue_depth", "Open deliveries, by lane and state.", "tenant", "channel", "priority", "state"),
		oldest:      gauge("oldest_wait_seconds", "How long the oldest due delivery of a lane has waited.", "tenant", "channel", "priority"),
		outbox:      gauge("outbox_rows", "Rows of the outbox that wait to be accepted, or could not be.", "state"),
	}
	m.group = prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "posthouse", Name: "group_commit_size", Help: "Submissions that shared one commit.", Buckets: prometheus.ExponentialBuckets(1, 2, 11)})
	m.duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "posthouse", Name: "send_duration_seconds", Help: "Duration of one provider call.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16)}, []string{"channel"})
	m.writes = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "posthouse", Name: "write_duration_seconds", Help: "Duration of one write to the database with its commit, by what it does: accept, claim or record.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16)}, []string{"write"})
	reg.MustRegister(m.rosterGaps, m.leaseLosses, m.group, m.duration, m.writes, m.waiting)
	return m
}

// wrote is called when a write that began at a time has been answered.
func (m *metrics) wrote(what string, began time.Time) {
	m.writes.WithLabelValues(what).Observe(time.Since(began).Seconds())
}

// depthEvery is the time between two counts of the queue.
const depthEvery = 10 * time.Second

// measure counts the queue now and then.
func (e *Engine) measure(ctx context.Context) {
	for e.pause(spread(depthEvery)) {
		e.measureOutbox(ctx)
		depths, err := e.o.Store.Depths(ctx)
		if err != nil {
			e.log.Warn("the queue can not be counted", "error", err)
			continue
		}
		e.metrics.depth.Reset()
		e.metrics.oldest.Reset()
		unreadable := 0
		longest := map[work.Lane]time.Duration{}
		for _, d := range depths {
			e.turnLane(ctx, &d)
			if d.Unreadable {
				unreadable += d.Count
				e.log.Error("deliveries in the queue have a state or priority that is not known: nothing will move them",
					"tenant", d.Tenant, "channel", d.Channel, "state", d.State, "deliveries", d.Count)
			}
			e.metrics.depth.WithLabelValues(d.Tenant, d.Channel, string(d.Priority), string(d.State)).Add(float64(d.Count)) // lanes of one priority are one here
			lane := work.Lane{Tenant: d.Tenant, Channel: d.Channel, Priority: d.Priority}
			if wait := time.Since(d.Oldest); d.State == "pending" && !d.Oldest.IsZero() && wait > longest[lane] {
				longest[lane] = wait
				e.metrics.oldest.WithLabelValues(d.Tenant, d.Channel, string(d.Priority)).Set(wait.Seconds())
			}
		}
		e.unreadable.Store(int64(unreadable))
	}
}

// Unreadable is how many deliveries in the queue no role can move, as last counted.
func (e *Engine) Unreadable() int { return int(e.unreadable.Load()) }
