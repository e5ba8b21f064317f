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
	"latchkey.dev/internal/api/body"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/fault"
)

// failed answers with the error of a call. It is the gateway's error handler.
func (h *Handler) failed(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, err error) {
	x := exchangeOf(ctx)
	if st, ok := status.FromError(err); ok {
		if e := chain.EnvelopeOf(st); e.GetReason() != "" {
			h.write(w, x, e)
			return
		}
	}
	// The chain gives each of its errors a reason, so this one was made by the gateway.
	if status.Code(err) == codes.InvalidArgument {
		h.refuse(w, x, fault.Fields(fault.Field{Path: "path", Reason: fault.WrongType, Message: "holds a value of a wrong type"}))
		return
	}
	h.log.ErrorContext(ctx, "answer failed", "requestId", x.id, "error", err.Error())
	h.refuse(w, x, fault.New(fault.Internal, fault.InternalError, "internal error"))
}

// unrouted answers requests that no route takes. It is the gateway's routing error handler.
func (h *Handler) unrouted(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, _ int) {
	x := exchangeOf(ctx)
	verbs := h.allowed(r.URL.Path)
	if len(verbs) == 0 {
		h.refuse(w, x, h.noRoute(r.URL.Path))
		return
	}
	w.Header()["Allow"] = []string{strings.Join(verbs, ", ")}
	if slices.Contains(verbs, r.Method) {
		h.refuse(w, x, fault.New(fault.NotFound, fault.RouteNotFound, "there is no such route: see /docs"))
		return
	}
	h.refuse(w, x, fault.New(fault.MethodNotAllowed, fault.MethodNotAllowedReason, "this route takes %s", strings.Join(verbs, ", ")))
}

// noRoute is the error of an unknown path. It names the route that a path without, or with another, version means.
func (h *Handler) noRoute(path string) *fault.Fault {
	rest := strings.TrimPrefix(path, "/")
	if first, after, ok := strings.Cut(rest, "/"); ok && versioned.MatchString(first) {
		rest = after
	}
	if near := "/v1/" + rest; near != path && len(h.allowed(near)) > 0 {
		return fault.New(fault.NotFound, fault.RouteNotFound, "there is no such route: did you mean %s?", near)
	}
	return fault.New(fault.NotFound, fault.RouteNotFound, "there is no such route: see /docs")
}

var versioned = regexp.MustCompile(`^(api|v\d+)$`)

func (h *Handler) options(w http.ResponseWriter, x *exchange) {
	verbs := h.allowed(x.request.URL.Path)
	if len(verbs) == 0 {
		h.refuse(w, x, fault.New(fault.NotFound, fault.RouteNotFound, "there is no such route: see /docs"))
		return
	}
	w.Header()["Allow"] = []string{strings.Join(verbs, ", ")}
	w.WriteHeader(http.StatusNoContent)
}

// refuse answers with a fault that no call of the chain stands behind, and writes it to the
// access log, which the chain cannot do.
func (h *Handler) refuse(w http.ResponseWriter, x *exchange, f *fault.Fault) {
	e := chain.Envelope(f, x.id)
	h.log.LogAttrs(x.request.Context(), slog.LevelInfo, "call", slog.String("method", "unrouted"), slog.String("protocol", string(chain.REST)),
		slog.String("code", e.GetTitle()), slog.String("reason", e.GetReason()), slog.String("requestId", x.id))
	h.write(w, x, e)
}

func (h *Handler) write(w http.ResponseWriter, x *exchange, e *errorsv1.Error) {
	text, err := body.Append(nil, e.ProtoReflect())
	if err != nil {
		h.log.Error("error cannot be written", "requestId", x.id, "error", err.Error())
		e.Details = nil
		if text, err = body.Append(nil, e.ProtoReflect()); err != nil {
			text = []byte(`{}`)
		}
	}
	out := make([]byte, 0, len(text)+len(`{"error":}`))
	out = append(append(append(out, `{"error":`...), text...), '}')
	w.Header()["Content-Type"] = jsonType
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(out))}
	w.WriteHeader(int(e.GetStatus()))
	// A client that went away reads no answer.
	_, _ = w.Write(out)
}
