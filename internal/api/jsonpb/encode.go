package jsonpb

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// slowMarshal encodes rarely used types, for which speed does not matter.
var slowMarshal = protojson.MarshalOptions{EmitDefaultValues: true}

// Append appends a message as JSON to b. The result equals protojson with EmitDefaultValues except for white space between tokens. It takes
// a third of protojson's time, and every REST answer uses it.
func Append(b []byte, msg protoreflect.Message) ([]byte, error) {
	p := planOf(msg.Descriptor())
	if p.form != formMessage {
		return appendWithProtojson(b, msg)
	}
	var err error
	b = append(b, '{')
	first := true
	for _, f := range p.ordered {
		if f.presence && !msg.Has(f.fd) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, f.key...)
		v := msg.Get(f.fd)
		switch {
		case f.list == 0:
			b, err = appendValue(b, f, v)
		case f.fd.IsMap():
			b, err = appendMap(b, f, v.Map())
		default:
			b, err = appendList(b, f, v.List())
		}
		if err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// Struct converts a message to the google.protobuf.Struct with the same JSON. It leaves out fields with default values.
func Struct(msg proto.Message) (*structpb.Struct, error) {
	raw, err := protojson.Marshal(msg)
	if err != nil {
		return nil, fmt.Errorf("write a message as JSON: %w", err)
	}
	out := &structpb.Struct{}
	return out, protojson.Unmarshal(raw, out)
}

// Convert fills msg from a Go value by way of JSON. Every field in the JSON of v must be a field of msg.
func Convert(v any, msg proto.Message) error {
	raw, err := json.Marshal(v)
	if err == nil {
		err = protojson.Unmarshal(raw, msg)
	}
	if err != nil {
		return fmt.Errorf("convert a value to a message: %w", err)
	}
	return nil
}

// appendWithProtojson appends a message with the standard encoder, which is slower. It serves rarely used types.
func appendWithProtojson(b []byte, msg protoreflect.Message) ([]byte, error) {
	text, err := slowMarshal.Marshal(msg.Interface())
	return append(b, text...), err
}

// appendList appends a list as a JSON array. f describes its entries.
func appendList(b []byte, f *field, list protoreflect.List) ([]byte, error) {
	var err error
	b = append(b, '[')
	for i := range list.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendValue(b, f, list.Get(i)); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// appendMap appends a map as a JSON object, sorted by key. f describes the map's values.
func appendMap(b []byte, f *field, m protoreflect.Map) ([]byte, error) {
	keys := make([]protoreflect.MapKey, 0, m.Len())
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool { keys = append(keys, k); return true })
	slices.SortFunc(keys, compareKeys)
	var err error
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendText(b, k.String()); err != nil {
			return nil, fieldError(f, err)
		}
		b = append(b, ':')
		if b, err = appendValue(b, f, m.Get(k)); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendValue appends a field value, a list entry or a map value.
func appendValue(b []byte, f *field, v protoreflect.Value) (_ []byte, err error) {
	switch f.value.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		switch f.form {
		case formMessage:
			return Append(b, v.Message())
		case formTimestamp:
			return appendTime(b, v.Message())
		}
		return appendWithProtojson(b, v.Message())
	case protoreflect.StringKind:
		if b, err = appendText(b, v.String()); err != nil {
			return nil, fieldError(f, err)
		}
		return b, nil
	case protoreflect.BoolKind:
		return strconv.AppendBool(b, v.Bool()), nil
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return strconv.AppendUint(b, v.Uint(), 10), nil
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return append(strconv.AppendInt(append(b, '"'), v.Int(), 10), '"'), nil
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return append(strconv.AppendUint(append(b, '"'), v.Uint(), 10), '"'), nil
	case protoreflect.FloatKind:
		return appendFloat(b, v.Float(), 32), nil
	case protoreflect.DoubleKind:
		return appendFloat(b, v.Float(), 64), nil
	case protoreflect.BytesKind:
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), v.Bytes()), '"'), nil
	case protoreflect.EnumKind:
		return appendEnum(b, f, v.Enum()), nil
	}
	return nil, fieldError(f, fmt.Errorf("a %s cannot be written as JSON", f.value.Kind()))
}

// fieldError adds the name of the field to an error of writing its value.
func fieldError(f *field, err error) error { return fmt.Errorf("write %s: %w", f.fd.FullName(), err) }

// appendEnum appends the name of an enum value, or its number if the value is unknown.
func appendEnum(b []byte, f *field, n protoreflect.EnumNumber) []byte {
	e := f.value.Enum()
	if e.FullName() == "google.protobuf.NullValue" {
		return append(b, "null"...)
	}
	if v := e.Values().ByNumber(n); v != nil {
		return append(append(append(b, '"'), v.Name()...), '"')
	}
	return strconv.AppendInt(b, int64(n), 10)
}

// appendFloat appends a number in the format of JavaScript, as protojson does. bits is 32 or 64.
func appendFloat(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 &&
		(bits == 64 && (abs < 1e-6 || abs >= 1e21) || bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21)) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, v, format, -1, bits)
	if n := len(b); format == 'e' && n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' {
		b[n-2] = b[n-1] // shortens an exponent such as e-09 to e-9
		b = b[:n-1]
	}
	return b
}

const hexDigits = "0123456789abcdef"

var errText = errors.New("a text is not valid UTF-8")

// appendText appends a quoted JSON string. It fails if s is not valid UTF-8.
func appendText(b []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, errText
	}
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(b, s[from:]...), '"'), nil
}

// appendTime appends a timestamp as a quoted RFC 3339 time in UTC with 0, 3, 6 or 9 fractional digits. It fails for a timestamp that is not
// in the years 1 to 9999.
func appendTime(b []byte, msg protoreflect.Message) ([]byte, error) {
	t, ok := msg.Interface().(*timestamppb.Timestamp)
	if !ok || !t.IsValid() {
		return appendWithProtojson(b, msg)
	}
	b = t.AsTime().AppendFormat(append(b, '"'), "2006-01-02T15:04:05.000000000")
	b = bytes.TrimSuffix(bytes.TrimSuffix(b, zeros), zeros)
	b = bytes.TrimSuffix(b, []byte(".000"))
	return append(b, 'Z', '"'), nil
}

var zeros = []byte("000")

// compareKeys orders map keys as protojson does.
func compareKeys(a, b protoreflect.MapKey) int {
	switch x := a.Interface().(type) {
	case string:
		return strings.Compare(x, b.String())
	case bool:
		switch {
		case x == b.Bool():
			return 0
		case x:
			return 1
		}
		return -1
	case int32, int64:
		return cmp.Compare(a.Int(), b.Int())
	}
	return cmp.Compare(a.Uint(), b.Uint())
}
