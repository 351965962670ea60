package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
)

// Notifications are the figures of what people acknowledge.
type Notifications struct{ acknowledged *prometheus.HistogramVec }

// NewNotifications makes the figures and registers them.
func NewNotifications(reg prometheus.Registerer) *Notifications {
	n := &Notifications{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "posthouse", Name: "acknowledge_duration_seconds", Help: "Time from the accept of a message to the acknowledgement of a notification, by the way it came.",
		Buckets: []float64{10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400},
	}, []string{"via"})}
	reg.MustRegister(n.acknowledged)
	for _, via := range []posthouse.AckVia{posthouse.AckAPI, posthouse.AckLink, posthouse.AckCard, posthouse.AckMail, posthouse.AckSMS, posthouse.AckVoice} {
		n.acknowledged.WithLabelValues(string(via))
	}
	return n
}

// Acknowledged counts one.
func (n *Notifications) Acknowledged(via posthouse.AckVia, took time.Duration) {
	n.acknowledged.WithLabelValues(string(via)).Observe(took.Seconds())
}
