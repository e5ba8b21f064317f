package server

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/telemetry"
)

// openTraces makes the tracer, which does nothing unless it is told where to.
func (s *Server) openTraces(ctx context.Context, provider trace.TracerProvider) error {
	if provider == nil && s.cfg.Telemetry.URL != "" {
		made, err := telemetry.Tracing(ctx, s.cfg.Telemetry.URL, s.version)
		if err != nil {
			return err
		}
		s.closers = append(s.closers, func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			if err := made.Shutdown(ctx); err != nil {
				s.log.Warn("the last traces were not sent", "error", err)
			}
			return nil
		})
		provider = made
	}
	if provider == nil {
		provider = noop.NewTracerProvider()
	}
	s.traces = provider.Tracer("latchkey.dev")
	return nil
}

// span begins a span; end it with what came of it. Names and attributes hold no address, no token and nothing of people,
// and of an error only its reason: texts may name what was sent.
func (s *Server) span(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, func(error)) {
	ctx, span := s.traces.Start(ctx, name, trace.WithAttributes(attributes...))
	return ctx, func(err error) {
		if err != nil && span.IsRecording() {
			reason := string(fault.InternalError)
			if f, ok := fault.Of(err); ok {
				reason = string(f.Reason)
			}
			span.SetStatus(codes.Error, reason)
		}
		span.End()
	}
}

// aroundWrite is around every change of the database: it wakes whom the change concerns, and is traced.
func (s *Server) aroundWrite(ctx context.Context, write func(context.Context) error) error {
	ctx, end := s.span(s.wake(ctx), "db.Write")
	err := write(ctx)
	end(err)
	return err
}
