package jsonpb

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	rpcv1 "latchkey.dev/gen/latchkey/rpc/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

// problem is why a JSON value is invalid. An empty message means that the value is valid.
type problem struct {
	reason  fault.Reason
	message string
}

// readSingle reads one JSON value that is not a message with fields. zero is a new value of the field; a message is read into it. ok is
// false if the value is invalid; the error is then recorded. err means that the JSON is broken.
func (d *reader) readSingle(f *field, zero protoreflect.Value) (v protoreflect.Value, ok bool, err error) {
	switch f.form {
	case formStruct, formValue, formListValue:
		return d.readDynamic(f, zero)
	}
	raw, err := d.dec.ReadValue()
	if err != nil {
		return v, false, err
	}
	var p problem
	switch f.form {
	case formScalar:
		v, ok, p = d.readScalar(f.value, raw)
	case formWrapper:
		m := zero.Message()
		inner := m.Descriptor().Fields().ByNumber(1)
		if v, ok, p = d.readScalar(inner, raw); ok {
			m.Set(inner, v)
			v = zero
		}
	case formOpaque:
		p = problem{fault.Unsupported, "cannot be sent"}
	default:
		v, ok, p = d.readWellKnown(f.form, zero, raw)
	}
	if p.message != "" {
		d.addError(p.reason, p.message)
		return v, false, nil
	}
	return v, ok, nil
}

// readScalar converts a raw JSON value. If ok is false and the problem is empty, the error is already recorded.
func (d *reader) readScalar(fd protoreflect.FieldDescriptor, raw jsontext.Value) (v protoreflect.Value, ok bool, p problem) {
	switch kind := fd.Kind(); kind {
	case protoreflect.StringKind:
		if raw.Kind() != '"' {
			return v, false, mustBe("a string")
		}
		s, ok := d.readText(raw, fd)
		return protoreflect.ValueOfString(s), ok, problem{}
	case protoreflect.BoolKind:
		if k := raw.Kind(); k != 't' && k != 'f' {
			return v, false, mustBe("true or false")
		}
		return protoreflect.ValueOfBool(raw.Kind() == 't'), true, problem{}
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		if raw.Kind() != '0' {
			return v, false, mustBe("a number")
		}
		v, p = parseFloat(kind, raw)
	case protoreflect.EnumKind:
		v, p = readEnum(fd.Enum(), raw)
	case protoreflect.BytesKind:
		v, p = parseBytes(raw)
	default:
		v, p = readInteger(kind, raw)
	}
	return v, p.message == "", p
}

// mustBe returns the problem of a value of a wrong type. what is the expected type in words, such as "a string".
func mustBe(what string) problem { return problem{fault.WrongType, "must be " + what} }

// readText unquotes a JSON string. It records an error and returns false if the string is not printable text. Line breaks are valid only in
// a field with the proto option lines. fd is nil for a text that is not the value of a field.
func (d *reader) readText(raw jsontext.Value, fd protoreflect.FieldDescriptor) (string, bool) {
	plain := []byte(raw[1 : len(raw)-1])
	if bytes.IndexByte(plain, '\\') >= 0 {
		var err error
		if plain, err = jsontext.AppendUnquote(nil, raw); err != nil {
			d.addError(fault.NotPrintable, "is not valid Unicode text")
			return "", false
		}
	}
	s := string(plain)
	if p := text.Problem(WithoutLines(fd, s)); p != "" {
		d.addError(fault.NotPrintable, p)
		return "", false
	}
	return s, true
}

// WithoutLines replaces line breaks by spaces in the text of a field that may have several lines, so that checks for one-line text accept
// it. It returns the text of any other field unchanged; fd may be nil.
func WithoutLines(fd protoreflect.FieldDescriptor, s string) string {
	if fd == nil || !strings.Contains(s, "\n") {
		return s
	}
	if several, _ := proto.GetExtension(fd.Options(), rpcv1.E_Lines).(bool); !several {
		return s
	}
	return strings.NewReplacer("\r\n", " ", "\n", " ").Replace(s)
}

// parseFloat parses a JSON number for a float or double field. The problem is empty if the number is within the range of the type. It
// rounds digits that the type cannot hold.
func parseFloat(kind protoreflect.Kind, raw []byte) (protoreflect.Value, problem) {
	bits := 64
	if kind == protoreflect.FloatKind {
		bits = 32
	}
	f, err := strconv.ParseFloat(string(raw), bits)
	switch {
	case errors.Is(err, strconv.ErrRange), f == 0 && strings.ContainsAny(mantissa(string(raw)), "123456789"):
		return protoreflect.Value{}, problem{fault.OutOfRange, "is beyond the range of a number"}
	case err != nil:
		return protoreflect.Value{}, mustBe("a number")
	}
	if bits == 32 {
		return protoreflect.ValueOfFloat32(float32(f)), problem{}
	}
	return protoreflect.ValueOfFloat64(f), problem{}
}

// mantissa returns a number without its exponent: 1.5 for 1.5e3.
func mantissa(s string) string {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		return s[:i]
	}
	return s
}

