package chain

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	errorsv1 "latchkey.dev/gen/latchkey/errors/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/fault/envelope"
)

// metrics are the Prometheus metrics of calls.
type metrics struct {
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	panics   *prometheus.CounterVec
}

// newMetrics creates the metrics of calls and registers them.
func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "latchkey_rpc_calls_total", Help: "Calls answered, by method, protocol and gRPC code.",
		}, []string{"method", "protocol", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "latchkey_rpc_duration_seconds", Help: "Time from a call's arrival to its answer, without what its message took to arrive.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method"}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "latchkey_rpc_panics_total", Help: "Calls that ended in a panic.",
		}, []string{"method"}),
	}
	return m, errors.Join(r.Register(m.calls), r.Register(m.duration), r.Register(m.panics))
}

// finish returns the call's gRPC status, nil for success. It adds the error's headers to the answer, updates the metrics, and writes the
// access log, which contains no personal data.
func (c *Chain) finish(ctx context.Context, call *Call, err error) *status.Status {
	took := time.Since(call.workStarted)
	code, reason := codes.OK, fault.Reason("")
	var st *status.Status
	if err != nil {
		f := c.faultOf(ctx, call, err)
		st = envelope.Status(f, call.RequestID)
		code, reason = st.Code(), f.Reason
		for k, v := range errorHeader(f) {
			call.header[k] = v
		}
	}
	label := call.Method
	if call.method == unknownMethod {
		label = "unknown" // unknown names come from callers and would create unlimited label values
	}
	c.metrics.calls.WithLabelValues(label, string(call.Protocol), code.String()).Inc()
	c.metrics.duration.WithLabelValues(label).Observe(took.Seconds())
	level := slog.LevelInfo
	if call.method.public {
		level = slog.LevelDebug
	}
	if !c.log.Enabled(ctx, level) {
		return st
	}
	attrs := make([]slog.Attr, 0, 9)
	attrs = append(attrs, slog.String("method", call.Method), slog.String("protocol", string(call.Protocol)),
		slog.String("code", code.String()), slog.Duration("took", took), slog.String("requestId", call.RequestID))
	if reason != "" {
		attrs = append(attrs, slog.String("reason", string(reason)))
	}
	if call.actor.Kind != "" {
		attrs = append(attrs, slog.String("actor", string(call.actor.Kind)), slog.String("subject", call.actor.Author()), slog.String("property", call.actor.PropertyID))
	}
	c.log.LogAttrs(ctx, level, "call", attrs...)
	return st
}

// faultOf converts an error to the fault that the caller gets, also errors of storage, contexts and gRPC. Any other error that is not a
// fault, or an internal one, is logged; the caller gets only "internal error". The cause of another server-side fault is only logged.
func (c *Chain) faultOf(ctx context.Context, call *Call, err error) *fault.Fault {
	if c.explainStorage != nil {
		err = c.explainStorage(err)
	}
	f, ok := fault.Of(err)
	if !ok {
		f = faultFromGRPC(ctx, call, err)
	}
	if f.Kind == fault.Internal {
		c.log.ErrorContext(ctx, "call failed", "method", call.Method, "requestId", call.RequestID, "error", err.Error())
		return fault.New(fault.Internal, fault.InternalError, "internal error")
	}
	if cause := errors.Unwrap(f); cause != nil && (f.Kind == fault.Unavailable || f.Kind == fault.Aborted || f.Kind == fault.Deadline) {
		c.log.WarnContext(ctx, "call could not be done", "method", call.Method, "requestId", call.RequestID, "reason", string(f.Reason), "cause", cause.Error())
	}
	return f
}

// faultFromGRPC returns the fault for errors of the context, of gRPC, and of the health and reflection services, which come from a library.
// Any other error becomes internal: a handler can pass on the gRPC status of a call that it made itself.
func faultFromGRPC(ctx context.Context, call *Call, err error) *fault.Fault {
	code := status.Code(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded) || code == codes.DeadlineExceeded:
		return fault.New(fault.Deadline, fault.DeadlineExceeded, "the call was not completed in time: check whether it took effect, or try again").With(err)
	case errors.Is(err, context.Canceled) || code == codes.Canceled:
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fault.New(fault.Deadline, fault.DeadlineExceeded, "the call was not completed in time: check whether it took effect, or try again").With(err)
		}
		return fault.New(fault.Canceled, fault.CanceledReason, "the caller canceled the call").With(err)
	case code == codes.Unimplemented:
		return fault.New(fault.Unimplemented, fault.UnimplementedReason, "this method is not offered here").With(err)
	case code == codes.ResourceExhausted:
		return TooLarge().With(err)
	case call.method.public && code == codes.NotFound:
		return fault.New(fault.NotFound, fault.NotFoundReason, "not found").With(err)
	case call.method.public && code == codes.InvalidArgument:
		return fault.New(fault.Invalid, fault.InvalidFields, "the request is invalid").With(err)
	}
	return fault.New(fault.Internal, fault.InternalError, "internal error").With(err)
}

// errorHeader returns the headers that belong to a fault, such as Retry-After.
func errorHeader(f *fault.Fault) metadata.MD {
	md := metadata.MD{}
	if d := envelope.RetryAfter(f); d > 0 {
		md[HeaderRetryAfter] = []string{strconv.Itoa(int(math.Ceil(d.Seconds())))}
	}
	if f.Kind == fault.Unauthenticated {
		md["www-authenticate"] = []string{"Bearer"}
	}
	return md
}

// Failure converts an error to the error message of REST, for answers that contain results and errors. It converts and logs like faultOf;
// without a call in ctx, any error that is not a fault becomes internal and is not logged.
func Failure(ctx context.Context, err error) *errorsv1.Error {
	call := From(ctx)
	if call == nil {
		f, ok := fault.Of(err)
		if !ok || f.Kind == fault.Internal {
			f = fault.New(fault.Internal, fault.InternalError, "internal error")
		}
		return envelope.Of(f, "")
	}
	return envelope.Of(call.chain.faultOf(ctx, call, err), call.RequestID)
}
