package rest

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	errorsv1 "latchkey.dev/gen/latchkey/errors/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/fault/envelope"
)

// handleError is the gateway's error handler. It answers a failed call with its error. An error of the gateway itself becomes a field error
// of the path, or is logged and becomes an internal error.
func (h *Handler) handleError(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, err error) {
	x := exchangeOf(ctx)
	if st, ok := status.FromError(err); ok {
		if e := envelope.OfStatus(st); e.GetReason() != "" {
			h.writeError(w, x, e)
			return
		}
	}
	// Errors of the chain have a reason and are answered above. InvalidArgument without one is the gateway's error for a path parameter of
	// a wrong type.
	if status.Code(err) == codes.InvalidArgument {
		h.writeFault(w, x, fault.Fields(fault.Field{Path: "path", Reason: fault.WrongType, Message: "contains a value of a wrong type"}))
		return
	}
	h.log.ErrorContext(ctx, "answer failed", "requestId", x.id, "error", err.Error())
	h.writeFault(w, x, fault.New(fault.Internal, fault.InternalError, "internal error"))
}

// handleUnrouted is the gateway's handler for requests that match no route. It answers that the path is unknown, or which HTTP methods it
// supports. If the method is one of them, it answers that there is no such route.
func (h *Handler) handleUnrouted(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, _ int) {
	x := exchangeOf(ctx)
	verbs := h.allowedMethods(r.URL.Path)
	if len(verbs) == 0 {
		h.writeFault(w, x, h.routeNotFound(r.URL.Path))
		return
	}
	w.Header()["Allow"] = []string{strings.Join(verbs, ", ")}
	if slices.Contains(verbs, r.Method) {
		h.writeFault(w, x, fault.New(fault.NotFound, fault.RouteNotFound, "there is no such route: see /docs"))
		return
	}
	h.writeFault(w, x, fault.New(fault.MethodNotAllowed, fault.MethodNotAllowedReason, "this route supports %s", strings.Join(verbs, ", ")))
}

// routeNotFound returns the error for an unknown path. If the path exists under /v1, the error suggests it; the caller may have omitted the
// version, used another one, or added /api.
func (h *Handler) routeNotFound(path string) *fault.Fault {
	rest := strings.TrimPrefix(path, "/")
	if first, after, ok := strings.Cut(rest, "/"); ok && versionSegment.MatchString(first) {
		rest = after
	}
	if near := "/v1/" + rest; near != path && len(h.allowedMethods(near)) > 0 {
		return fault.New(fault.NotFound, fault.RouteNotFound, "there is no such route: did you mean %s?", near)
	}
	return fault.New(fault.NotFound, fault.RouteNotFound, "there is no such route: see /docs")
}

var versionSegment = regexp.MustCompile(`^(api|v\d+)$`)

// answerOptions answers an OPTIONS request with the HTTP methods that its path supports, or with a fault (404) if the path is unknown.
func (h *Handler) answerOptions(w http.ResponseWriter, x *exchange) {
	verbs := h.allowedMethods(x.request.URL.Path)
	if len(verbs) == 0 {
		h.writeFault(w, x, fault.New(fault.NotFound, fault.RouteNotFound, "there is no such route: see /docs"))
		return
	}
	w.Header()["Allow"] = []string{strings.Join(verbs, ", ")}
	w.WriteHeader(http.StatusNoContent)
}

// writeFault answers with a fault that arose outside of the interceptor chain. It also logs the call, because the chain does not.
func (h *Handler) writeFault(w http.ResponseWriter, x *exchange, f *fault.Fault) {
	e := envelope.Of(f, x.id)
	h.log.LogAttrs(x.request.Context(), slog.LevelInfo, "call", slog.String("method", "unrouted"), slog.String("protocol", string(chain.REST)),
		slog.String("code", e.GetTitle()), slog.String("reason", e.GetReason()), slog.String("requestId", x.id))
	h.writeError(w, x, e)
}

// writeError writes an error as JSON with its HTTP status.
func (h *Handler) writeError(w http.ResponseWriter, x *exchange, e *errorsv1.Error) {
	text, err := jsonpb.Append(nil, e.ProtoReflect())
	if err != nil {
		h.log.Error("error cannot be written", "requestId", x.id, "error", err.Error())
		e.Details = nil
		if text, err = jsonpb.Append(nil, e.ProtoReflect()); err != nil {
			text = []byte(`{}`)
		}
	}
	out := make([]byte, 0, len(text)+len(`{"error":}`))
	out = append(append(append(out, `{"error":`...), text...), '}')
	w.Header()["Content-Type"] = jsonType
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(out))}
	w.WriteHeader(int(e.GetStatus()))
	// Write fails only if the client has disconnected.
	_, _ = w.Write(out)
}