// readInteger converts a JSON integer. A 64-bit integer may also be a string, as protobuf's JSON writes it, because many JSON readers lose
// digits of large numbers. The problem is empty if the integer is in the range of the kind.
func readInteger(kind protoreflect.Kind, raw jsontext.Value) (protoreflect.Value, problem) {
	digits := []byte(raw)
	if raw.Kind() == '"' && is64Bit(kind) {
		digits = raw[1 : len(raw)-1]
	} else if raw.Kind() != '0' {
		return protoreflect.Value{}, mustBe("a whole number")
	}
	return parseInteger(kind, digits)
}

func is64Bit(kind protoreflect.Kind) bool {
	switch kind {
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return true
	}
	return false
}

// parseInteger parses an integer for a field of the given kind, also one such as 1.0 or 12e1. The problem is empty if the integer is in the
// range of the kind.
func parseInteger(kind protoreflect.Kind, raw []byte) (protoreflect.Value, problem) {
	digits, ok := normalizeInteger(string(raw))
	if !ok {
		return protoreflect.Value{}, mustBe("a whole number")
	}
	var v protoreflect.Value
	var err error
	var n int64
	var u uint64
	switch kind {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		n, err = strconv.ParseInt(digits, 10, 32)
		v = protoreflect.ValueOfInt32(int32(n)) // ParseInt has checked the range of 32 bits
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		n, err = strconv.ParseInt(digits, 10, 64)
		v = protoreflect.ValueOfInt64(n)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		u, err = strconv.ParseUint(digits, 10, 32)
		v = protoreflect.ValueOfUint32(uint32(u)) // ParseUint has checked the range of 32 bits
	default:
		u, err = strconv.ParseUint(digits, 10, 64)
		v = protoreflect.ValueOfUint64(u)
	}
	if err != nil {
		return v, problem{fault.OutOfRange, "is beyond the range of this number"}
	}
	return v, problem{}
}

// normalizeInteger rewrites an integer such as 1.0 or 12e1 without decimal point and exponent. It appends at most 20 zeros, which overflow
// every integer type. It returns false if s is not a whole number.
func normalizeInteger(s string) (string, bool) {
	sign := ""
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		sign, s = "-", rest
	}
	mantissa, exponent := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(s[i+1:])
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return "", false
		}
		mantissa, exponent = s[:i], max(min(e, 1<<30), -1<<30)
	}
	before, after, _ := strings.Cut(mantissa, ".")
	if before == "" || strings.Trim(before+after, "0123456789") != "" {
		return "", false
	}
	digits := strings.TrimLeft(before+after, "0")
	trimmed := strings.TrimRight(digits, "0")
	if trimmed == "" {
		return "0", true
	}
	zeros := exponent - len(after) + len(digits) - len(trimmed)
	if zeros < 0 {
		return "", false
	}
	return sign + trimmed + strings.Repeat("0", min(zeros, 20)), true
}

// readEnum converts a JSON string or number to a value of an enum. The problem is empty if the enum has the value.
func readEnum(ed protoreflect.EnumDescriptor, raw jsontext.Value) (protoreflect.Value, problem) {
	switch raw.Kind() {
	case '"':
		if v := ed.Values().ByName(protoreflect.Name(raw[1 : len(raw)-1])); v != nil {
			return protoreflect.ValueOfEnum(v.Number()), problem{}
		}
	case '0':
		n, p := parseInteger(protoreflect.Int32Kind, raw)
		if p.message == "" && ed.Values().ByNumber(protoreflect.EnumNumber(n.Int())) != nil { // parseInteger has checked the range of 32 bits
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n.Int())), problem{}
		}
	default:
		return protoreflect.Value{}, mustBe("a string")
	}
	return protoreflect.Value{}, problem{fault.WrongValue, "must be one of " + enumNames(ed)}
}

// enumNames lists the values of an enum for an error message, without the value 0, which means that the field is unset.
func enumNames(ed protoreflect.EnumDescriptor) string {
	words := make([]string, 0, ed.Values().Len())
	for i := range ed.Values().Len() {
		if v := ed.Values().Get(i); v.Number() != 0 || ed.Values().Len() == 1 {
			words = append(words, string(v.Name()))
		}
	}
	return strings.Join(words, ", ")
}

// parseBytes decodes a JSON string in standard or URL-safe base64, with or without padding.
func parseBytes(raw jsontext.Value) (protoreflect.Value, problem) {
	if raw.Kind() != '"' {
		return protoreflect.Value{}, mustBe("a base64 string")
	}
	text := strings.TrimRight(string(raw[1:len(raw)-1]), "=")
	enc := base64.RawStdEncoding
	if strings.ContainsAny(text, "-_") {
		enc = base64.RawURLEncoding
	}
	b, err := enc.DecodeString(text)
	if err != nil {
		return protoreflect.Value{}, problem{fault.BadFormat, "must be base64"}
	}
	return protoreflect.ValueOfBytes(b), problem{}
}
