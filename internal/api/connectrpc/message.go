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

// message is a message in encoded form until its type is known. One codec can therefore serve every method, and an
// undecodable message passes the chain's authentication before it is refused.
type message struct {
	raw      []byte
	json     bool
	tooLarge bool // larger than chain.MaxRequestBytes; raw is empty
	msg      proto.Message
}

// decode decodes the message into v. Errors in JSON go into the report.
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

func newMessage(v any) (*message, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, status.Errorf(codes.Internal, "%T is not a protobuf message", v)
	}
	return &message{msg: m}, nil
}

// codec is a connect.Codec for values of type message.
type codec struct {
	name string
	json bool
}

var errUnsupportedType = errors.New("the value is not a protobuf message")

func (c codec) Name() string { return c.name }

func (c codec) Marshal(v any) ([]byte, error) {
	l, ok := v.(*message)
	if !ok {
		// Connect also encodes the gRPC status with the codec named proto.
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
	// Connect reuses its buffer.
	l.raw = bytes.Clone(raw)
	return nil
}

// incomingContext adds the gRPC metadata of the request's headers to the context.
func incomingContext(ctx context.Context, h http.Header) context.Context {
	return metadata.NewIncomingContext(ctx, chain.MetadataOf(h))
}

// connectError converts the error of a gRPC handler into a Connect error with all details.
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
		// This cannot fail for a detail that is already an Any.
		if detail, err := connect.NewErrorDetail(d); err == nil {
			out.AddDetail(detail)
		}
	}
	chain.CopyHeader(out.Meta(), header)
	// gRPC sends the metadata of an error as a trailer, which must not contain this header.
	out.Meta().Del("Www-Authenticate")
	return out
}
