package chain

import (
	"context"
	"strconv"
	"unicode/utf8"

	"google.golang.org/grpc/encoding"
	encproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/fault/envelope"
)

// codec is gRPC's codec, except that it does not decode received messages. The chain decodes them later, because gRPC has no limits on
// lists and refuses an invalid message without a reason.
type codec struct{ encoding.CodecV2 }

// newCodec returns gRPC's codec for protobuf, except that it leaves received messages encoded.
func newCodec() encoding.CodecV2 { return codec{encoding.GetCodecV2(encproto.Name)} }

// Unmarshal keeps the received buffers, not a copy, if v is an [encoded], whose free releases them. It decodes the message for any other v.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	e, ok := v.(*encoded)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	e.free()
	data.Ref()
	e.data = data
	return nil
}

// encoded is a received message that is not decoded yet. Its creator calls free, which releases the buffers.
type encoded struct{ data mem.BufferSlice }

// free releases the buffers of the message.
func (e *encoded) free() {
	e.data.Free()
	e.data = nil
}

// decode decodes the message into m within the limits of [Decode].
func (e *encoded) decode(ctx context.Context, m proto.Message) error {
	if e.data.Len() > MaxRequestBytes {
		return TooLarge()
	}
	raw := e.data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer raw.Free()
	return Decode(ctx, raw.ReadOnlyData(), m)
}

// Decode decodes the protobuf message of an admitted call. It refuses more than MaxRequestBytes (1 MiB) and too long lists, and may wait
// for memory: see [Call.Reserve]. Its errors are safe to show to the caller.
func Decode(ctx context.Context, raw []byte, m proto.Message) error {
	if len(raw) > MaxRequestBytes {
		return TooLarge()
	}
	size := jsonpb.Measure(raw, m.ProtoReflect().Descriptor())
	if len(size.Oversized) > 0 {
		return fault.Fields(size.Oversized...)
	}
	if err := From(ctx).Reserve(ctx, len(raw)+size.Entries*bytesOfEntry); err != nil {
		return err
	}
	if proto.Unmarshal(raw, m) != nil {
		return decodeError(raw, m)
	}
	return nil
}

// bytesOfEntry is the estimated memory of one decoded list entry, in bytes.
const bytesOfEntry = 96

// TooLarge returns the fault for a request larger than MaxRequestBytes.
func TooLarge() *fault.Fault {
	return fault.New(fault.Exhausted, fault.BodyTooLarge, "the request is larger than %d bytes: send less at once", MaxRequestBytes)
}

// decodeError returns the fault for a message that cannot be decoded: its texts that are not UTF-8, or else a general one. It empties m.
func decodeError(raw []byte, m proto.Message) error {
	proto.Reset(m)
	var fields []fault.Field
	for _, path := range invalidUTF8Fields(nil, raw, m.ProtoReflect().Descriptor(), "", 0) {
		fields = append(fields, fault.Field{Path: path, Reason: fault.NotPrintable, Message: "is not valid UTF-8"})
	}
	if len(fields) == 0 {
		return fault.New(fault.Invalid, fault.InvalidFields, "the message is not a valid protobuf message of this method")
	}
	return fault.Fields(fields...)
}

// invalidUTF8Fields appends to found the paths of the string fields that are not valid UTF-8 in an encoded message of the type md. prefix
// is the path of the message, and depth its nesting. It stops at maxDepth and at envelope.MaxViolations paths.
func invalidUTF8Fields(found []string, raw []byte, md protoreflect.MessageDescriptor, prefix string, depth int) []string {
	entries := map[protowire.Number]int{}
	for len(raw) > 0 && depth < maxDepth && len(found) < envelope.MaxViolations {
		number, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return found
		}
		value := raw[n:]
		if n = protowire.ConsumeFieldValue(number, kind, value); n < 0 {
			return found
		}
		raw = value[n:]
		fd := md.Fields().ByNumber(number)
		if fd == nil || kind != protowire.BytesType {
			continue
		}
		path := joinPath(prefix, fd.JSONName())
		if fd.IsList() {
			path += "[" + strconv.Itoa(entries[number]) + "]"
			entries[number]++
		}
		content, _ := protowire.ConsumeBytes(value)
		switch {
		case fd.Kind() == protoreflect.StringKind && !utf8.Valid(content):
			found = append(found, path)
		case fd.Kind() == protoreflect.MessageKind:
			found = invalidUTF8Fields(found, content, fd.Message(), path, depth+1)
		}
	}
	return found
}

// maxDepth bounds the recursion of invalidUTF8Fields.
const maxDepth = 32
