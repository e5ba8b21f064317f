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

	"latchkey.dev/internal/api/body"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/inproc"
	"latchkey.dev/internal/fault"
)

// unhurried lifts the bounds on the time of a request and of its answer: a stream lasts as long as its client wants.
func unhurried(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// What cannot lift them has no bounds.
		c := http.NewResponseController(w)
		_, _ = c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{})
		h.ServeHTTP(w, r)
	})
}

// streamHandler serves one streaming method in whichever direction it streams.
func (h *Handler) streamHandler(full string, s grpc.StreamDesc, impl any) http.Handler {
	run := func(x *wire) error {
		x.sts = inproc.NewTransport(full)
		ctx, cancel := due(x.ctx)
		defer cancel()
		x.ctx = grpc.NewContextWithServerTransportStream(ctx, x.sts)
		info := &grpc.StreamServerInfo{FullMethod: full, IsClientStream: s.ClientStreams, IsServerStream: s.ServerStreams}
		err := h.stream(impl, x, info, s.Handler)
		x.flush()
		if err != nil {
			return translate(err, nil)
		}
		return nil
	}
	options := append(slices.Clone(h.options), connect.WithReadMaxBytes(chain.MaxReceiveBytes), connect.WithInterceptors(largest{}))
	switch {
	case s.ClientStreams && s.ServerStreams:
		return connect.NewBidiStreamHandler(full, func(ctx context.Context, st *connect.BidiStream[letter, letter]) error {
			return run(&wire{ctx: ctx, request: st.RequestHeader(), header: st.ResponseHeader(), trailer: st.ResponseTrailer(), send: st.Send, receive: st.Receive})
		}, options...)
	case s.ServerStreams:
		return connect.NewServerStreamHandler(full, func(ctx context.Context, req *connect.Request[letter], st *connect.ServerStream[letter]) error {
			return run(&wire{ctx: ctx, request: req.Header(), header: st.ResponseHeader(), trailer: st.ResponseTrailer(), send: st.Send, receive: once(req.Msg)})
		}, options...)
	default:
		return connect.NewClientStreamHandler(full, func(ctx context.Context, st *connect.ClientStream[letter]) (*connect.Response[letter], error) {
			var answer *connect.Response[letter]
			header, trailer := http.Header{}, http.Header{}
			err := run(&wire{ctx: ctx, request: st.RequestHeader(), header: header, trailer: trailer, receive: next(st), send: func(l *letter) error {
				answer = connect.NewResponse(l)
				return nil
			}})
			if err == nil && answer == nil {
				err = connect.NewError(connect.CodeInternal, errors.New("the method gave no answer"))
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

// largest gives a reason to the refusal of a message of a stream that is too large to be taken in.
type largest struct{}

func (largest) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

func (largest) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (largest) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return next(ctx, bounded{conn})
	}
}

type bounded struct{ connect.StreamingHandlerConn }

func (b bounded) Receive(m any) error {
	err := b.StreamingHandlerConn.Receive(m)
	if err != nil && connect.CodeOf(err) == connect.CodeResourceExhausted {
		id := chain.NewRequestID(b.RequestHeader().Get(chain.HeaderRequestID))
		return translate(chain.Status(chain.TooLarge(), id).Err(), metadata.MD{chain.HeaderRequestID: {id}})
	}
	return err
}

// once gives the one message of a server-streaming call.
func once(l *letter) func() (*letter, error) {
	var mu sync.Mutex
	return func() (*letter, error) {
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

func next(st *connect.ClientStream[letter]) func() (*letter, error) {
	return func() (*letter, error) {
		if st.Receive() {
			return st.Msg(), nil
		}
		if err := st.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
}

// wire is a grpc.ServerStream over a stream of Connect.
type wire struct {
	ctx     context.Context //nolint:containedctx // grpc.ServerStream is defined with it
	request http.Header
	send    func(*letter) error
	receive func() (*letter, error)
	sts     *inproc.Transport

	mu              sync.Mutex
	sent            bool
	header, trailer http.Header
}

func (w *wire) Context() context.Context { return w.ctx }

func (w *wire) SetHeader(md metadata.MD) error { return w.sts.SetHeader(md) }

// SendHeader waits for the first message: Connect sends both together.
func (w *wire) SendHeader(md metadata.MD) error { return w.sts.SetHeader(md) }

func (w *wire) SetTrailer(md metadata.MD) {
	w.mu.Lock()
	defer w.mu.Unlock()
	chain.CopyHeader(w.trailer, md)
}

// flush gives the header to Connect, which is possible until the first message.
func (w *wire) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.sent {
		w.sent = true
		chain.CopyHeader(w.header, w.sts.Header())
	}
}

func (w *wire) SendMsg(v any) error {
	w.flush()
	l, err := seal(v)
	if err != nil {
		return err
	}
	return w.send(l)
}

func (w *wire) RecvMsg(v any) error {
	l, err := w.receive()
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF // callers of gRPC compare with ==
	case connect.CodeOf(err) == connect.CodeInvalidArgument:
		return fault.New(fault.Invalid, fault.InvalidFields, "a message of the stream cannot be read").With(err)
	case err != nil:
		return status.Error(codes.Code(connect.CodeOf(err)), err.Error())
	}
	report := &body.Report{}
	if err := l.open(w.ctx, v, report); err != nil {
		return err
	}
	if report.Fault != nil {
		return report.Fault
	}
	return fault.Err(fault.Fields(report.TypeErrors("")...))
}
