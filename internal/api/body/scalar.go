package body

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/reflect/protoreflect"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

// problem is why a value was refused; none when message is empty.
type problem struct {
	reason  fault.Reason
	message string
}

// single reads one value that is no plain message. zero is a new value of the field, into
// which messages are read. ok is false when the value was refused and noted.
func (d *reader) single(f *field, zero protoreflect.Value) (v protoreflect.Value, ok bool, err error) {
	switch f.form {
	case formStruct, formValue, formListValue:
		return d.dynamic(f, zero)
	}
	raw, err := d.dec.ReadValue()
	if err != nil {
		return v, false, err
	}
	var p problem
	switch f.form {
	case formScalar:
		v, ok, p = d.scalar(f.value, raw)
	case formWrapper:
		m := zero.Message()
		inner := m.Descriptor().Fields().ByNumber(1)
		if v, ok, p = d.scalar(inner, raw); ok {
			m.Set(inner, v)
			v = zero
		}
	case formOpaque:
		p = problem{fault.Unsupported, "cannot be sent"}
	default:
		v, ok, p = d.wellKnown(f.form, zero, raw)
	}
	if p.message != "" {
		d.wrong(p.reason, p.message)
		return v, false, nil
	}
	return v, ok, nil
}

// scalar reads a raw JSON value. ok is false without a problem when it was noted already.
func (d *reader) scalar(fd protoreflect.FieldDescriptor, raw jsontext.Value) (v protoreflect.Value, ok bool, p problem) {
	switch kind := fd.Kind(); kind {
	case protoreflect.StringKind:
		if raw.Kind() != '"' {
			return v, false, mustBe("a string")
		}
		s, ok := d.text(raw)
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
		v, p = floating(kind, raw)
	case protoreflect.EnumKind:
		v, p = enumeration(fd.Enum(), raw)
	case protoreflect.BytesKind:
		v, p = binary(raw)
	default:
		v, p = whole(kind, raw)
	}
	return v, p.message == "", p
}

func mustBe(what string) problem { return problem{fault.WrongType, "must be " + what} }

// text unquotes a JSON string. It notes a string that is no text of one line.
func (d *reader) text(raw jsontext.Value) (string, bool) {
	plain := []byte(raw[1 : len(raw)-1])
	if bytes.IndexByte(plain, '\\') >= 0 {
		var err error
		if plain, err = jsontext.AppendUnquote(nil, raw); err != nil {
			d.wrong(fault.NotPrintable, "is not valid Unicode text")
			return "", false
		}
	}
	s := string(plain)
	if p := text.Problem(s); p != "" {
		d.wrong(fault.NotPrintable, p)
		return "", false
	}
	return s, true
}

func floating(kind protoreflect.Kind, raw []byte) (protoreflect.Value, problem) {
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

// mantissa is a number without its exponent.
func mantissa(s string) string {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		return s[:i]
	}
	return s
}

// whole reads an integer. Those of 64 bits may also be strings, which is how protobuf's own
// JSON writes them, because a JSON number loses digits in many readers.
func whole(kind protoreflect.Kind, raw jsontext.Value) (protoreflect.Value, problem) {
	digits := []byte(raw)
	if raw.Kind() == '"' && wide(kind) {
		digits = raw[1 : len(raw)-1]
	} else if raw.Kind() != '0' {
		return protoreflect.Value{}, mustBe("a whole number")
	}
	return integer(kind, digits)
}

func wide(kind protoreflect.Kind) bool {
	switch kind {
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return true
	}
	return false
}

func integer(kind protoreflect.Kind, raw []byte) (protoreflect.Value, problem) {
	digits, ok := plainInteger(string(raw))
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
		v = protoreflect.ValueOfInt32(int32(n)) //nolint:gosec // ParseInt kept it within 32 bits
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		n, err = strconv.ParseInt(digits, 10, 64)
		v = protoreflect.ValueOfInt64(n)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		u, err = strconv.ParseUint(digits, 10, 32)
		v = protoreflect.ValueOfUint32(uint32(u)) //nolint:gosec // ParseUint kept it within 32 bits
	default:
		u, err = strconv.ParseUint(digits, 10, 64)
		v = protoreflect.ValueOfUint64(u)
	}
	if err != nil {
		return v, problem{fault.OutOfRange, "is beyond the range of this number"}
	}
	return v, problem{}
}

// plainInteger rewrites a JSON number that is an integer, such as 1.0 or 12e1, without point
// and exponent. The result is no longer than needed to see that it is out of range.
func plainInteger(s string) (string, bool) {
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

func enumeration(ed protoreflect.EnumDescriptor, raw jsontext.Value) (protoreflect.Value, problem) {
	switch raw.Kind() {
	case '"':
		if v := ed.Values().ByName(protoreflect.Name(raw[1 : len(raw)-1])); v != nil {
			return protoreflect.ValueOfEnum(v.Number()), problem{}
		}
	case '0':
		n, p := integer(protoreflect.Int32Kind, raw)
		if p.message == "" && ed.Values().ByNumber(protoreflect.EnumNumber(n.Int())) != nil { //nolint:gosec // it was read as 32 bits
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n.Int())), problem{} //nolint:gosec // as above
		}
	default:
		return protoreflect.Value{}, mustBe("a string")
	}
	return protoreflect.Value{}, problem{fault.WrongValue, "must be one of " + enumNames(ed)}
}

func enumNames(ed protoreflect.EnumDescriptor) string {
	words := make([]string, 0, ed.Values().Len())
	for i := range ed.Values().Len() {
		if v := ed.Values().Get(i); v.Number() != 0 || ed.Values().Len() == 1 {
			words = append(words, string(v.Name()))
		}
	}
	return strings.Join(words, ", ")
}

func binary(raw jsontext.Value) (protoreflect.Value, problem) {
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
