package engine

import (
	"context"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/posthouse/posthouse"
)

func TestAnAttemptLinksToTheRequestThatWasAccepted(t *testing.T) {
	virtual(t, func(r *rig) {
		spans := tracetest.NewInMemoryExporter()
		r.stop()
		r.tracer = sdk.NewTracerProvider(sdk.WithSyncer(spans))
		r.restart()
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.send(text("c", "u1"))
		r.pass(time.Second)
		byName := map[string]tracetest.SpanStub{}
		for _, s := range spans.GetSpans() {
			byName[s.Name] = s
		}
		accept, attempt := byName["accept"], byName["attempt"]
		if len(attempt.Links) != 1 || attempt.Links[0].SpanContext.SpanID() != accept.SpanContext.SpanID() {
			r.Errorf("attempt links to %v, want the span that accepted: %v", attempt.Links, accept.SpanContext)
		}
		if err := r.tracer.(*sdk.TracerProvider).Shutdown(context.Background()); err != nil {
			r.Error(err)
		}
	})
}
