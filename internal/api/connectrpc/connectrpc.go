// Package connectrpc serves gRPC services on an HTTP server over the Connect protocol, gRPC-Web and gRPC. It works with the descriptor and
// the gRPC implementation of a service, without generated Connect code. Every call runs through the interceptors of package chain.
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

// Handler serves the services that are registered with it.
type Handler struct {
	admit     func(ctx context.Context, fullMethod string, p chain.Protocol) (context.Context, *chain.Call)
	unary     grpc.UnaryServerInterceptor
	stream    grpc.StreamServerInterceptor
	options   []connect.HandlerOption
	endpoints map[string]*endpoint
	paths     []string

	errorWriter *connect.ErrorWriter
}

// endpoint is one RPC method and its HTTP handler.
type endpoint struct {
	http.Handler
	streams       bool
	clientStreams bool // true if the client sends any number of messages, false if exactly one
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

// Protocols returns the HTTP versions that the server must enable. They include HTTP/2 without TLS, which gRPC clients use on a plain
// connection.
func Protocols() *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

// Paths returns one http.ServeMux pattern per service, such as "/latchkey.partner.v1.SpaceService/".
func (h *Handler) Paths() []string { return slices.Clone(h.paths) }

// RegisterService adds an HTTP handler for each method of a service. Call it before the handler serves calls. The service must also be
// registered with the chain.
func (h *Handler) RegisterService(desc *grpc.ServiceDesc, impl any) {
	h.paths = append(h.paths, "/"+desc.ServiceName+"/")
	for _, m := range desc.Methods {
		full := fmt.Sprintf("/%s/%s", desc.ServiceName, m.MethodName)
		h.endpoints[full] = &endpoint{Handler: connect.NewUnaryHandler(full, h.unaryHandler(full, m, impl), h.options...)}
	}
	for _, s := range desc.Streams {
		full := fmt.Sprintf("/%s/%s", desc.ServiceName, s.StreamName)
		h.endpoints[full] = &endpoint{Handler: withoutDelays(h.streamHandler(full, s, impl)), streams: true, clientStreams: s.ClientStreams}
	}
}

// ServeHTTP serves one call. It admits the call from its headers before it reads the body, and answers a refused call at once. The chain
// counts and logs the call, unless its HTTP method or content type is wrong, or its body cannot be read.
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
		_ = h.errorWriter.Write(w, req, h.refuseInChain(req, f))
		return
	}
	ctx, admitted := h.admit(req.Context(), r.URL.Path, chain.Connect)
	defer admitted.End()
	req = req.WithContext(ctx)
	if admitted.Refused() {
		chain.Discard(w, r)
		_ = h.errorWriter.Write(w, req, h.refuseInChain(req, nil))
		return
	}
	body := &requestBody{ReadCloser: req.Body, header: r.Header}
	if !call.clientStreams {
		body.ReadCloser = admitted.Body(req.Context(), w, r, new(bool))
	}
	if !call.streams {
		body.remaining, body.refuse = chain.MaxReceiveBytes, func(f *fault.Fault) error { return h.refuseInChain(req, f) }
	}
	served := *req
	served.Body = body
	call.ServeHTTP(w, &served)
}

// answerUnknownMethod answers a call of an unknown method in the protocol that the caller uses.
func (h *Handler) answerUnknownMethod(w http.ResponseWriter, r *http.Request) {
	// The chain refuses unknown methods too, so it logs, counts and answers the call.
	err := h.refuseInChain(r, fault.New(fault.Unimplemented, fault.UnimplementedReason, "there is no such method"))
	// Write fails only if the client has disconnected.
	_ = h.errorWriter.Write(w, r, err)
}

// unaryHandler returns Connect's handler function of one unary method of the service impl. full is the method's full name.
func (h *Handler) unaryHandler(full string, m grpc.MethodDesc, impl any) func(context.Context, *connect.Request[message]) (*connect.Response[message], error) {
	return func(ctx context.Context, req *connect.Request[message]) (*connect.Response[message], error) {
		sts := inproc.NewTransport(full)
		ctx, cancel := withCallerDeadline(ctx)
		defer cancel()
		ctx = grpc.NewContextWithServerTransportStream(ctx, sts)
		call, report := chain.From(ctx), &jsonpb.Report{}
		if req.Msg.json {
			call.SetReport(report)
		}
		resp, err := m.Handler(impl, ctx, func(v any) error {
			call.MessageArrived()
			if err := req.Msg.decode(ctx, v, report); err != nil {
				call.Fail(err) // Fail stores the error; the chain answers it
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
