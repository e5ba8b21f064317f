package jsonpb

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/fault"
)

// readWellKnown reads a google.protobuf type that JSON represents as a string: a timestamp, duration or field mask. zero is a new message
// of the type, into which it is read. If ok is false and the problem is empty, the error is already recorded.
func (d *reader) readWellKnown(f form, zero protoreflect.Value, raw jsontext.Value) (protoreflect.Value, bool, problem) {
	if raw.Kind() != '"' {
		if f == formFieldMask {
			return zero, false, mustBe(`field names in one string, such as "adultCount,booker.email"`)
		}
		return zero, false, mustBe("a string")
	}
	text, ok := d.readText(raw, nil)
	if !ok {
		return zero, false, problem{}
	}
	m := zero.Message()
	var p problem
	switch f {
	case formTimestamp:
		p = setTimestamp(m, text)
	case formDuration:
		p = setDuration(m, text)
	case formFieldMask:
		p = setFieldMask(m, text)
	}
	return zero, p.message == "", p
}

// Range of google.protobuf.Timestamp.
var (
	firstInstant = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	lastInstant  = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
)

// setTimestamp parses an RFC 3339 time into m, a google.protobuf.Timestamp. The problem is empty if the text is valid.
func setTimestamp(m protoreflect.Message, text string) problem {
	t, err := clock.Parse(text)
	if err != nil {
		return problem{fault.BadFormat, "must be a date and time with an offset as in RFC 3339, such as 2026-11-20T15:00:00+01:00"}
	}
	if t.Before(firstInstant) || t.After(lastInstant) {
		return problem{fault.OutOfRange, "must lie within the years 1 to 9999"}
	}
	setSeconds(m, t.Unix(), int32(t.Nanosecond())) // nanoseconds are below one second
	return problem{}
}

// setSeconds sets the fields of m, a google.protobuf.Timestamp.
func setSeconds(m protoreflect.Message, seconds int64, nanos int32) {
	fields := m.Descriptor().Fields()
	m.Set(fields.ByNumber(1), protoreflect.ValueOfInt64(seconds))
	m.Set(fields.ByNumber(2), protoreflect.ValueOfInt32(nanos))
}

// setDuration parses a text such as "1.5s" into m, a google.protobuf.Duration. The problem is empty if the text is valid.
func setDuration(m protoreflect.Message, text string) problem {
	// protojson implements the grammar and range of durations.
	quoted, err := jsontext.AppendQuote(nil, text)
	if err == nil {
		err = protojson.Unmarshal(quoted, m.Interface())
	}
	if err != nil {
		return problem{fault.BadFormat, "must be a number of seconds followed by s, such as 1.5s"}
	}
	return problem{}
}

// setFieldMask parses field names separated by commas, and adds their proto names to m, a google.protobuf.FieldMask. A name with an
// underscore is in the spelling of the .proto files, such as adult_count, and any other in that of JSON, such as adultCount. The problem is
// empty if the text is valid.
func setFieldMask(m protoreflect.Message, text string) problem {
	if strings.Count(text, ",") >= defaultEntries {
		return problem{fault.TooMany, "must name at most " + strconv.Itoa(defaultEntries) + " fields"}
	}
	if strings.TrimSpace(text) == "" {
		return problem{}
	}
	list := m.Mutable(m.Descriptor().Fields().ByNumber(1)).List()
	for name := range strings.SplitSeq(text, ",") {
		path, ok := protoPath(name)
		if !ok {
			return problem{fault.BadFormat, "must be field names separated by commas, such as adultCount,booker.email"}
		}
		list.Append(protoreflect.ValueOfString(path))
	}
	return problem{}
}

// protoPath returns the name of a field in the spelling of the .proto files. ok is false if no field can have the name.
func protoPath(name string) (path string, ok bool) {
	name = strings.TrimSpace(name)
	if strings.Contains(name, "_") {
		return name, protoreflect.FullName(name).IsValid()
	}
	mask := &fieldmaskpb.FieldMask{}
	quoted, err := jsontext.AppendQuote(nil, name)
	if err == nil {
		err = protojson.Unmarshal(quoted, mask)
	}
	if err != nil || len(mask.GetPaths()) != 1 {
		return "", false
	}
	return mask.GetPaths()[0], true
}

// readDynamic reads a field of the type google.protobuf.Struct, Value or ListValue. zero is a new value of the field. ok is false if the
// JSON is invalid for the type; the error is then recorded. null is valid for a Value only. err means that the body is not JSON.
func (d *reader) readDynamic(f *field, zero protoreflect.Value) (v protoreflect.Value, ok bool, err error) {
	kind := d.dec.PeekKind()
	switch {
	case f.form == formStruct && kind != '{':
		d.addError(fault.WrongType, "must be an object")
		return zero, false, d.dec.SkipValue()
	case f.form == formListValue && kind != '[':
		d.addError(fault.WrongType, "must be a list")
		return zero, false, d.dec.SkipValue()
	}
	before := len(d.report.errors)
	value, err := d.readValue()
	if err != nil || len(d.report.errors) > before {
		return zero, false, err
	}
	switch f.form {
	case formStruct:
		return convertMessage(zero, value.GetStructValue().ProtoReflect()), true, nil
	case formListValue:
		return convertMessage(zero, value.GetListValue().ProtoReflect()), true, nil
	default:
		return convertMessage(zero, value.ProtoReflect()), true, nil
	}
}

