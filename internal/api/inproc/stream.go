package inproc

import (
	"context"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// NewStream begins a call that answers with a stream of messages; the handler starts at CloseSend. It refuses streams from the client. The
// caller ends the call by canceling ctx, as over a network.
func (c *Conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, fullMethod string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	m, ok := c.streams[fullMethod]
	switch {
	case !ok:
		return nil, status.Errorf(codes.Unimplemented, "unknown stream %s", fullMethod)
	case desc.ClientStreams:
		return nil, status.Error(codes.Unimplemented, "streams from the client are not served in process")
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	if md == nil {
		md = metadata.MD{}
	}
	sts := NewTransport(fullMethod)
	ctx = metadata.NewIncomingContext(metadata.NewOutgoingContext(ctx, metadata.MD{}), md)
	return &pipe{
		ctx: grpc.NewContextWithServerTransportStream(ctx, sts), transport: sts, messages: make(chan any), ended: make(chan struct{}),
		run: func(p *pipe) error {
			info := &grpc.StreamServerInfo{FullMethod: fullMethod, IsServerStream: true}
			if c.stream == nil {
				return m.desc.Handler(m.impl, serverEnd{p})
			}
			return c.stream(m.impl, serverEnd{p}, info, m.desc.Handler)
		},
	}, nil
}

// pipe is both ends of one stream. The handler runs on a goroutine of its own and waits until each message is received.
type pipe struct {
	ctx       context.Context
	transport *Transport
	run       func(*pipe) error
	request   any
	messages  chan any
	ended     chan struct{} // closed when the handler has returned
	err       error         // error of the handler
	begun     sync.Once
}

// Header returns the headers that the handler has set so far, without waiting for it.
func (p *pipe) Header() (metadata.MD, error) { return p.transport.Header(), nil }

// Trailer always returns nil: answers of the API have no trailers.
func (p *pipe) Trailer() metadata.MD     { return nil }
func (p *pipe) Context() context.Context { return p.ctx }

// SendMsg keeps the request for the handler, which CloseSend starts.
func (p *pipe) SendMsg(m any) error {
	p.request = m
	return nil
}

// CloseSend starts the handler, because the request is complete.
func (p *pipe) CloseSend() error {
	p.begun.Do(func() {
		go func() {
			defer close(p.ended)
			p.err = p.run(p)
		}()
	})
	return nil
}

// RecvMsg waits for the next message of the handler, which CloseSend must have started. At the end it returns the handler's error, or
// io.EOF.
func (p *pipe) RecvMsg(m any) error {
	select {
	case got := <-p.messages:
		return moveMessage(m, got)
	case <-p.ended:
	}
	if p.err == nil {
		return io.EOF
	}
	return asStatus(p.err)
}

// serverEnd is the handler's end of a pipe.
type serverEnd struct{ *pipe }

// SetHeader adds headers to the answer: see [Transport.SetHeader].
func (s serverEnd) SetHeader(md metadata.MD) error { return s.transport.SetHeader(md) }

// SendHeader does the same as SetHeader: see [Transport.SendHeader].
func (s serverEnd) SendHeader(md metadata.MD) error { return s.transport.SendHeader(md) }

// SetTrailer drops the trailer: see [Transport.SetTrailer].
func (s serverEnd) SetTrailer(md metadata.MD) { _ = s.transport.SetTrailer(md) }

// SendMsg waits until the client receives the message or ends the call.
func (s serverEnd) SendMsg(m any) error {
	select {
	case s.messages <- m:
		return nil
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}

// RecvMsg returns the request on the first call, and then io.EOF.
func (s serverEnd) RecvMsg(m any) error {
	if s.request == nil {
		return io.EOF
	}
	request := s.request
	s.request = nil
	return moveMessage(m, request)
}
