// Package connectrpc serves gRPC services over the Connect protocol, gRPC-Web and gRPC on an HTTP server. It needs no
// generated code: it uses the description of a service and its gRPC implementation. Every call, unary or stream, runs
// through the chain.
package connectrpc

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/inproc"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/fault"
)

// Handler is a grpc.ServiceRegistrar and serves the registered services.
type Handler struct {
	admit     func(ctx context.Context, fullMethod string, p chain.Protocol) (context.Context, *chain.Call)
	unary     grpc.UnaryServerInterceptor
	stream    grpc.StreamServerInterceptor
	options   []connect.HandlerOption
	endpoints map[string]*endpoint
	paths     []string

	errorWriter *connect.ErrorWriter
}

// endpoint serves one method.
type endpoint struct {
	http.Handler
	streams bool
}

// New returns a handler whose calls run through the chain.
func New(c *chain.Chain) *Handler {
	options := []connect.HandlerOption{
		connect.WithCodec(codec{name: "proto"}),
		connect.WithCodec(codec{name: "json", json: true}),
		connect.WithCodec(codec{name: "json; charset=utf-8", json: true}),
		connect.WithCompression("gzip", newDecompressor, newCompressor),
	}
	return &Handler{admit: c.Admit, unary: c.Unary, stream: c.Stream, endpoints: map[string]*endpoint{}, options: options, errorWriter: connect.NewErrorWriter(options...)}
}

// Protocols returns the HTTP protocols that the server must enable. gRPC clients use HTTP/2 without TLS on a plain
// connection.
func Protocols() *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

// Paths returns the patterns for http.ServeMux, one for each service, such as "/latchkey.partner.v1.SpaceService/".
func (h *Handler) Paths() []string { return slices.Clone(h.paths) }

// RegisterService implements grpc.ServiceRegistrar.
func (h *Handler) RegisterService(desc *grpc.ServiceDesc, impl any) {
	h.paths = append(h.paths, "/"+desc.ServiceName+"/")
	for _, m := range desc.Methods {
		full := fmt.Sprintf("/%s/%s", desc.ServiceName, m.MethodName)
		h.endpoints[full] = &endpoint{Handler: connect.NewUnaryHandler(full, h.unaryHandler(full, m, impl), h.options...)}
	}
	for _, s := range desc.Streams {
		full := fmt.Sprintf("/%s/%s", desc.ServiceName, s.StreamName)
		h.endpoints[full] = &endpoint{Handler: withoutTimeouts(h.streamHandler(full, s, impl)), streams: true}
	}
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := h.endpoints[r.URL.Path]
	req := r.WithContext(incomingContext(chain.FromHTTP(r.Context(), r), r.Header))
	if call == nil {
		h.answerUnknownMethod(w, req)
		return
	}
	if status, f := checkEncoding(w.Header(), r, call.streams); f != nil {
		h.reject(w, r, status, f)
		return
	}
	req, f := negotiate(req)
	if f != nil {
		// Writing fails only if the client is gone.
		_ = h.errorWriter.Write(w, req, h.refuseInChain(req, f))
		return
	}
	ctx, admitted := h.admit(req.Context(), r.URL.Path, chain.Connect)
	defer admitted.End()
	req = req.WithContext(ctx)
	if admitted.Refused() {
		chain.Discard(w, r)
		// Writing fails only if the client is gone.
		_ = h.errorWriter.Write(w, req, h.refuseInChain(req, nil))
		return
	}
	body := &requestBody{ReadCloser: req.Body, header: r.Header}
	if !call.streams {
		body.remaining, body.onTooLarge = chain.MaxReceiveBytes, func() error { return h.refuseInChain(req, chain.TooLarge()) }
	}
	served := *req
	served.Body = body
	call.ServeHTTP(w, &served)
}

// answerUnknownMethod answers a call of an unknown method in the caller's protocol.
func (h *Handler) answerUnknownMethod(w http.ResponseWriter, r *http.Request) {
	// The chain does not know the method either, so it logs, counts and answers the call.
	err := h.refuseInChain(r, fault.New(fault.Unimplemented, fault.UnimplementedReason, "there is no such method"))
	// Writing fails only if the client is gone.
	_ = h.errorWriter.Write(w, r, err)
}

func (h *Handler) unaryHandler(full string, m grpc.MethodDesc, impl any) func(context.Context, *connect.Request[message]) (*connect.Response[message], error) {
	return func(ctx context.Context, req *connect.Request[message]) (*connect.Response[message], error) {
		sts := inproc.NewTransport(full)
		ctx, cancel := withCallerDeadline(ctx)
		defer cancel()
		ctx = grpc.NewContextWithServerTransportStream(ctx, sts)
		report := &jsonpb.Report{}
		if req.Msg.json {
			chain.From(ctx).Report = report
		}
		resp, err := m.Handler(impl, ctx, func(v any) error {
			if err := req.Msg.decode(ctx, v, report); err != nil {
				chain.From(ctx).Fail(err) // the chain answers the error
			}
			return nil
		}, h.unary)
		if err != nil {
			return nil, connectError(err, sts.Header())
		}
		out, err := newMessage(resp)
		if err != nil {
			return nil, connectError(err, sts.Header())
		}
		answer := connect.NewResponse(out)
		chain.CopyHeader(answer.Header(), sts.Header())
		return answer, nil
	}
}
