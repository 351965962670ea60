package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// zero makes the counters begin at 0 whose labels are known from the start: a rate over a counter that appears with its
// first event misses that event.
func (m *Metrics) zero() {
	for _, kind := range []work.PlanType{work.PlanReminder, work.PlanTask, work.PlanDecision, work.PlanNotification, work.PlanCollection} {
		for _, outcome := range []string{"composed", "stale", "failed"} {
			m.Plans.WithLabelValues(string(kind), outcome)
		}
	}
	for _, outcome := range posthouse.Outcomes() {
		for _, answer := range []posthouse.ReportResult{posthouse.ReportDone, posthouse.ReportEvidence, posthouse.ReportStale, posthouse.ReportMissing} {
			m.Reports.WithLabelValues(string(outcome), string(answer))
		}
	}
}

// Channel is what the series of a channel are named by.
type Channel struct {
	Name string
	// Job is the name of its runs, empty where it has none.
	Job    string
	Pulled bool
	// Outcomes are those of attempts besides the classes of results.
	Outcomes []string
}

// Begin makes the counters of a channel begin at 0.
func (m *Metrics) Begin(c Channel) {
	for _, s := range []posthouse.State{posthouse.Pending, posthouse.Suppressed} {
		m.Accepts.WithLabelValues(c.Name, string(s))
	}
	m.Limited.WithLabelValues(c.Name)
	if c.Pulled {
		m.Handouts.WithLabelValues(c.Name)
		return
	}
	for _, class := range posthouse.Classes() {
		m.Sends.WithLabelValues(c.Name, string(posthouse.TextContent), string(class))
		if class.Blocks() {
			m.Refusals.WithLabelValues(c.Name, string(class))
		}
	}
	for _, outcome := range c.Outcomes {
		m.Sends.WithLabelValues(c.Name, string(posthouse.TextContent), outcome)
	}
	if c.Job != "" {
		m.Runs.WithLabelValues(c.Job)
	}
}

// End drops the series of a channel that is gone.
func (m *Metrics) End(c Channel) {
	of := prometheus.Labels{"channel": c.Name}
	for _, v := range []*prometheus.MetricVec{
		m.Accepts.MetricVec, m.Sends.MetricVec, m.Limited.MetricVec, m.Shaped.MetricVec, m.Refusals.MetricVec, m.Receipts.MetricVec, m.Handouts.MetricVec,
		m.Duration.MetricVec, m.Success.MetricVec, m.Rate.MetricVec, m.Depth.MetricVec, m.Oldest.MetricVec,
	} {
		v.DeletePartialMatch(of)
	}
	m.Runs.DeleteLabelValues(c.Job)
}
