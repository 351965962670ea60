package quota

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
)

// measure makes the metrics.
func (q *Quotas) measure(to prometheus.Registerer) {
	q.refusals = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "posthouse", Name: "quota_refusals_total", Help: "Requests that were refused because a quota was used up: whose, of a key or the tenant, and what of, requests or open deliveries.",
	}, []string{"tenant", "of", "what"})
	if to != nil {
		to.MustRegister(q.refusals, openDeliveries{q, prometheus.NewDesc("posthouse_quota_open",
			"Deliveries that count against a tenant's quota, as this process counted last: those that have one and hand something in.", []string{"tenant"}, nil),
			prometheus.NewDesc("posthouse_quota_open_max", "How many deliveries of a tenant may be open.", []string{"tenant"}, nil)})
	}
}

// refused counts a refusal.
func (q *Quotas) refused(tenant string, b posthouse.Bound) {
	q.refusals.WithLabelValues(tenant, string(b.Of), string(b.What)).Inc()
}

// openDeliveries shows the quotas of tenants with what is open.
type openDeliveries struct {
	q         *Quotas
	open, max *prometheus.Desc
}

// Describe is prometheus.Collector's.
func (o openDeliveries) Describe(to chan<- *prometheus.Desc) {
	to <- o.open
	to <- o.max
}

// Collect is prometheus.Collector's.
func (o openDeliveries) Collect(to chan<- prometheus.Metric) {
	for tenant, quota := range *o.q.tenants.Load() {
		if quota.Open == 0 {
			continue
		}
		to <- prometheus.MustNewConstMetric(o.max, prometheus.GaugeValue, float64(quota.Open), tenant)
		if n, known := o.q.known(tenant); known {
			to <- prometheus.MustNewConstMetric(o.open, prometheus.GaugeValue, float64(n), tenant)
		}
	}
}

// known is what this process knows to be open of a tenant.
func (q *Quotas) known(tenant string) (int, bool) {
	q.mu.Lock()
	c := q.counts[holder{posthouse.BoundOfTenant, tenant, tenant}]
	q.mu.Unlock()
	if c == nil {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open, !c.at.IsZero()
}
