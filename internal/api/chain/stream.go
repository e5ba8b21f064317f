package chain

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// Stream runs one streaming call as a grpc.StreamServerInterceptor. It sets no deadline, because the client decides how long a stream
// lasts. It validates each received message.
func (c *Chain) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, call := ss.Context(), From(ss.Context())
	if call == nil || call.running {
		ctx, call = c.Admit(ctx, info.FullMethod, GRPC)
	}
	defer call.End()
	ctx, call = c.startCall(ctx, info.FullMethod)
	err := c.runStream(call.handlerContext(ctx), call, srv, ss, handler)
	failed := c.finish(ctx, call, err)
	if failed == nil {
		return nil
	}
	// SetHeader fails if the headers are already sent, which is harmless.
	_ = ss.SetHeader(call.header)
	return failed.Err()
}

func (c *Chain) runStream(ctx context.Context, call *Call, srv any, ss grpc.ServerStream, handler grpc.StreamHandler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = c.panicError(ctx, call, p)
		}
	}()
	if call.refusal != nil {
		return call.refusal
	}
	if err := ss.SetHeader(metadata.MD{HeaderRequestID: call.header[HeaderRequestID]}); err != nil {
		return err
	}
	delete(call.header, HeaderRequestID)
	return handler(srv, &stream{ServerStream: ss, ctx: ctx, chain: c, call: call})
}

// stream is a server stream that validates the messages it receives.
type stream struct {
	grpc.ServerStream
	ctx   context.Context // context that the Context method returns
	chain *Chain
	call  *Call
}

func (s *stream) Context() context.Context { return s.ctx }

func (s *stream) RecvMsg(m any) error {
	msg, ok := m.(proto.Message)
	defer s.call.releaseMemory()
	if !ok || s.call.Protocol != GRPC {
		if err := s.ServerStream.RecvMsg(m); err != nil || !ok {
			return err
		}
		return s.chain.validate(s.call, msg)
	}
	var in encoded
	defer in.free()
	if err := s.ServerStream.RecvMsg(&in); err != nil {
		return err
	}
	if err := in.decode(s.ctx, msg); err != nil {
		return err
	}
	return s.chain.validate(s.call, msg)
}
