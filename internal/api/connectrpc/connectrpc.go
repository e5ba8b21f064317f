// Package connectrpc serves gRPC services over the Connect protocol, gRPC-Web and gRPC on an
// HTTP server. It needs no generated code: a service's description and its implementation
// for gRPC are enough, and every call, unary or stream, passes the interceptors.
package connectrpc

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	"latchkey.dev/internal/api/body"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/inproc"
	"latchkey.dev/internal/fault"
)

// Handler is a grpc.ServiceRegistrar and serves what is registered with it.
type Handler struct {
	admit   func(ctx context.Context, fullMethod string) (context.Context, *chain.Call)
	unary   grpc.UnaryServerInterceptor
	stream  grpc.StreamServerInterceptor
	options []connect.HandlerOption
	calls   map[string]*endpoint
	roots   []string

	refusals *connect.ErrorWriter
}

// endpoint serves one method.
type endpoint struct {
	http.Handler
	streams bool
}

// New returns a handler whose calls pass the chain.
func New(c *chain.Chain) *Handler {
	options := []connect.HandlerOption{
		connect.WithCodec(codec{name: "proto"}),
		connect.WithCodec(codec{name: "json", json: true}),
		connect.WithCodec(codec{name: "json; charset=utf-8", json: true}),
		connect.WithCompression("gzip", newUnpacker, newPacker),
	}
	return &Handler{admit: c.Admit, unary: c.Unary, stream: c.Stream, calls: map[string]*endpoint{}, options: options, refusals: connect.NewErrorWriter(options...)}
}

// Protocols returns the protocols that an HTTP server needs for all of this: HTTP/2 without
// TLS is what gRPC clients speak on a plain connection.
func Protocols() *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

// Paths returns the patterns under which an http.ServeMux should send requests here, one for
// each service, such as "/latchkey.partner.v1.SpaceService/".
func (h *Handler) Paths() []string { return slices.Clone(h.roots) }

// RegisterService implements grpc.ServiceRegistrar.
func (h *Handler) RegisterService(desc *grpc.ServiceDesc, impl any) {
	h.roots = append(h.roots, "/"+desc.ServiceName+"/")
	for _, m := range desc.Methods {
		full := fmt.Sprintf("/%s/%s", desc.ServiceName, m.MethodName)
		h.calls[full] = &endpoint{Handler: connect.NewUnaryHandler(full, h.unaryCall(full, m, impl), h.options...)}
	}
	for _, s := range desc.Streams {
		full := fmt.Sprintf("/%s/%s", desc.ServiceName, s.StreamName)
		h.calls[full] = &endpoint{Handler: unhurried(h.streamHandler(full, s, impl)), streams: true}
	}
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := h.calls[r.URL.Path]
	inner := r.WithContext(incoming(chain.FromHTTP(r.Context(), r, chain.Connect), r.Header))
	if call == nil {
		h.unknown(w, inner)
		return
	}
	if status, f := unspoken(w.Header(), r, call.streams); f != nil {
		h.turnAway(w, r, status, f)
		return
	}
	inner, f := negotiate(inner)
	if f != nil {
		// A client that went away reads no answer.
		_ = h.refusals.Write(w, inner, h.refused(inner, f))
		return
	}
	ctx, admitted := h.admit(inner.Context(), r.URL.Path)
	defer admitted.End()
	inner = inner.WithContext(ctx)
	if admitted.Refused() {
		chain.Discard(w, r)
		// A client that went away reads no answer.
		_ = h.refusals.Write(w, inner, h.refused(inner, nil))
		return
	}
	body := &content{ReadCloser: inner.Body, header: r.Header}
	if !call.streams {
		body.left, body.over = chain.MaxReceiveBytes, func() error { return h.refused(inner, chain.TooLarge()) }
	}
	served := *inner
	served.Body = body
	call.ServeHTTP(w, &served)
}

// unknown answers a call of a method that no service has, in the words of the caller's protocol.
func (h *Handler) unknown(w http.ResponseWriter, r *http.Request) {
	// The chain knows no such method either, and says so.
	err := h.refused(r, fault.New(fault.Unimplemented, fault.UnimplementedReason, "there is no such method"))
	// A client that went away reads no answer.
	_ = h.refusals.Write(w, r, err)
}

func (h *Handler) unaryCall(full string, m grpc.MethodDesc, impl any) func(context.Context, *connect.Request[letter]) (*connect.Response[letter], error) {
	return func(ctx context.Context, req *connect.Request[letter]) (*connect.Response[letter], error) {
		sts := inproc.NewTransport(full)
		ctx, cancel := due(ctx)
		defer cancel()
		ctx = grpc.NewContextWithServerTransportStream(ctx, sts)
		report := &body.Report{}
		if req.Msg.json {
			ctx = body.With(ctx, report)
		}
		resp, err := m.Handler(impl, ctx, func(v any) error {
			if err := req.Msg.open(ctx, v, report); err != nil {
				chain.From(ctx).Fail(err) // which the chain then answers
			}
			return nil
		}, h.unary)
		if err != nil {
			return nil, translate(err, sts.Header())
		}
		out, err := seal(resp)
		if err != nil {
			return nil, translate(err, sts.Header())
		}
		answer := connect.NewResponse(out)
		chain.CopyHeader(answer.Header(), sts.Header())
		return answer, nil
	}
}
