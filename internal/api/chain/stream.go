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
	ctx, call := c.begin(ss.Context(), info.FullMethod)
	err := c.runStream(ctx, call, srv, ss, handler)
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
	if ctx, err = c.admit(ctx, call); err != nil {
		return err
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
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	if msg, ok := m.(proto.Message); ok {
		return s.chain.check(s.ctx, s.call, msg)
	}
	return nil
}
