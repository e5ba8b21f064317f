package chain

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"

	"latchkey.dev/internal/fault"
)

// MaxReceiveTime is how long the message of a unary gRPC call may take to arrive, unless Config.ReceiveTimeout is set.
const MaxReceiveTime = time.Minute

// ServerOptions returns the options that make a gRPC server run the chain and enforce its limits. Unary calls run the chain only for
// services that a [Registrar] has registered.
func (c *Chain) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.StreamInterceptor(c.streamOfGRPC),
		grpc.InTapHandle(c.limitReceiving),
		// gRPC calls the interceptor only if a handler exists. This one never runs, because the chain refuses unknown methods.
		grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
			return fault.New(fault.Unimplemented, fault.UnimplementedReason, "there is no such method")
		}),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(MaxReceiveBytes),
	}
}

// withAdmission returns a copy of the service description whose unary handlers admit a call before they read its message. An interceptor
// would be too late, because generated handlers read the message first.
func (c *Chain) withAdmission(desc *grpc.ServiceDesc) *grpc.ServiceDesc {
	d := *desc
	d.Methods = slices.Clone(desc.Methods)
	for i, m := range desc.Methods {
		full := "/" + desc.ServiceName + "/" + m.MethodName
		d.Methods[i].Handler = func(impl any, ctx context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			ctx, call := c.Admit(ctx, full, GRPC)
			defer call.End()
			return m.Handler(impl, withoutReceiveLimit(ctx), func(v any) error { return call.receive(ctx, read, v) }, c.Unary)
		}
	}
	return &d
}

// receive reads the message of an admitted unary gRPC call into v. It always returns nil: it stores an error with [Call.Fail], and Unary
// then answers with it.
func (call *Call) receive(ctx context.Context, read func(any) error, v any) error {
	msg, ok := v.(proto.Message)
	if !ok || call.Refused() {
		return nil
	}
	var in encoded
	defer in.free()
	err := read(&in)
	if err == nil {
		call.MessageArrived()
		err = in.decode(ctx, msg)
	} else if limit := receiveLimitOf(ctx); limit != nil && status.Code(err) == codes.DeadlineExceeded && limit.parent.Err() == nil {
		err = TooSlow().With(err)
	}
	if err != nil {
		call.Fail(err)
	}
	return nil
}

// receiveLimit keeps the context of a unary call from before limitReceiving added its time limit.
type receiveLimit struct {
	// context in which the call continues after its message has arrived
	parent context.Context
}

// receiveLimitKey is the context key of a *receiveLimit.
type receiveLimitKey struct{}

// receiveLimitOf returns the call's context from before the time limit for receiving its message, or nil if limitReceiving set none.
func receiveLimitOf(ctx context.Context) *receiveLimit {
	limit, _ := ctx.Value(receiveLimitKey{}).(*receiveLimit)
	return limit
}

// limitReceiving limits the time for receiving the message of a unary call, because gRPC has no such limit. It runs on the goroutine that
// reads the connection, so it must not block. It refuses no call: the error is always nil.
func (c *Chain) limitReceiving(ctx context.Context, info *tap.Info) (context.Context, error) {
	if c.findMethod(info.FullMethodName).streams {
		return ctx, nil
	}
	limit := &receiveLimit{parent: ctx}
	limited, cancel := context.WithTimeout(context.WithValue(ctx, receiveLimitKey{}, limit), c.receiveTimeout)
	context.AfterFunc(ctx, cancel) // releases the timer when the stream ends
	return limited, nil
}

// withoutReceiveLimit returns the context of a call without the time limit of limitReceiving. The caller's own deadline and cancellation
// remain. A call without that limit keeps its context.
func withoutReceiveLimit(ctx context.Context) context.Context {
	limit := receiveLimitOf(ctx)
	if limit == nil {
		return ctx
	}
	whole := grpc.NewContextWithServerTransportStream(limit.parent, grpc.ServerTransportStreamFromContext(ctx))
	return context.WithValue(whole, callKey{}, From(ctx))
}
