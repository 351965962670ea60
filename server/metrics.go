package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/posthouse/posthouse"
)

// MetricsOff as Options.MetricsAddr serves no metrics.
const MetricsOff = "off"

// channelStates tells of each channel whether it sends now, as the database says at the moment of the scrape.
type channelStates struct {
	list func(ctx context.Context) ([]posthouse.Channel, error)
	desc *prometheus.Desc
}

func newChannelStates(list func(ctx context.Context) ([]posthouse.Channel, error)) channelStates {
	return channelStates{list, prometheus.NewDesc("posthouse_channel_state",
		"1 for the state that a channel is in, 0 for the others: open, paused by a person, parked because its provider refuses the account, or broken because it cannot be opened. Every process says the same.",
		[]string{"tenant", "channel", "state"}, nil)}
}

// Describe is prometheus.Collector's.
func (c channelStates) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect is prometheus.Collector's. A database that does not answer leaves the states out: /readyz says so.
func (c channelStates) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	list, err := c.list(ctx)
	if err != nil {
		return
	}
	for _, ch := range list {
		for _, s := range posthouse.ChannelStates() {
			value := 0.0
			if ch.State == s {
				value = 1
			}
			to <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, value, ch.Tenant, ch.Name, string(s))
		}
	}
}

// measure registers what the server itself tells.
func (s *Server) measure() error {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "posthouse", Name: "build_info", Help: "1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": s.o.Version, "goversion": runtime.Version(), "database": s.store.Database()},
	})
	build.Set(1)
	for _, c := range []prometheus.Collector{build, newChannelStates(s.channels.All)} {
		if err := s.o.Registry.Register(c); err != nil {
			return err
		}
	}
	return s.measureProcess()
}

// metricsHandler serves the metrics to those who show the token, where there is one.
func (s *Server) metricsHandler() http.Handler {
	page := promhttp.HandlerFor(s.o.Registry, promhttp.HandlerOpts{})
	if s.o.MetricsToken == "" {
		return page
	}
	want := sha256.Sum256([]byte(s.o.MetricsToken)) // hashes have one length
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(shown)))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the metrics need the token that the server was given: send it as \"Authorization: Bearer …\"", http.StatusUnauthorized)
			return
		}
		page.ServeHTTP(w, r)
	})
}

// metricsHere is what /metrics of the API's address serves.
func (s *Server) metricsHere() http.Handler {
	if s.o.MetricsAddr == "" {
		return s.metricsHandler()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "metrics are not served here", http.StatusNotFound)
	})
}

// metricsServer serves the metrics, and nothing else, at an address of their own; nil without.
func (s *Server) metricsServer() *http.Server {
	if s.o.MetricsAddr == "" || s.o.MetricsAddr == MetricsOff {
		return nil
	}
	only := http.NewServeMux()
	only.Handle("GET /metrics", s.metricsHandler())
	return s.httpServer(only)
}
