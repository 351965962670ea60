package life

import (
	"encoding/hex"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// TraceOf is a span as the W3C writes it, so that an attempt hours later, in another process, links
// to the request that was accepted. Empty for a span that is not sampled.
func TraceOf(sc trace.SpanContext) string {
	if !sc.IsValid() || !sc.IsSampled() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-01", sc.TraceID(), sc.SpanID())
}

// ParseTrace reads what TraceOf wrote.
func ParseTrace(s string) (trace.SpanContext, bool) {
	parts := strings.Split(s, "-")
	if len(parts) != 4 || len(parts[1]) != 32 || len(parts[2]) != 16 {
		return trace.SpanContext{}, false
	}
	var t trace.TraceID
	var span trace.SpanID
	if _, err := hex.Decode(t[:], []byte(parts[1])); err != nil {
		return trace.SpanContext{}, false
	}
	if _, err := hex.Decode(span[:], []byte(parts[2])); err != nil {
		return trace.SpanContext{}, false
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: t, SpanID: span, TraceFlags: trace.FlagsSampled, Remote: true}), true
}
