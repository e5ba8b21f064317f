package chain

import (
	"strconv"
	"unicode/utf8"

	"google.golang.org/grpc/encoding"
	encproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"latchkey.dev/internal/fault"
)

// codec reads and writes messages as gRPC does, but lets a message that cannot be read, or is
// too large, pass, marked as such: gRPC itself would answer without a reason, to anybody.
type codec struct{ encoding.CodecV2 }

func newCodec() encoding.CodecV2 { return codec{encoding.GetCodecV2(encproto.Name)} }

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(proto.Message)
	if ok && data.Len() > MaxRequestBytes {
		MarkTooLarge(m)
		return nil
	}
	err := c.CodecV2.Unmarshal(data, v)
	if ok && err != nil {
		MarkUnreadable(m, data.Materialize())
		return nil
	}
	return err
}

// Numbers of unknown fields, the last there are, that mark a message which could not be read or
// was too large to be. A client that sends them is told what it asked for.
const (
	unreadable protowire.Number = 1<<29 - 1 - iota
	tooLarge
)

// MarkTooLarge empties a message and notes that more than MaxRequestBytes were sent, so that the
// call passes the chain and is refused there.
func MarkTooLarge(m proto.Message) {
	proto.Reset(m)
	m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, tooLarge, protowire.VarintType), 1))
}

// TooLarge is the fault of a call that brings more than MaxRequestBytes.
func TooLarge() *fault.Fault {
	return fault.New(fault.Exhausted, fault.BodyTooLarge, "the request is larger than %d bytes: send fewer reservations at once", MaxRequestBytes)
}

// MarkUnreadable empties a message that could not be read from raw and notes why, so that
// the call passes the chain and is refused there.
func MarkUnreadable(m proto.Message, raw []byte) {
	proto.Reset(m)
	broken := brokenText(nil, raw, m.ProtoReflect().Descriptor(), "", 0)
	if len(broken) == 0 {
		broken = []string{""}
	}
	var marks []byte
	for _, path := range broken {
		marks = protowire.AppendString(protowire.AppendTag(marks, unreadable, protowire.BytesType), path)
	}
	m.ProtoReflect().SetUnknown(marks)
}

// brokenText finds the fields of a raw message whose text is no UTF-8.
func brokenText(found []string, raw []byte, md protoreflect.MessageDescriptor, prefix string, depth int) []string {
	entries := map[protowire.Number]int{}
	for len(raw) > 0 && depth < maxDepth && len(found) < maxViolations {
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
		path := join(prefix, fd.JSONName())
		if fd.IsList() {
			path += "[" + strconv.Itoa(entries[number]) + "]"
			entries[number]++
		}
		content, _ := protowire.ConsumeBytes(value)
		switch {
		case fd.Kind() == protoreflect.StringKind && !utf8.Valid(content):
			found = append(found, path)
		case fd.Kind() == protoreflect.MessageKind:
			found = brokenText(found, content, fd.Message(), path, depth+1)
		}
	}
	return found
}

// maxDepth bounds how deep an unreadable message is searched.
const maxDepth = 32

// readable returns the fault of a message that was marked as unreadable or too large.
func readable(m proto.Message) error {
	raw := m.ProtoReflect().GetUnknown()
	var fields []fault.Field
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeField(raw)
		if n < 0 {
			break
		}
		mark := raw[:n]
		raw = raw[n:]
		if number == tooLarge && kind == protowire.VarintType {
			return TooLarge()
		}
		if number != unreadable || kind != protowire.BytesType {
			continue
		}
		_, _, tag := protowire.ConsumeTag(mark)
		path, _ := protowire.ConsumeString(mark[tag:])
		if path == "" || !utf8.ValidString(path) {
			return fault.New(fault.Invalid, fault.InvalidFields, "the message is no protobuf message of this method")
		}
		fields = append(fields, fault.Field{Path: path, Reason: fault.NotPrintable, Message: "is not valid UTF-8"})
	}
	return fault.Err(fault.Fields(fields...))
}
