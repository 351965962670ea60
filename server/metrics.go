package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
)

// What Options.MetricsAddr can be beside an address: MetricsOff serves no metrics, MetricsOpen serves them at the API's to everybody.
const (
	MetricsOff  = "off"
	MetricsOpen = "open"
)

// metricsAtAddr reports whether the API's address has the metrics.
func (o Options) metricsAtAddr() bool { return o.MetricsAddr == "" || o.MetricsAddr == MetricsOpen }

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
func measure(o Options, database string, list func(context.Context) ([]posthouse.Channel, error)) error {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "posthouse", Name: "build_info", Help: "1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": o.Version, "goversion": runtime.Version(), "database": database},
	})
	build.Set(1)
	for _, c := range []prometheus.Collector{build, newChannelStates(list)} {
		if err := o.Registry.Register(c); err != nil {
			return err
		}
	}
	return measureProcess(o.Registry)
}

// measureProcess registers the process's own metrics. The registry of a program that embeds the server may have them
// already.
func measureProcess(r *prometheus.Registry) error {
	for _, c := range []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := r.Register(c); err != nil && !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
			return fmt.Errorf("register the metrics of the process: %w", err)
		}
	}
	return nil
}

// metricsHandler serves the metrics to those who show the token, where there is one.
func metricsHandler(o Options) http.Handler {
	page := promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{})
	if o.MetricsToken == "" {
		return page
	}
	want := sha256.Sum256([]byte(o.MetricsToken)) // hashes have one length
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

// metricsHere is what /metrics of the API's address serves. They name the channels of all tenants, so without a token they are for what
// runs on this machine and was not sent on by a proxy.
func metricsHere(o Options) http.Handler {
	page := metricsHandler(o)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !o.metricsAtAddr():
			http.Error(w, "metrics are not served here", http.StatusNotFound)
		case o.MetricsToken == "" && o.MetricsAddr != MetricsOpen && !fromHere(r):
			http.Error(w, "the metrics are for scrapes of this machine alone: give the server metrics_token, or metrics_addr (an address of their own, or open)", http.StatusForbidden)
		default:
			page.ServeHTTP(w, r)
		}
	})
}

// fromHere reports whether a request comes from this machine, and through no proxy that says so.
func fromHere(r *http.Request) bool {
	at, err := netip.ParseAddr(web.AddressOf(r))
	return err == nil && at.Unmap().IsLoopback() && !web.IsForwarded(r)
}
