package metrics

import "github.com/prometheus/client_golang/prometheus"

// Campaigns is what Prometheus sees of the campaigns that run. One that has ended is forgotten: its figures are its page's.
type Campaigns struct{ members *prometheus.GaugeVec }

// NewCampaigns makes the metrics and registers them.
func NewCampaigns(reg prometheus.Registerer) *Campaigns {
	c := &Campaigns{prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "posthouse", Name: "campaign_members", Help: "Members of a campaign that runs or is paused, by where they stand. Every process counts all of them: take the max over processes, not the sum.",
	}, []string{"tenant", "campaign", "outcome"})}
	reg.MustRegister(c.members)
	return c
}

// Stand says how many members of a campaign stand where.
func (c *Campaigns) Stand(tenant, campaign string, counts map[string]int64) {
	for outcome, n := range counts {
		c.members.WithLabelValues(tenant, campaign, outcome).Set(float64(n))
	}
}

// Forget ends the figures of a campaign.
func (c *Campaigns) Forget(tenant, campaign string) {
	c.members.DeletePartialMatch(prometheus.Labels{"tenant": tenant, "campaign": campaign})
}
