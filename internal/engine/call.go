package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// driverAnswer is what became of one call of a driver.
type driverAnswer struct {
	results  []channel.Result
	panicked bool
}

// call runs the driver until end at the latest, and sees to it that each delivery has a result that can be
// kept: what the driver leaves out is unknown. A driver that does not come back is left behind, so that
// it holds no slot; what it still does is as that of a worker which lost its lease.
func (e *Engine) call(r *route, group []work.Item, end time.Time) ([]channel.Result, bool) {
	answer := new(driverAnswer)
	code, text := "NO_RESULT", "the driver gave no result for this recipient"
	if !e.bounded(end, func(ctx context.Context) { answer.results, answer.panicked = e.drive(ctx, r, group) }) {
		answer = new(driverAnswer) // the other is still the driver's
		code, text = "NO_RETURN", "the driver did not return at its time-out"
		e.log.Error("the driver did not return at its time-out and is left behind", "channel", r.Key.Channel, "driver", r.Stored.Driver,
			"delivery", group[0].Delivery.ID, "timeout", r.Settings.Timeout)
	}
	results := answer.results
	for len(results) < len(group) {
		results = append(results, channel.Result{Class: posthouse.ClassUnknown, Code: code, Error: text})
	}
	for i := range results {
		state.Fit(&results[i])
	}
	return results, answer.panicked
}

// bounded lets a driver do something until end, and reports whether it came back, at most maxGrace
// later.
func (e *Engine) bounded(end time.Time, do func(ctx context.Context)) bool {
	ctx, cancel := context.WithDeadline(e.sendCtx, end)
	defer cancel()
	back := make(chan struct{})
	go func() {
		defer close(back) // whatever ends the goroutine
		do(ctx)
	}()
	select {
	case <-back:
		return true
	case <-ctx.Done():
	}
	grace := time.NewTimer(min(e.o.LeaseMargin/4, maxGrace))
	defer grace.Stop()
	select {
	case <-back:
		return true
	case <-grace.C:
		return false
	}
}

// maxGrace bounds how long after its time-out a driver may come back: well within its lease.
const maxGrace = time.Second

// drive calls the driver and survives its panic.
func (e *Engine) drive(ctx context.Context, r *route, group []work.Item) (results []channel.Result, panicked bool) {
	ctx, span := e.tracer.Start(ctx, "attempt", trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
		attribute.String("posthouse.channel", r.Key.Channel), attribute.String("posthouse.message", group[0].Delivery.Message),
		attribute.String("posthouse.delivery", group[0].Delivery.ID), attribute.Int("posthouse.recipients", len(group)),
	), trace.WithLinks(linkTo(group[0].Message)...))
	defer span.End()
	defer func() {
		if p := recover(); p != nil {
			e.log.Error("the driver panicked: its deliveries are quarantined", "channel", r.Key.Channel, "driver", r.Stored.Driver,
				"delivery", group[0].Delivery.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			panicked = true
			results = nil
			for range group {
				results = append(results, channel.Result{Class: posthouse.ClassUnknown, Code: "PANIC", Error: "the driver panicked: " + fmt.Sprint(p)})
			}
		}
	}()
	outs := make([]channel.Outgoing, len(group))
	for i, item := range group {
		outs[i] = r.Outgoing(item)
	}
	if driver, ok := r.Opened.Driver.(channel.BatchDriver); ok && len(group) > 1 {
		results = driver.SendBatch(ctx, outs)
	} else {
		results = append(results, r.Opened.Driver.Send(ctx, outs[0]))
	}
	if len(results) > 0 {
		span.SetAttributes(attribute.String("posthouse.class", string(results[0].Class)))
	}
	return results, false
}

// linkTo links an attempt to the span that accepted its message.
func linkTo(m *posthouse.Message) []trace.Link {
	if sc, ok := parseTrace(m.Trace); ok {
		return []trace.Link{{SpanContext: sc}}
	}
	return nil
}
