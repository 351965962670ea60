package engine

import (
	"context"
	"fmt"
	"runtime/debug"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/life"
)

// drive calls the driver and survives its panic.
func (s *sender) drive(ctx context.Context, r *route, u unit, outs []channel.Outgoing) (results []channel.Result, panicked bool) {
	if s.tracer != nil {
		traced, span := s.span(ctx, u)
		ctx = traced
		defer func() {
			if len(results) > 0 {
				span.SetAttributes(attribute.String("posthouse.class", string(results[0].Class)))
			}
			span.End()
		}()
	}
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("the driver panicked: its deliveries are quarantined", "channel", r.Key.Channel, "driver", r.Stored.Driver,
				"delivery", u.about().first, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			panicked = true
			results = nil
			for range outs {
				results = append(results, channel.Result{Class: posthouse.ClassUnknown, Code: "PANIC", Error: "the driver panicked: " + fmt.Sprint(p)})
			}
		}
	}()
	by := r.Opened.By(u.about().account)
	if driver, ok := by.(channel.BatchDriver); ok && len(outs) > 1 {
		return driver.SendBatch(ctx, outs), false
	}
	return []channel.Result{by.Send(ctx, outs[0])}, false
}

// span begins the span of an attempt, linked to the one that accepted its message.
func (s *sender) span(ctx context.Context, u unit) (context.Context, trace.Span) {
	is := u.about()
	var links []trace.Link
	if sc, ok := life.ParseTrace(is.trace); ok {
		links = append(links, trace.Link{SpanContext: sc})
	}
	return s.tracer.Start(ctx, "attempt", trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
		attribute.String("posthouse.channel", is.route.Key.Channel), attribute.String("posthouse.message", is.message),
		attribute.String("posthouse.delivery", is.first), attribute.Int("posthouse.recipients", is.size),
	), trace.WithLinks(links...))
}
