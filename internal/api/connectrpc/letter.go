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
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"latchkey.dev/internal/api/body"
	"latchkey.dev/internal/api/chain"
)

// letter is a message that is read only when its type is known, and written whatever its
// type is. It lets one handler serve every method, and lets what cannot be read pass the
// chain before it is refused.
type letter struct {
	raw  []byte
	json bool
	huge bool // more was sent than a call may bring, and raw is empty
	msg  proto.Message
}

// open reads the letter into a message. What is wrong with JSON is put into the report.
func (l *letter) open(ctx context.Context, v any, report *body.Report) error {
	m, ok := v.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "%T is no protobuf message", v)
	}
	if l.huge {
		return chain.TooLarge()
	}
	if !l.json {
		return chain.Decode(ctx, l.raw, m)
	}
	if err := chain.From(ctx).Reserve(ctx, len(l.raw)); err != nil {
		return err
	}
	body.Decode(l.raw, m.ProtoReflect(), report)
	report.FillMasks(m.ProtoReflect())
	return nil
}

func seal(v any) (*letter, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, status.Errorf(codes.Internal, "%T is no protobuf message", v)
	}
	return &letter{msg: m}, nil
}

// codec is a connect.Codec of letters.
type codec struct {
	name string
	json bool
}

var errNoLetter = errors.New("neither a letter of this package nor a protobuf message")

func (c codec) Name() string { return c.name }

func (c codec) Marshal(v any) ([]byte, error) {
	l, ok := v.(*letter)
	if !ok {
		// gRPC's status goes through the codec named proto as well.
		m, ok := v.(proto.Message)
		if !ok {
			return nil, errNoLetter
		}
		l = &letter{msg: m}
	}
	if c.json {
		return protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(l.msg)
	}
	return proto.Marshal(l.msg)
}

func (c codec) Unmarshal(raw []byte, v any) error {
	l, ok := v.(*letter)
	if !ok {
		if m, ok := v.(proto.Message); ok {
			return proto.Unmarshal(raw, m)
		}
		return errNoLetter
	}
	l.json = c.json
	if l.huge = len(raw) > chain.MaxRequestBytes; l.huge {
		return nil
	}
	// Connect uses its buffer again.
	l.raw = bytes.Clone(raw)
	return nil
}

// incoming makes what a gRPC handler expects of its context.
func incoming(ctx context.Context, h http.Header) context.Context {
	return metadata.NewIncomingContext(ctx, chain.MetadataOf(h))
}

// translate makes a Connect error of a gRPC status, details included.
func translate(err error, header metadata.MD) error {
	if err == nil {
		return nil
	}
	st, ok := status.FromError(err)
	if !ok {
		st = status.FromContextError(err)
	}
	out := connect.NewError(connect.Code(st.Code()), errors.New(st.Message()))
	for _, d := range st.Proto().GetDetails() {
		// A detail that is an Any already is kept as it is and cannot fail.
		if detail, err := connect.NewErrorDetail(d); err == nil {
			out.AddDetail(detail)
		}
	}
	chain.CopyHeader(out.Meta(), header)
	// gRPC sends what belongs to an error as a trailer, where this one must not stand.
	out.Meta().Del("Www-Authenticate")
	return out
}
