package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/telemetry"
)

// openTraces creates the tracer: from provider, or else one that exports to the configured URL and is shut down by Close. With neither it
// discards traces.
func (s *Server) openTraces(ctx context.Context, provider trace.TracerProvider) error {
	if provider == nil && s.cfg.Telemetry.URL != "" {
		logTraceErrors(s.log)
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

// logTraceErrors logs the errors of OpenTelemetry, which has one handler for the whole process. By default it writes plain lines, also next
// to a log in JSON.
func logTraceErrors(log *slog.Logger) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces are not sent", "error", err) }))
}

// span starts a trace span and returns a function that ends it with the error of the work, or nil. Spans contain no addresses, tokens or
// personal data: of an error they contain only the reason, because its text may quote the request.
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

// aroundWrite is the wrapper of every database write: see [db.Config]. It records the write in a trace span and in a metric.
func (s *Server) aroundWrite(ctx context.Context, write func(context.Context) error) error {
	ctx, end := s.span(ctx, "db.Write")
	began := time.Now()
	err := write(ctx)
	s.changes.WithLabelValues(changeOutcome(err)).Observe(time.Since(began).Seconds())
	end(err)
	return err
}

// changeOutcome returns the label in the metrics for the outcome of a database write: stored, refused by a rule, or failed. A fault of the
// kind Internal, Unavailable or Aborted is a failure, and so is an error without a fault.
func changeOutcome(err error) string {
	switch f, ok := fault.Of(err); {
	case err == nil:
		return "stored"
	case ok && f.Kind != fault.Internal && f.Kind != fault.Unavailable && f.Kind != fault.Aborted:
		return "refused"
	}
	return "failed"
}

// measureDatabase registers the metrics of database writes.
func (s *Server) measureDatabase() {
	s.changes = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "latchkey_db_change_duration_seconds", Help: "Changes of the database, from the request until they are durable or refused.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"outcome"})
	s.metrics.MustRegister(s.changes)
}
