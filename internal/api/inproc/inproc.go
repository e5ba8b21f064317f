// Package inproc connects gRPC clients to services in the same process. A unary call runs the interceptor and the handler on the caller's
// goroutine, without network and without copying messages. Caller and handler share nested messages, so handlers must not keep or change
// their input.
package inproc

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Conn is an in-process connection. It implements grpc.ClientConnInterface and grpc.ServiceRegistrar. All services must be registered
// before the first call.
type Conn struct {
	unary    grpc.UnaryServerInterceptor
	stream   grpc.StreamServerInterceptor
	methods  map[string]method
	streams  map[string]streamMethod
	services []string
}

type method struct {
	impl any
	desc grpc.MethodDesc
}

type streamMethod struct {
	impl any
	desc grpc.StreamDesc
}

// New returns a connection whose calls run through the given interceptors, which may be nil.
func New(unary grpc.UnaryServerInterceptor, stream grpc.StreamServerInterceptor) *Conn {
	return &Conn{unary: unary, stream: stream, methods: map[string]method{}, streams: map[string]streamMethod{}}
}

// RegisterService registers the methods of a service.
func (c *Conn) RegisterService(desc *grpc.ServiceDesc, impl any) {
	c.services = append(c.services, desc.ServiceName)
	for _, m := range desc.Methods {
		c.methods[fmt.Sprintf("/%s/%s", desc.ServiceName, m.MethodName)] = method{impl, m}
	}
	for _, m := range desc.Streams {
		c.streams[fmt.Sprintf("/%s/%s", desc.ServiceName, m.StreamName)] = streamMethod{impl, m}
	}
}

// Services returns the names of the registered services.
func (c *Conn) Services() []string { return slices.Clone(c.services) }

// Call runs one unary call. ctx holds the request's headers as incoming metadata. The result has the headers that the handler and the
// interceptor set, even if the call fails; the error is a gRPC status. The handler shares nested messages with args, and reply with the
// answer, so the caller must not change args afterwards.
func (c *Conn) Call(ctx context.Context, fullMethod string, args, reply proto.Message) (metadata.MD, error) {
	m, ok := c.methods[fullMethod]
	if !ok {
		return nil, status.Errorf(codes.Unimplemented, "unknown method %s", fullMethod)
	}
	sts := NewTransport(fullMethod)
	ctx = grpc.NewContextWithServerTransportStream(ctx, sts)
	resp, err := m.desc.Handler(m.impl, ctx, func(v any) error { return moveMessage(v, args) }, c.unary)
	if err == nil {
		err = moveMessage(reply, resp)
	}
	return sts.Header(), asStatus(err)
}

// asStatus returns an error as a gRPC status. It converts one that is none, such as context.Canceled. It returns nil for nil.
func asStatus(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.FromContextError(err).Err()
}

// Invoke runs one unary call for a generated client, which passes the request's headers as outgoing metadata. It ignores options except
// grpc.Header. Its errors are gRPC statuses.
func (c *Conn) Invoke(ctx context.Context, fullMethod string, args, reply any, opts ...grpc.CallOption) error {
	in, ok := args.(proto.Message)
	out, ok2 := reply.(proto.Message)
	if !ok || !ok2 {
		return status.Errorf(codes.Internal, "%T or %T is not a protobuf message", args, reply)
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	if md == nil {
		md = metadata.MD{}
	}
	header, err := c.Call(metadata.NewIncomingContext(metadata.NewOutgoingContext(ctx, metadata.MD{}), md), fullMethod, in, out)
	for _, o := range opts {
		if h, ok := o.(grpc.HeaderCallOption); ok {
			*h.HeaderAddr = header
		}
	}
	return err
}

// moveMessage moves the fields of src to dst, which has the same type. Nested messages are shared, so src must not be used afterwards.
func moveMessage(dst, src any) error {
	d, ok := dst.(proto.Message)
	s, ok2 := src.(proto.Message)
	if !ok || !ok2 {
		return status.Errorf(codes.Internal, "%T or %T is not a protobuf message", dst, src)
	}
	to, from := d.ProtoReflect(), s.ProtoReflect()
	if to.Descriptor() != from.Descriptor() {
		return status.Errorf(codes.Internal, "a %s was expected, not a %s", to.Descriptor().FullName(), from.Descriptor().FullName())
	}
	from.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		to.Set(fd, v)
		return true
	})
	to.SetUnknown(from.GetUnknown())
	return nil
}
