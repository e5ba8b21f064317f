package connectrpc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/inproc"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/fault/envelope"
)

// withoutDelays removes the server's read and write timeouts, because the client decides how long a stream lasts, and has a proxy such as
// nginx pass each message on at once.
func withoutDelays(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A response writer that does not support deadlines has none to remove.
		c := http.NewResponseController(w)
		_, _ = c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{})
		w.Header().Set("X-Accel-Buffering", "no")
		h.ServeHTTP(w, r)
	})
}

// streamHandler returns the HTTP handler of one streaming method of the service impl. full is the method's full name.
func (h *Handler) streamHandler(full string, s grpc.StreamDesc, impl any) http.Handler {
	run := func(x *serverStream) error {
		x.sts = inproc.NewTransport(full)
		ctx, cancel := withCallerDeadline(x.ctx)
		defer cancel()
		x.ctx = grpc.NewContextWithServerTransportStream(ctx, x.sts)
		info := &grpc.StreamServerInfo{FullMethod: full, IsClientStream: s.ClientStreams, IsServerStream: s.ServerStreams}
		err := h.stream(impl, x, info, s.Handler)
		x.flushHeader()
		if err != nil {
			return connectError(err, nil)
		}
		return nil
	}
	options := append(slices.Clone(h.options), connect.WithReadMaxBytes(chain.MaxReceiveBytes), connect.WithInterceptors(sizeLimitInterceptor{}))
	switch {
	case s.ClientStreams && s.ServerStreams:
		return connect.NewBidiStreamHandler(full, func(ctx context.Context, st *connect.BidiStream[message, message]) error {
			return run(&serverStream{ctx: ctx, requestHeader: st.RequestHeader(), header: st.ResponseHeader(), trailer: st.ResponseTrailer(), send: st.Send, receive: st.Receive})
		}, options...)
	case s.ServerStreams:
		return connect.NewServerStreamHandler(full, func(ctx context.Context, req *connect.Request[message], st *connect.ServerStream[message]) error {
			return run(&serverStream{ctx: ctx, requestHeader: req.Header(), header: st.ResponseHeader(), trailer: st.ResponseTrailer(), send: st.Send, receive: receiveOnce(req.Msg)})
		}, options...)
	default:
		return connect.NewClientStreamHandler(full, func(ctx context.Context, st *connect.ClientStream[message]) (*connect.Response[message], error) {
			var answer *connect.Response[message]
			header, trailer := http.Header{}, http.Header{}
			err := run(&serverStream{ctx: ctx, requestHeader: st.RequestHeader(), header: header, trailer: trailer, receive: receiveFrom(st), send: func(l *message) error {
				answer = connect.NewResponse(l)
				return nil
			}})
			if err == nil && answer == nil {
				err = connect.NewError(connect.CodeInternal, errors.New("the method returned no answer"))
			}
			if err != nil {
				return nil, err
			}
			for k, v := range header {
				answer.Header()[k] = v
			}
			for k, v := range trailer {
				answer.Trailer()[k] = v
			}
			return answer, nil
		}, options...)
	}
}

// sizeLimitInterceptor adds a reason to Connect's error for a stream message that is too large.
type sizeLimitInterceptor struct{}

// WrapUnary returns next unchanged, because requestBody limits the messages of unary calls.
func (sizeLimitInterceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

func (sizeLimitInterceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler replaces Connect's error about a message that is too large by the API's, with its reason. It limits nothing itself.
func (sizeLimitInterceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return next(ctx, sizeLimitConn{conn})
	}
}

// sizeLimitConn is a stream whose error for a message that is too large has a reason.
type sizeLimitConn struct{ connect.StreamingHandlerConn }

// Receive replaces Connect's error for a message that is too large with the API's error, which has a reason.
func (b sizeLimitConn) Receive(m any) error {
	err := b.StreamingHandlerConn.Receive(m)
	if err != nil && connect.CodeOf(err) == connect.CodeResourceExhausted {
		id := chain.NewRequestID(b.RequestHeader().Get(chain.HeaderRequestID))
		return connectError(envelope.Status(chain.TooLarge(), id).Err(), metadata.MD{chain.HeaderRequestID: {id}})
	}
	return err
}

// receiveOnce returns a receive function for a server-streaming call: it returns the single request message, then io.EOF. It is safe for
// concurrent use.
func receiveOnce(l *message) func() (*message, error) {
	var mu sync.Mutex
	return func() (*message, error) {
		mu.Lock()
		defer mu.Unlock()
		if l == nil {
			return nil, io.EOF
		}
		first := l
		l = nil
		return first, nil
	}
}

// receiveFrom returns a receive function for a client-streaming call: it returns the next message, and io.EOF after the last one.
func receiveFrom(st *connect.ClientStream[message]) func() (*message, error) {
	return func() (*message, error) {
		if st.Receive() {
			return st.Msg(), nil
		}
		if err := st.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
}

// serverStream is a grpc.ServerStream over a Connect stream.
type serverStream struct {
	ctx           context.Context // context that the Context method returns
	requestHeader http.Header
	send          func(*message) error
	receive       func() (*message, error)
	sts           *inproc.Transport

	mu              sync.Mutex
	sent            bool // flushHeader has passed the header on; headers that are set later are lost
	header, trailer http.Header
}

func (w *serverStream) Context() context.Context { return w.ctx }

// SetHeader adds headers to the answer. It never fails, but headers that are set after the first message are lost.
func (w *serverStream) SetHeader(md metadata.MD) error { return w.sts.SetHeader(md) }

// SendHeader does the same as SetHeader, because Connect sends the headers with the first message.
func (w *serverStream) SendHeader(md metadata.MD) error { return w.sts.SetHeader(md) }

// SetTrailer adds to the trailer of the stream the headers that are in chain.Outgoing, and drops all others.
func (w *serverStream) SetTrailer(md metadata.MD) {
	w.mu.Lock()
	defer w.mu.Unlock()
	chain.CopyHeader(w.trailer, md)
}

// flushHeader passes the stored header to Connect before the first message. Later calls do nothing.
func (w *serverStream) flushHeader() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.sent {
		w.sent = true
		chain.CopyHeader(w.header, w.sts.Header())
	}
}

// SendMsg sends the message v to the caller, the first one after the stored header. Headers that are set later are lost.
func (w *serverStream) SendMsg(v any) error {
	w.flushHeader()
	l, err := newMessage(v)
	if err != nil {
		return err
	}
	return w.send(l)
}

// RecvMsg decodes the next message into v. It fails with the errors in the message's JSON, whereas those of a unary call go to a report.
// Unknown names in JSON are no error, also in strict packages. After the last message, it returns io.EOF.
func (w *serverStream) RecvMsg(v any) error {
	l, err := w.receive()
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF // an unwrapped io.EOF, because callers compare with ==
	case connect.CodeOf(err) == connect.CodeInvalidArgument:
		return fault.New(fault.Invalid, fault.InvalidFields, "a message of the stream cannot be read").With(err)
	case err != nil:
		return status.Error(codes.Code(connect.CodeOf(err)), err.Error())
	}
	report := &jsonpb.Report{}
	if err := l.decode(w.ctx, v, report); err != nil {
		return err
	}
	if report.Fault != nil {
		return report.Fault
	}
	return fault.Err(fault.Fields(report.TypeErrors("")...))
}
