package chain

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/fault"
)

// Stream runs one streaming call as a grpc.StreamServerInterceptor. It sets no deadline, because the client decides how long a stream
// lasts. It validates each received message, and ends the stream when the credential ends: see recheck. Its errors are gRPC statuses.
func (c *Chain) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return c.streamCall(srv, &stream{ServerStream: ss}, info, handler)
}

// streamOfGRPC is Stream for gRPC's server, whose codec leaves the messages encoded.
func (c *Chain) streamOfGRPC(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return c.streamCall(srv, &stream{ServerStream: ss, encoded: true}, info, handler)
}

// streamCall is the common part of Stream and streamOfGRPC. It admits the call if no server did, runs it, and logs and counts the result.
func (c *Chain) streamCall(srv any, ss *stream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, call := ss.ServerStream.Context(), From(ss.ServerStream.Context())
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

// runStream runs the handler of an admitted stream. It ends the stream when the caller's credential ends, and then returns why. It returns
// the refusal of a refused call, without the handler, and converts a panic to an error.
func (c *Chain) runStream(ctx context.Context, call *Call, srv any, ss *stream, handler grpc.StreamHandler) (err error) {
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
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go c.recheck(ctx, call, end)
	ss.ctx, ss.chain, ss.call = ctx, c, call
	err = handler(srv, ss)
	if refused, ok := fault.Of(context.Cause(ctx)); ok {
		return refused
	}
	return err
}

// recheckInterval is the longest time for which a stream continues after its credential has ended, unless the database fails. The interval
// for people and guests is shorter, because a property can dismiss a person, and a guest can end the session of a lost device.
const (
	recheckInterval       = 20 * time.Second
	recheckPersonInterval = 4 * time.Second
)

// recheck ends a stream with end once recheckCaller refuses the caller, such as after its credential was revoked or has expired. It runs
// until ctx ends. For a method without credentials it returns at once.
func (c *Chain) recheck(ctx context.Context, call *Call, end context.CancelCauseFunc) {
	if call.method.public || call.method.access.GetAnonymous() {
		return
	}
	interval := recheckInterval
	if call.actor.PersonID != "" || call.actor.Kind == actor.Guest {
		interval = recheckPersonInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if refused := c.recheckCaller(ctx, call); refused != nil {
			end(refused)
			return
		}
	}
}

// recheckCaller authenticates and authorizes the caller of a stream again. It returns why the stream must end, or nil. A change of role
// ends it too. It also returns nil while the database fails, so that a short outage ends no streams.
func (c *Chain) recheckCaller(ctx context.Context, call *Call) error {
	credentials := call.credentials(ctx)
	a, err := c.auth[call.method.area](ctx, credentials)
	f, ok := fault.Of(err)
	switch {
	case ok && f.Kind == fault.Unauthenticated:
		return withCredentialHint(f, call.method.area, credentials)
	case ok && f.Kind == fault.NotFound:
		return f
	case err != nil:
		return nil
	case a.Role != call.actor.Role: // ends the stream, because what it sends can depend on the role
		return fault.New(fault.Unavailable, "", "your role changed: call again")
	}
	return MayCall(a, call.method.access, c.clock.Now())
}

// stream is a server stream that validates the messages it receives.
type stream struct {
	grpc.ServerStream
	ctx     context.Context // context that the Context method returns
	chain   *Chain
	call    *Call
	encoded bool // the messages arrive as [encoded]
}

func (s *stream) Context() context.Context { return s.ctx }

// RecvMsg receives a message, decodes it if it is still encoded, and validates it.
func (s *stream) RecvMsg(m any) error {
	msg, ok := m.(proto.Message)
	defer s.call.releaseMemory()
	if !ok || !s.encoded {
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
