package upkeep

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/work"
)

// Depths counts what waits.
type Depths interface {
	Depths(ctx context.Context) ([]work.Depth, error)
	OutboxDepth(ctx context.Context) (waiting, rejected int, err error)
	WaitingNotifications(ctx context.Context) (byTenant map[string]int, err error)
	HeldNotifications(ctx context.Context) (byTenant map[string]int, err error)
	HeldReminders(ctx context.Context) (byTenant map[string]int, err error)
}

// Measurer counts what waits.
type Measurer struct {
	Store   Depths
	Counted func(ctx context.Context, depths []work.Depth) // is told what was counted
	Life    *life.Life
	Log     *slog.Logger
	Metrics *metrics.Metrics

	unreadable atomic.Int64 // rows of the queue that no role can move
	last       atomic.Pointer[counted]
}

// counted is what was open at a time.
type counted struct {
	depths []work.Depth
	at     time.Time
}

// Depths are what was open when it was last counted, and when that was: a zero time before the first count.
func (m *Measurer) Depths() ([]work.Depth, time.Time) {
	if c := m.last.Load(); c != nil {
		return c.depths, c.at
	}
	return nil, time.Time{}
}

// DepthEvery is the time between two counts of the queue.
const DepthEvery = 10 * time.Second

// Run counts the queue at once, so that nobody takes what was not counted yet for nothing, and then now and then.
func (m *Measurer) Run(ctx context.Context) {
	for first := true; first || m.Life.Pause(life.Spread(DepthEvery)); first = false {
		m.countOutbox(ctx)
		m.countNotifications(ctx)
		depths, err := m.Store.Depths(ctx)
		if err != nil {
			m.Log.Warn("the queue cannot be counted", "error", err)
			continue
		}
		m.last.Store(&counted{depths, time.Now().UTC()})
		m.Metrics.Depth.Reset()
		m.Metrics.Oldest.Reset()
		unreadable := 0
		longest := map[work.Lane]time.Duration{}
		for _, d := range depths {
			if d.Unreadable {
				unreadable += d.Count
				m.Log.Error("deliveries in the queue have a state or priority that is not known: nothing will move them",
					"tenant", d.Tenant, "channel", d.Channel, "state", d.State, "deliveries", d.Count)
			}
			m.Metrics.Depth.WithLabelValues(d.Tenant, d.Channel, string(d.Priority), string(d.State)).Add(float64(d.Count)) // lanes of one priority are one here
			lane := work.Lane{Tenant: d.Tenant, Channel: d.Channel, Priority: d.Priority}
			if wait := time.Since(d.Oldest); d.State == "pending" && !d.Oldest.IsZero() && wait > longest[lane] {
				longest[lane] = wait
				m.Metrics.Oldest.WithLabelValues(d.Tenant, d.Channel, string(d.Priority)).Set(wait.Seconds())
			}
		}
		m.unreadable.Store(int64(unreadable))
		m.Counted(ctx, depths)
	}
}

// Unreadable is how many deliveries in the queue no role can move, as last counted.
func (m *Measurer) Unreadable() int { return int(m.unreadable.Load()) }

// countOutbox counts the rows of the outbox.
func (m *Measurer) countOutbox(ctx context.Context) {
	waiting, rejected, err := m.Store.OutboxDepth(ctx)
	if err != nil {
		m.Log.Warn("the outbox cannot be counted", "error", err)
		return
	}
	m.Metrics.Outbox.WithLabelValues("waiting").Set(float64(waiting))
	m.Metrics.Outbox.WithLabelValues("rejected").Set(float64(rejected))
}

// countNotifications counts the notifications that wait, and those and the reminders that a new epoch holds.
func (m *Measurer) countNotifications(ctx context.Context) {
	for _, of := range []struct {
		count func(ctx context.Context) (byTenant map[string]int, err error)
		gauge *prometheus.GaugeVec
	}{{m.Store.WaitingNotifications, m.Metrics.Untold}, {m.Store.HeldNotifications, m.Metrics.Held}, {m.Store.HeldReminders, m.Metrics.HeldReminders}} {
		counted, err := of.count(ctx)
		if err != nil {
			m.Log.Warn("the notifications cannot be counted", "error", err)
			return
		}
		of.gauge.Reset()
		for tenant, n := range counted {
			of.gauge.WithLabelValues(tenant).Set(float64(n))
		}
	}
}
