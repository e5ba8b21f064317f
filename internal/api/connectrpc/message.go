package connectrpc

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/jsonpb"
)

// message is a received message or an answer. A received one is decoded when the method is known. So one codec serves every method, and the
// interceptor chain authenticates the caller before it refuses a malformed message.
type message struct {
	raw      []byte
	json     bool
	tooLarge bool // the received message is larger than chain.MaxRequestBytes; raw is empty
	msg      proto.Message
}

// decode decodes the message into v. From JSON it also fills the field masks of v, and it only records errors in JSON in the report. It
// returns an error for a message that is too large, for one that is not valid protobuf, and without free memory.
func (l *message) decode(ctx context.Context, v any, report *jsonpb.Report) error {
	m, ok := v.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "%T is not a protobuf message", v)
	}
	if l.tooLarge {
		return chain.TooLarge()
	}
	if !l.json {
		return chain.Decode(ctx, l.raw, m)
	}
	if err := chain.From(ctx).Reserve(ctx, len(l.raw)); err != nil {
		return err
	}
	jsonpb.Decode(l.raw, m.ProtoReflect(), report)
	report.FillMasks(m.ProtoReflect())
	return nil
}

// newMessage wraps an answer, which must be a protobuf message, so that the codec can encode it.
func newMessage(v any) (*message, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, status.Errorf(codes.Internal, "%T is not a protobuf message", v)
	}
	return &message{msg: m}, nil
}

// codec is a connect.Codec that leaves received messages encoded, for message.decode, and encodes answers.
type codec struct {
	name string
	json bool
}

var errUnsupportedType = errors.New("the value is not a protobuf message")

func (c codec) Name() string { return c.name }

// Marshal encodes the answer in v, a *message. Connect also passes the gRPC status, which is a plain protobuf message.
func (c codec) Marshal(v any) ([]byte, error) {
	l, ok := v.(*message)
	if !ok {
		m, ok := v.(proto.Message)
		if !ok {
			return nil, errUnsupportedType
		}
		l = &message{msg: m}
	}
	if c.json {
		return jsonpb.Append(nil, l.msg.ProtoReflect())
	}
	return proto.Marshal(l.msg)
}

// Unmarshal keeps the encoded message in v, a *message, which is decoded later. It decodes any other protobuf message at once.
func (c codec) Unmarshal(raw []byte, v any) error {
	l, ok := v.(*message)
	if !ok {
		if m, ok := v.(proto.Message); ok {
			return proto.Unmarshal(raw, m)
		}
		return errUnsupportedType
	}
	l.json = c.json
	if l.tooLarge = len(raw) > chain.MaxRequestBytes; l.tooLarge {
		return nil
	}
	// Connect reuses the buffer after Unmarshal returns.
	l.raw = bytes.Clone(raw)
	return nil
}

// incomingContext returns a context with the request headers as gRPC metadata.
func incomingContext(ctx context.Context, h http.Header) context.Context {
	return metadata.NewIncomingContext(ctx, chain.MetadataOf(h))
}

// connectError converts the error of a gRPC handler to a Connect error with all error details and the headers of the answer. It returns nil
// for nil.
func connectError(err error, header metadata.MD) error {
	if err == nil {
		return nil
	}
	st, ok := status.FromError(err)
	if !ok {
		st = status.FromContextError(err)
	}
	out := connect.NewError(connect.Code(st.Code()), errors.New(st.Message()))
	for _, d := range st.Proto().GetDetails() {
		// NewErrorDetail cannot fail for a detail that is already an Any.
		if detail, err := connect.NewErrorDetail(d); err == nil {
			out.AddDetail(detail)
		}
	}
	chain.CopyHeader(out.Meta(), header)
	// gRPC sends error metadata as trailers, which must not contain this header.
	out.Meta().Del("Www-Authenticate")
	return out
}
