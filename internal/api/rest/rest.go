// Package rest serves the API as JSON over HTTP: the gateway's generated handlers over an
// in-process connection, with a reader of bodies and queries, a writer of answers and one
// envelope for every error of our own.
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

	"latchkey.dev/internal/api/body"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/inproc"
	"latchkey.dev/internal/fault"
)

// Config is what a handler needs to know; all of it is required.
type Config struct {
	Logger *slog.Logger
	// Conn leads to the services, which are registered with it already.
	Conn *inproc.Conn
	// Admit judges a call by its headers: see [chain.Chain.Admit].
	Admit func(ctx context.Context, fullMethod string) (context.Context, *chain.Call)
	// Register registers the gateway's generated handlers (RegisterXHandlerClient), with
	// clients made on the given connection.
	Register func(ctx context.Context, mux *runtime.ServeMux, conn grpc.ClientConnInterface) error
}

// Handler serves every route of the registered services and answers any other path with the
// envelope of an unknown route.
type Handler struct {
	log    *slog.Logger
	mux    *runtime.ServeMux
	routes []*route
	admit  func(ctx context.Context, fullMethod string) (context.Context, *chain.Call)
}

// New makes a handler.
func New(cfg Config) (*Handler, error) {
	if cfg.Logger == nil || cfg.Conn == nil || cfg.Admit == nil || cfg.Register == nil {
		return nil, errors.New("rest: Logger, Conn, Admit and Register are required")
	}
	routes, byMethod, err := learn(cfg.Conn.Services())
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	h := &Handler{log: cfg.Logger, routes: routes, admit: cfg.Admit}
	none := func(string) (string, bool) { return "", false }
	h.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, codec{}),
		// Headers go in and out by the lists of package chain, not through the gateway.
		runtime.WithIncomingHeaderMatcher(none),
		runtime.WithOutgoingHeaderMatcher(none),
		runtime.WithOutgoingTrailerMatcher(none),
		runtime.WithMetadata(h.admitted),
		runtime.WithErrorHandler(h.failed),
		runtime.WithRoutingErrorHandler(h.unrouted),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithWriteContentLength(),
	)
	if err := cfg.Register(context.Background(), h.mux, &conn{in: cfg.Conn, routes: byMethod}); err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	return h, nil
}

// exchange is one request on its way through the gateway's generated code, which knows
// nothing of it.
type exchange struct {
	request *http.Request
	writer  http.ResponseWriter
	header  http.Header // of the answer
	id      string
	report  body.Report
	late    bool // the body did not come in time

	call  *chain.Call     // once the gateway found its method
	inner context.Context //nolint:containedctx // the call's; the gateway passes none on to its reader of bodies
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// Values of headers that every answer has; the slices are shared and never changed.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
	noSniff  = []string{"nosniff"}
)

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{request: r, writer: w, header: w.Header(), id: chain.NewRequestID(r.Header.Get(chain.HeaderRequestID))}
	x.header["Cache-Control"] = noStore
	x.header["X-Content-Type-Options"] = noSniff
	x.header["X-Request-Id"] = []string{x.id}
	switch {
	case h.browse(w, x):
		return
	case r.Method == http.MethodOptions:
		h.options(w, x)
		return
	case strings.HasSuffix(r.URL.Path, "/") && r.URL.Path != "/":
		h.refuse(w, x, fault.New(fault.NotFound, fault.RouteNotFound, "there is no such route: leave out the slash at the end"))
		return
	case !acceptsJSON(r.Header["Accept"]) && len(h.allowed(r.URL.Path)) > 0:
		h.refuse(w, x, fault.New(fault.NotAcceptable, fault.NotAcceptableReason, "answers are application/json: accept it"))
		return
	}
	defer x.end()
	h.mux.ServeHTTP(w, x.plain())
}

// admitted has the chain judge a call. It is an annotator of metadata, though it adds none: the gateway names the method of a
// request to its annotators, and to nothing else, before it reads the body.
func (h *Handler) admitted(ctx context.Context, _ *http.Request) metadata.MD {
	x := exchangeOf(ctx)
	method, ok := runtime.RPCMethod(ctx)
	if x == nil || !ok {
		return nil
	}
	md := chain.MetadataOf(x.request.Header)
	md[chain.HeaderRequestID] = []string{x.id}
	x.inner, x.call = h.admit(metadata.NewIncomingContext(ctx, md), method)
	if x.call.Refused() {
		x.late = chain.Discard(x.writer, x.request)
	}
	return nil
}

func (x *exchange) end() {
	if x.call != nil {
		x.call.End()
	}
}

// plain makes the request that the gateway sees: no header and no form, so that nothing of
// them gets past the lists and the reader of queries, and a body that reports.
func (x *exchange) plain() *http.Request {
	ctx := context.WithValue(x.request.Context(), exchangeKey{}, x)
	ctx = body.With(ctx, &x.report)
	ctx = chain.FromHTTP(ctx, x.request, chain.REST)
	r := x.request.WithContext(ctx)
	if r.Method == http.MethodHead {
		r.Method = http.MethodGet
	}
	r.Header, r.Host, r.RemoteAddr = http.Header{}, "", ""
	r.Form, r.PostForm = map[string][]string{}, map[string][]string{}
	r.Body = &source{exchange: x}
	return r
}

// acceptsJSON reports whether an Accept header, absent ones included, takes JSON.
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
				if !refused(params) {
					return true
				}
			}
		}
	}
	return !any
}

// refused reports whether the parameters of a media range give it the quality zero.
func refused(params string) bool {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.ReplaceAll(p, " ", ""), "=")
		if strings.EqualFold(name, "q") {
			return strings.Trim(value, "0.") == "" && value != ""
		}
	}
	return false
}
