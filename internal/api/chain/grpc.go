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

// MaxArrival is how long the message of a unary gRPC call may take to arrive.
const MaxArrival = time.Minute

// ServerOptions returns what a gRPC server needs to run the chain and keep its limits.
func (c *Chain) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.StreamInterceptor(c.Stream),
		grpc.InTapHandle(c.limitArrival),
		// The chain refuses a method that it does not know, so that this answer is never needed.
		grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
			return fault.New(fault.Unimplemented, fault.UnimplementedReason, "there is no such method")
		}),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(MaxReceiveBytes),
	}
}

// overGRPC describes a service for a gRPC server: each unary call is admitted before its message is read. Interceptors would be
// too late for that, since a generated handler reads the message before it calls them.
func (c *Chain) overGRPC(desc *grpc.ServiceDesc) *grpc.ServiceDesc {
	d := *desc
	d.Methods = slices.Clone(desc.Methods)
	for i, m := range desc.Methods {
		full := "/" + desc.ServiceName + "/" + m.MethodName
		d.Methods[i].Handler = func(impl any, ctx context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			ctx, call := c.Admit(ctx, full)
			defer call.End()
			return m.Handler(impl, patient(ctx), func(v any) error { return call.receive(ctx, read, v) }, c.Unary)
		}
	}
	return &d
}

// receive reads the message of a unary gRPC call that was admitted. What is wrong with it the chain says when it runs the call.
func (call *Call) receive(ctx context.Context, read func(any) error, v any) error {
	msg, ok := v.(proto.Message)
	if !ok || call.Refused() {
		return nil
	}
	var in encoded
	defer in.free()
	err := read(&in)
	if err == nil {
		err = in.decode(ctx, msg)
	} else if a := arrivalOf(ctx); a != nil && status.Code(err) == codes.DeadlineExceeded && a.whole.Err() == nil {
		err = TooSlow().With(err)
	}
	if err != nil {
		call.Fail(err)
	}
	return nil
}

// arrival is the context of a unary call before the time for its message began to run.
type arrival struct {
	//nolint:containedctx // the call goes on in it
	whole context.Context
}

type arrivalKey struct{}

func arrivalOf(ctx context.Context) *arrival {
	a, _ := ctx.Value(arrivalKey{}).(*arrival)
	return a
}

// limitArrival gives the message of a unary call MaxArrival to arrive: gRPC itself would wait for it for ever. It runs on the
// goroutine that reads the connection and never blocks: the call is admitted on a goroutine of its own, and until then gRPC
// holds no more of its message than the first flow-control window.
func (c *Chain) limitArrival(ctx context.Context, info *tap.Info) (context.Context, error) {
	if c.method(info.FullMethodName).streams {
		return ctx, nil
	}
	a := &arrival{whole: ctx}
	limited, cancel := context.WithTimeout(context.WithValue(ctx, arrivalKey{}, a), c.arrival)
	context.AfterFunc(ctx, cancel) // ends with its stream
	return limited, nil
}

// patient returns the context of a call without the time for its message.
func patient(ctx context.Context) context.Context {
	a := arrivalOf(ctx)
	if a == nil {
		return ctx
	}
	whole := grpc.NewContextWithServerTransportStream(a.whole, grpc.ServerTransportStreamFromContext(ctx))
	return context.WithValue(whole, callKey{}, From(ctx))
}
