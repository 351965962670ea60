// Package metrics is what Prometheus sees of the roles that accept, hand out, send and
// record. Each role counts what it does itself; queue depths are measured by the engine.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the counters and gauges of the engine's roles.
type Metrics struct {
	Accepts       *prometheus.CounterVec
	Group         prometheus.Histogram
	Sends         *prometheus.CounterVec
	Duration      *prometheus.HistogramVec
	Success       *prometheus.GaugeVec
	Rate          *prometheus.GaugeVec
	Writes        *prometheus.HistogramVec
	Limited       *prometheus.CounterVec
	HeldBack      *prometheus.CounterVec
	Shaped        *prometheus.CounterVec
	Senders       prometheus.Gauge
	SenderChanges *prometheus.CounterVec
	Tokens        *prometheus.GaugeVec
	BudgetUsed    *prometheus.GaugeVec
	BudgetLimit   *prometheus.GaugeVec
	Refusals      *prometheus.CounterVec
	Runs          *prometheus.CounterVec
	RosterGaps    prometheus.Counter
	LeaseLosses   prometheus.Counter
	Depth         *prometheus.GaugeVec
	Oldest        *prometheus.GaugeVec
	Outbox        *prometheus.GaugeVec
	Untold        *prometheus.GaugeVec
	Held          *prometheus.GaugeVec
	HeldReminders *prometheus.GaugeVec
	Receipts      *prometheus.CounterVec
	Plans         *prometheus.CounterVec
	Handouts      *prometheus.CounterVec
	Reports       *prometheus.CounterVec
	Waiting       prometheus.Gauge
}

// New makes the metrics and registers them.
func New(reg prometheus.Registerer) *Metrics {
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
	m := &Metrics{
		Accepts:       counter("accepts_total", "Deliveries accepted, by channel and the state they began in.", "channel", "state"),
		Sends:         counter("message_send_total", "Attempts that ended, by channel, content type and outcome.", "channel", "type", "outcome"),
		Limited:       counter("limiter_refusals_total", "Times a channel's limits let nothing start.", "channel"),
		HeldBack:      counter("held_back_total", "Deliveries and segments that were not sent now, by channel, reason (quiet_hours or capped) and what became of them: release, which waits, or suppress.", "channel", "reason", "outcome"),
		Shaped:        counter("shaper_waits_total", "Times a lane waited for tokens of its priority.", "tenant", "channel", "priority"),
		Senders:       prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "posthouse", Name: "senders", Help: "Provider calls that may be under way at once in this process, as the load asks for."}),
		SenderChanges: counter("sender_changes_total", "Times the number of senders of this process grew or shrank.", "direction"),
		Tokens:        gauge("shaper_tokens", "Tokens of a tenant's priority in this process; below 0 by those that are promised or were taken in advance.", "tenant", "priority"),
		BudgetUsed:    gauge("budget_used", "How much of a budget is used in its period, of all processes together: take the max over processes, not the sum. Without an account it is the channel's.", "tenant", "channel", "account", "per"),
		BudgetLimit:   gauge("budget_limit", "How much a budget allows in its period. Every process says the same: take the max.", "tenant", "channel", "account", "per"),
		Refusals:      counter("account_refusals_total", "Times a provider refused an account, by class.", "channel", "class"),
		Receipts:      counter("receipts_total", "Questions to providers what became of a delivery, by channel and answer: delivered, undelivered, unknown or given_up.", "channel", "outcome"),
		Plans:         counter("plans_total", "Plans whose moment came, by type and what became of it: composed, stale or failed.", "type", "outcome"),
		Handouts:      counter("handouts_total", "Deliveries handed to agents, by channel.", "channel"),
		Reports:       counter("agent_reports_total", "Reports of agents, by outcome and answer: done, evidence, stale or missing.", "outcome", "answer"),
		Waiting:       prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "posthouse", Name: "agents_waiting", Help: "Agents that wait for something to be handed out."}),
		Runs:          counter("runs_total", "Runs of periodic sender jobs.", "job"),
		RosterGaps:    prometheus.NewCounter(prometheus.CounterOpts{Namespace: "posthouse", Name: "duty_schedule_not_configured_total", Help: "Recipients suppressed because today's roster has no entry."}),
		LeaseLosses:   prometheus.NewCounter(prometheus.CounterOpts{Namespace: "posthouse", Name: "lease_losses_total", Help: "Leases that ended before their result was recorded."}),
		Depth:         gauge("message_queue_depth", "Open deliveries of the database, by lane and state. Every process counts all of them: take the max over processes, not the sum.", "tenant", "channel", "priority", "state"),
		Success:       gauge("message_send_success_rate", "Share of the attempts of the last hour that the provider took, by account, of all processes together: take the max over processes, not the sum.", "tenant", "channel", "account"),
		Rate:          gauge("account_rate", "Calls a second that an account may make as this process sees it, and the factors that it is the product of.", "tenant", "channel", "account", "factor"),
		Oldest:        gauge("oldest_wait_seconds", "How long the oldest due delivery of a lane has waited. Every process says the same: take the max.", "tenant", "channel", "priority"),
		Outbox:        gauge("outbox_rows", "Rows of the outbox that wait to be accepted, or could not be. Every process counts all of them: take the max.", "state"),
		Untold:        gauge("notifications_waiting", "Notifications of routes that wait: a step is under way or to come. At most 10000 of a tenant are counted. Every process counts all of them: take the max.", "tenant"),
		HeldReminders: gauge("reminders_held", "Reminders that a new epoch holds until a person resumes them. At most 10000 of a tenant are counted. Every process counts all of them: take the max.", "tenant"),
		Held:          gauge("notifications_held", "Notifications of routes that a new epoch holds until a person lets them go on. At most 10000 of a tenant are counted. Every process counts all of them: take the max.", "tenant"),
	}
	m.Group = prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "posthouse", Name: "group_commit_size", Help: "Submissions that shared one commit.", Buckets: prometheus.ExponentialBuckets(1, 2, 11)})
	m.Duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "posthouse", Name: "message_send_duration_seconds", Help: "Duration of one provider call, by channel and content type.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16)}, []string{"channel", "type"})
	m.Writes = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "posthouse", Name: "write_duration_seconds", Help: "Duration of one write to the database with its commit, by what it does: accept, claim or record.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16)}, []string{"write"})
	m.zero()
	reg.MustRegister(m.RosterGaps, m.LeaseLosses, m.Group, m.Duration, m.Writes, m.Waiting, m.Senders)
	return m
}

// Wrote is called when a write that began at a time has been answered.
func (m *Metrics) Wrote(what string, began time.Time) {
	m.Writes.WithLabelValues(what).Observe(time.Since(began).Seconds())
}

// SendersAre says that the number of senders has changed, from 0 at the start.
func (m *Metrics) SendersAre(from, to int) {
	m.Senders.Set(float64(to))
	switch {
	case from == 0:
	case to > from:
		m.SenderChanges.WithLabelValues("grew").Inc()
	default:
		m.SenderChanges.WithLabelValues("shrank").Inc()
	}
}