// convertMessage copies a message of a well-known type into the Go type of the field. zero is a new value of the field. The types differ
// only for dynamic messages. The result is empty if the conversion fails.
func convertMessage(zero protoreflect.Value, src protoreflect.Message) protoreflect.Value {
	if zero.Message().Type() == src.Type() {
		return protoreflect.ValueOfMessage(src)
	}
	dst := zero.Message()
	b, err := protojson.Marshal(src.Interface())
	if err == nil {
		err = protojson.Unmarshal(b, dst.Interface())
	}
	if err != nil {
		return protoreflect.ValueOfMessage(dst.Type().New())
	}
	return zero
}

// maxValues bounds the number of google.protobuf.Value messages in one body.
const maxValues = 10_000

// countValue counts one google.protobuf.Value. It returns false beyond maxValues, and records one error for the whole body.
func (d *reader) countValue() bool {
	if d.values++; d.values == maxValues+1 {
		d.addError(fault.TooMany, "must hold at most "+strconv.Itoa(maxValues)+" values")
	}
	return d.values <= maxValues
}

// readValue reads any JSON value as google.protobuf.Value. It records an invalid text or number, and returns "" or null in its place.
func (d *reader) readValue() (*structpb.Value, error) {
	switch d.dec.PeekKind() {
	case '{':
		s, err := d.readObject()
		return structpb.NewStructValue(s), err
	case '[':
		l, err := d.readArray()
		return structpb.NewListValue(l), err
	}
	raw, err := d.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	switch raw.Kind() {
	case 't', 'f':
		return structpb.NewBoolValue(raw.Kind() == 't'), nil
	case '"':
		s, _ := d.readText(raw, nil)
		return structpb.NewStringValue(s), nil
	case '0':
		n, p := parseFloat(protoreflect.DoubleKind, raw)
		if p.message != "" {
			d.addError(p.reason, p.message)
			return structpb.NewNullValue(), nil
		}
		return structpb.NewNumberValue(n.Float()), nil
	default:
		return structpb.NewNullValue(), nil
	}
}

// readObject reads a JSON object as google.protobuf.Struct. An object at the depth maxDepth is recorded as an error and read as empty. Of
// two equal names, which are an error, it keeps the last value. Beyond maxValues values in the body, it skips the members; countValue
// records the error.
func (d *reader) readObject() (*structpb.Struct, error) {
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	if d.dec.StackDepth() >= maxDepth {
		d.addError(fault.WrongType, "is nested too deep")
		return out, d.dec.SkipValue()
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return nil, err
	}
	for d.dec.PeekKind() != '}' {
		raw, err := d.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if !d.countValue() {
			if err := d.dec.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		name, ok := d.readText(raw, nil)
		d.push(name)
		if _, twice := out.Fields[name]; twice && ok {
			d.addError(fault.Duplicate, "is named twice")
		}
		v, err := d.readValue()
		if err != nil {
			return nil, err
		}
		out.Fields[name] = v
		d.pop()
	}
	_, err := d.dec.ReadToken()
	return out, err
}

// readArray reads a JSON array as google.protobuf.ListValue. Beyond maxValues values in the body, it skips the entries; countValue records
// the error.
func (d *reader) readArray() (*structpb.ListValue, error) {
	out := &structpb.ListValue{}
	if d.dec.StackDepth() >= maxDepth {
		d.addError(fault.WrongType, "is nested too deep")
		return out, d.dec.SkipValue()
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return nil, err
	}
	for i := 0; d.dec.PeekKind() != ']'; i++ {
		if !d.countValue() {
			if err := d.dec.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		d.path = append(d.path, segment{index: i})
		v, err := d.readValue()
		if err != nil {
			return nil, err
		}
		out.Values = append(out.Values, v)
		d.pop()
	}
	_, err := d.dec.ReadToken()
	return out, err
}

// lenientStruct reads a possibly invalid JSON value, so that an error can show it to its sender. It replaces invalid UTF-8, reads at most
// maxValues values, and reads unprintable text as "", a number out of range as null, and what is nested too deep as empty. It wraps a value
// that is not an object as {"value": ...}. For broken JSON it returns an empty object.
func lenientStruct(raw []byte) *structpb.Struct {
	d := readers.Get().(*reader)
	defer d.release()
	d.reset(bytes.ToValidUTF8(raw, []byte("\ufffd")), &Report{})
	v, err := d.readValue()
	if err != nil {
		return &structpb.Struct{}
	}
	if s := v.GetStructValue(); s != nil {
		return s
	}
	return &structpb.Struct{Fields: map[string]*structpb.Value{"value": v}}
}
