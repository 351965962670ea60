package engine

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/work"
)

// measurer counts what waits.
type measurer struct {
	store      Depths
	counted    func(ctx context.Context, depths []work.Depth) // is told what was counted
	life       *life.Life
	log        *slog.Logger
	metrics    *metrics.Metrics
	unreadable atomic.Int64 // rows of the queue that no role can move
}

// depthEvery is the time between two counts of the queue.
const depthEvery = 10 * time.Second

// run counts the queue now and then.
func (m *measurer) run(ctx context.Context) {
	for m.life.Pause(life.Spread(depthEvery)) {
		m.countOutbox(ctx)
		depths, err := m.store.Depths(ctx)
		if err != nil {
			m.log.Warn("the queue cannot be counted", "error", err)
			continue
		}
		m.metrics.Depth.Reset()
		m.metrics.Oldest.Reset()
		unreadable := 0
		longest := map[work.Lane]time.Duration{}
		for _, d := range depths {
			if d.Unreadable {
				unreadable += d.Count
				m.log.Error("deliveries in the queue have a state or priority that is not known: nothing will move them",
					"tenant", d.Tenant, "channel", d.Channel, "state", d.State, "deliveries", d.Count)
			}
			m.metrics.Depth.WithLabelValues(d.Tenant, d.Channel, string(d.Priority), string(d.State)).Add(float64(d.Count)) // lanes of one priority are one here
			lane := work.Lane{Tenant: d.Tenant, Channel: d.Channel, Priority: d.Priority}
			if wait := time.Since(d.Oldest); d.State == "pending" && !d.Oldest.IsZero() && wait > longest[lane] {
				longest[lane] = wait
				m.metrics.Oldest.WithLabelValues(d.Tenant, d.Channel, string(d.Priority)).Set(wait.Seconds())
			}
		}
		m.unreadable.Store(int64(unreadable))
		m.counted(ctx, depths)
	}
}

// Unreadable is how many deliveries in the queue no role can move, as last counted.
func (m *measurer) Unreadable() int { return int(m.unreadable.Load()) }

// countOutbox counts the rows of the outbox.
func (m *measurer) countOutbox(ctx context.Context) {
	waiting, rejected, err := m.store.OutboxDepth(ctx)
	if err != nil {
		m.log.Warn("the outbox cannot be counted", "error", err)
		return
	}
	m.metrics.Outbox.WithLabelValues("waiting").Set(float64(waiting))
	m.metrics.Outbox.WithLabelValues("rejected").Set(float64(rejected))
}
