package chain

import (
	"context"

	"latchkey.dev/internal/api/jsonpb"
)

// HandlerField is a field of an RPC's request that the handler validates itself, together with this handler. NewHandlerField makes one.
type HandlerField struct {
	name string // proto name
	// bind returns the handler for the implementation of a service. ok is false if the implementation has another type.
	bind func(service any) (h reportHandler, ok bool)
}

// reportHandler is the handler of an RPC. report is what the JSON reader found in the request; nil for a protobuf request.
type reportHandler func(ctx context.Context, req any, report *jsonpb.Report) (any, error)

// NewHandlerField returns the request field with a proto name and the method that validates it with [Violations]. The chain calls this
// method, with the JSON reader's report, instead of the method of the gRPC interface, which gets only a context and the request.
func NewHandlerField[Service, Req, Resp any](name string, method func(Service, context.Context, *Req, *jsonpb.Report) (*Resp, error)) HandlerField {
	return HandlerField{name: name, bind: func(service any) (reportHandler, bool) {
		s, ok := service.(Service)
		return func(ctx context.Context, req any, report *jsonpb.Report) (any, error) {
			return method(s, ctx, req.(*Req), report)
		}, ok
	}}
}
