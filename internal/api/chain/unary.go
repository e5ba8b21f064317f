package chain

import (
	"context"
	"fmt"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"latchkey.dev/internal/fault"
)

// Unary runs one unary call as a grpc.UnaryServerInterceptor: admission, unless the call is admitted already, validation, handler, audit
// log, metrics and access log. For a method in Config.HandlerFields, it calls the handler there instead of the given one. Its errors are
// gRPC statuses. If the audit log fails, the caller gets an error even after a success.
func (c *Chain) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	ctx, call := c.startCall(ctx, info.FullMethod)
	defer call.End()
	call.request, _ = req.(proto.Message)
	resp, err := c.runUnary(ctx, call, req, info, handler)
	err = c.recordCall(ctx, call, err)
	failed := c.finish(ctx, call, err)
	// SetHeader fails only if the client has disconnected.
	_ = grpc.SetHeader(ctx, call.header)
	if failed != nil {
		return nil, failed.Err()
	}
	return resp, nil
}

// runUnary admits a call if that is not done yet, validates it, and runs its handler within the time limit. It converts a panic to an
// error.
func (c *Chain) runUnary(ctx context.Context, call *Call, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer func() {
		if p := recover(); p != nil {
			resp, err = nil, c.panicError(ctx, call, p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, c.deadline)
	defer cancel()
	call.MessageArrived()
	if !call.admissionDone {
		c.runAdmission(ctx, call)
	}
	if call.refusal != nil {
		return nil, call.refusal
	}
	ctx = call.handlerContext(ctx)
	if r := call.report; r != nil && r.Fault != nil {
		return nil, r.Fault
	}
	if msg, ok := req.(proto.Message); ok {
		if err := c.validate(call, msg); err != nil {
			return nil, err
		}
	}
	call.releaseMemory()
	if err := ctx.Err(); err != nil {
		return nil, err // the caller has disconnected or its deadline has passed: do not start the handler
	}
	if handle := call.method.handle; handle != nil {
		handler = func(ctx context.Context, req any) (any, error) { return handle(ctx, req, call.report) }
	}
	if c.inner != nil {
		return c.inner(ctx, call, req, info, handler)
	}
	return handler(ctx, req)
}

// panicError logs and counts the panic p of a call, and returns the error for the caller.
func (c *Chain) panicError(ctx context.Context, call *Call, p any) error {
	c.metrics.panics.WithLabelValues(call.Method).Inc()
	c.log.ErrorContext(ctx, "panic in a call", "method", call.Method, "requestId", call.RequestID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return fault.New(fault.Internal, fault.InternalError, "panic")
}
