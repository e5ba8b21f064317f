package rest

import (
	"context"
	"reflect"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/inproc"
	"latchkey.dev/internal/api/jsonpb"
)

// conn is the connection that the gateway's generated code calls. It adds query parameters and field masks, which that code does not read.
type conn struct {
	in     *inproc.Conn
	routes map[string]*binding
}

// Invoke runs a call for the gateway's generated code, in the exchange's callContext and not in ctx. It first reads the query string into
// the request, and replaces its field masks by those derived from the body.
func (c *conn) Invoke(ctx context.Context, fullMethod string, args, reply any, _ ...grpc.CallOption) error {
	x, b := exchangeOf(ctx), c.routes[fullMethod]
	in, ok := args.(proto.Message)
	out, ok2 := reply.(proto.Message)
	if x == nil || x.call == nil || b == nil || !ok || !ok2 {
		return status.Errorf(codes.Internal, "%s was not called through its route", fullMethod)
	}
	if b.body != nil {
		x.report.Field = b.body.JSONName()
	}
	msg := in.ProtoReflect()
	if x.report.Fault == nil {
		jsonpb.Query(x.request.URL.RawQuery, msg, b.isNotInQuery, &x.report)
	}
	jsonpb.ClearMasks(msg) // the API of REST has no masks: one in the body is an unknown field, which is ignored
	x.report.FillMasks(msg)
	ctx = x.callContext
	if x.bodyTimedOut {
		// The read timeout cancels the request's context, but the caller must still get an answer.
		ctx = context.WithoutCancel(ctx)
	}
	header, err := c.in.Call(ctx, fullMethod, in, out)
	chain.CopyHeader(x.header, header)
	return err
}

// NewStream fails, because REST has no streams.
func (c *conn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "streams are not served over REST")
}

// bodyTarget returns the message to read a body into: v itself, or the message that v points to, which it creates if it is nil. It returns
// false for any other v.
func bodyTarget(v any) (proto.Message, bool) {
	if m, ok := v.(proto.Message); ok {
		return m, true
	}
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.Elem().Kind() != reflect.Pointer {
		return nil, false
	}
	if p.Elem().IsNil() {
		p.Elem().Set(reflect.New(p.Elem().Type().Elem()))
	}
	m, ok := p.Elem().Interface().(proto.Message)
	return m, ok
}
