package local

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/posthouse/posthouse/internal/config"
)

// trace has the server's spans sent to the configured collector, and returns what sends the last
// of them. A collector that is away costs spans and nothing else.
func trace(ctx context.Context, c *config.Config, version string, log *slog.Logger) (flush func(context.Context), err error) {
	if c.OTLPEndpoint == "" {
		return func(context.Context) {}, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(c.OTLPEndpoint))
	if err != nil {
		return nil, fmt.Errorf("open the exporter of traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Debug("traces cannot be sent", "error", err) }))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "posthouse"), attribute.String("service.version", version),
		)),
	)
	c.Server.Tracer = provider
	return func(ctx context.Context) {
		if err := provider.Shutdown(ctx); err != nil {
			log.Debug("the last traces were not sent", "error", err)
		}
	}, nil
}
