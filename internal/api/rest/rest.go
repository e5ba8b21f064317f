// Package rest serves the API as JSON over HTTP. It runs the generated grpc-gateway handlers on an in-process connection, with its own JSON
// and query readers, its own JSON writer and one format for all errors.
package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/inproc"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/fault"
)

// Config configures a Handler. All fields are required.
type Config struct {
	Logger *slog.Logger
	// Conn is the in-process connection, with which all services are already registered.
	Conn *inproc.Conn
	// Admit is [chain.Chain.Admit].
	Admit func(ctx context.Context, fullMethod string, p chain.Protocol) (context.Context, *chain.Call)
	// Register registers the generated gateway handlers (RegisterXHandlerClient) with clients of the given connection.
	Register func(ctx context.Context, mux *runtime.ServeMux, conn grpc.ClientConnInterface) error
}

// Handler serves the REST routes of the registered services. For any other path it answers routeNotFound, or with a page to browsers.
type Handler struct {
	log    *slog.Logger
	mux    *runtime.ServeMux
	routes []*route
	admit  func(ctx context.Context, fullMethod string, p chain.Protocol) (context.Context, *chain.Call)
}

// New returns a handler for all services that are registered with cfg.Conn. It fails if a field of cfg is missing, or if an HTTP rule of a
// service is invalid.
func New(cfg Config) (*Handler, error) {
	if cfg.Logger == nil || cfg.Conn == nil || cfg.Admit == nil || cfg.Register == nil {
		return nil, errors.New("rest: Logger, Conn, Admit and Register are required")
	}
	routes, byMethod, err := loadRoutes(cfg.Conn.Services())
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	h := &Handler{log: cfg.Logger, routes: routes, admit: cfg.Admit}
	none := func(string) (string, bool) { return "", false }
	h.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, codec{}),
		// Package chain, not the gateway, selects the headers that are passed in and out.
		runtime.WithIncomingHeaderMatcher(none),
		runtime.WithOutgoingHeaderMatcher(none),
		runtime.WithOutgoingTrailerMatcher(none),
		runtime.WithMetadata(h.admitCall),
		runtime.WithErrorHandler(h.handleError),
		runtime.WithRoutingErrorHandler(h.handleUnrouted),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithWriteContentLength(),
	)
	if err := cfg.Register(context.Background(), h.mux, &conn{in: cfg.Conn, routes: byMethod}); err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	return h, nil
}

// exchange is the state of one HTTP request. It is in the context, because the gateway's generated code does not pass it on.
type exchange struct {
	request      *http.Request
	writer       http.ResponseWriter
	header       http.Header // headers of the answer
	id           string
	report       jsonpb.Report
	bodyTimedOut bool // the body did not arrive in time; the read timeout cancels the request's context

	call        *chain.Call     // nil until the gateway has found the method
	callContext context.Context // context of the call, stored here because the gateway does not pass it to the body decoder
}

// exchangeKey is the context key of a request's *exchange.
type exchangeKey struct{}

// exchangeOf returns the exchange that a context belongs to, or nil.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// Header values that all answers share; the slices are never modified.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
	noSniff  = []string{"nosniff"}
)

// ServeHTTP answers one request: a call of a REST route, or what serveBrowser and answerOptions answer. It refuses a path with a slash at
// its end, and a call that does not accept JSON. No answer may be cached.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{request: r, writer: w, header: w.Header(), id: chain.NewRequestID(r.Header.Get(chain.HeaderRequestID))}
	x.header["Cache-Control"] = noStore
	x.header["X-Content-Type-Options"] = noSniff
	x.header["X-Request-Id"] = []string{x.id}
	switch {
	case h.serveBrowser(w, x):
		return
	case r.Method == http.MethodOptions:
		h.answerOptions(w, x)
		return
	case strings.HasSuffix(r.URL.Path, "/") && r.URL.Path != "/":
		h.writeFault(w, x, fault.New(fault.NotFound, fault.RouteNotFound, "there is no such route: leave out the slash at the end"))
		return
	case !acceptsJSON(r.Header["Accept"]) && len(h.allowedMethods(r.URL.Path)) > 0:
		h.writeFault(w, x, fault.New(fault.NotAcceptable, fault.NotAcceptableReason, "answers are application/json: accept it"))
		return
	}
	defer x.finish()
	h.mux.ServeHTTP(w, x.gatewayRequest())
}

// admitCall authenticates a call and checks its limits before its body is read: see [chain.Chain.Admit]. A refusal is stored in the call,
// which the chain answers with it; admitCall then discards the body. It is registered as a metadata annotator, although it adds no
// metadata, because only annotators learn the method before the gateway reads the body.
func (h *Handler) admitCall(ctx context.Context, _ *http.Request) metadata.MD {
	x := exchangeOf(ctx)
	method, ok := runtime.RPCMethod(ctx)
	if x == nil || !ok {
		return nil
	}
	md := chain.MetadataOf(x.request.Header)
	md[chain.HeaderRequestID] = []string{x.id}
	x.callContext, x.call = h.admit(metadata.NewIncomingContext(ctx, md), method, chain.REST)
	x.call.SetReport(&x.report)
	if x.call.Refused() {
		x.bodyTimedOut = chain.Discard(x.writer, x.request)
	}
	return nil
}

// finish releases the resources of the exchange's call, if a method was found.
func (x *exchange) finish() {
	if x.call != nil {
		x.call.End()
	}
}

// gatewayRequest returns the request that the gateway sees. HEAD becomes GET. It has no headers and no form, because the interceptor chain
// and the query reader read these from the original. Its body is a [requestBody].
func (x *exchange) gatewayRequest() *http.Request {
	ctx := context.WithValue(x.request.Context(), exchangeKey{}, x)
	ctx = chain.FromHTTP(ctx, x.request)
	r := x.request.WithContext(ctx)
	if r.Method == http.MethodHead {
		r.Method = http.MethodGet
	}
	r.Header, r.Host, r.RemoteAddr = http.Header{}, "", ""
	r.Form, r.PostForm = map[string][]string{}, map[string][]string{}
	r.Body = &requestBody{exchange: x}
	return r
}

// acceptsJSON reports whether an Accept header allows JSON. A missing header allows everything.
func acceptsJSON(accept []string) bool {
	any := false
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			kind, params, _ := strings.Cut(part, ";")
			kind = strings.ToLower(strings.TrimSpace(kind))
			if kind == "" {
				continue
			}
			any = true
			switch kind {
			case "*/*", "application/*", "application/json":
				if !hasZeroQuality(params) {
					return true
				}
			}
		}
	}
	return !any
}

// hasZeroQuality reports whether a media range of an Accept header contains q=0, which excludes it.
func hasZeroQuality(params string) bool {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.ReplaceAll(p, " ", ""), "=")
		if strings.EqualFold(name, "q") {
			return strings.Trim(value, "0.") == "" && value != ""
		}
	}
	return false
}
