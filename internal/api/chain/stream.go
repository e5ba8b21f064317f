package chain

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// Stream runs one streaming call; it is a grpc.StreamServerInterceptor. Streams live as long
// as their client wants, so they have no deadline; each message that comes in is validated.
func (c *Chain) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, call := ss.Context(), From(ss.Context())
	if call == nil || call.begun {
		ctx, call = c.Admit(ctx, info.FullMethod)
	}
	defer call.End()
	ctx, call = c.begin(ctx, info.FullMethod)
	err := c.runStream(call.inside(ctx), call, srv, ss, handler)
	failed := c.finish(ctx, call, err)
	if failed == nil {
		return nil
	}
	// Headers that are sent already stay as they are.
	_ = ss.SetHeader(call.header)
	return failed.Err()
}

func (c *Chain) runStream(ctx context.Context, call *Call, srv any, ss grpc.ServerStream, handler grpc.StreamHandler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = c.panicked(ctx, call, p)
		}
	}()
	if call.wrong != nil {
		return call.wrong
	}
	if err := ss.SetHeader(metadata.MD{HeaderRequestID: call.header[HeaderRequestID]}); err != nil {
		return err
	}
	delete(call.header, HeaderRequestID)
	return handler(srv, &stream{ServerStream: ss, ctx: ctx, chain: c, call: call})
}

// stream is a server stream that validates what it receives.
type stream struct {
	grpc.ServerStream
	ctx   context.Context //nolint:containedctx // grpc.ServerStream is defined with it
	chain *Chain
	call  *Call
}

func (s *stream) Context() context.Context { return s.ctx }

func (s *stream) RecvMsg(m any) error {
	msg, ok := m.(proto.Message)
	defer s.call.decoded()
	if !ok || s.call.Protocol != GRPC {
		if err := s.ServerStream.RecvMsg(m); err != nil || !ok {
			return err
		}
		return s.chain.check(s.ctx, s.call, msg)
	}
	var in encoded
	defer in.free()
	if err := s.ServerStream.RecvMsg(&in); err != nil {
		return err
	}
	if err := in.decode(s.ctx, msg); err != nil {
		return err
	}
	return s.chain.check(s.ctx, s.call, msg)
}
