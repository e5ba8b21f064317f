package body

import (
	"strconv"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// form is how a field's values are written in JSON.
type form uint8

const (
	formScalar form = iota
	formMessage
	formTimestamp
	formDuration
	formFieldMask
	formStruct
	formValue
	formListValue
	formWrapper
	formOpaque // a message that JSON callers cannot send
)

// plan is what reading a message needs of its descriptor, made once per type.
type plan struct {
	form    form              // of the message itself
	fields  map[string]*field // by JSON name and by proto name
	ordered []*field          // as the descriptor has them
}

type field struct {
	fd    protoreflect.FieldDescriptor
	form  form // of a single value, an entry of a list, or the value of a map
	index int  // position in the descriptor, to notice a name sent twice
	json  string
	key   string // the JSON name between quotes, and a colon
	proto string
	oneof protoreflect.OneofDescriptor // nil for synthetic ones
	value protoreflect.FieldDescriptor // what a single value is: fd itself, or the map's value
}

var plans sync.Map // protoreflect.MessageDescriptor → *plan

func planOf(md protoreflect.MessageDescriptor) *plan {
	if p, ok := plans.Load(md); ok {
		return p.(*plan)
	}
	fields := md.Fields()
	p := &plan{form: formOfMessage(md), fields: make(map[string]*field, 2*fields.Len()), ordered: make([]*field, fields.Len())}
	for i := range fields.Len() {
		fd := fields.Get(i)
		f := &field{fd: fd, index: i, json: fd.JSONName(), key: strconv.Quote(fd.JSONName()) + ":", proto: string(fd.Name()), value: fd}
		if fd.IsMap() {
			f.value = fd.MapValue()
		}
		f.form = formOf(f.value)
		if od := fd.ContainingOneof(); od != nil && !od.IsSynthetic() {
			f.oneof = od
		}
		p.ordered[i] = f
		p.fields[f.proto] = f
		p.fields[f.json] = f
	}
	if md.ExtensionRanges().Len() > 0 {
		p.form = formOpaque
	}
	got, _ := plans.LoadOrStore(md, p)
	return got.(*plan)
}

func formOf(fd protoreflect.FieldDescriptor) form {
	if md := fd.Message(); md != nil {
		return formOfMessage(md)
	}
	return formScalar
}

func formOfMessage(md protoreflect.MessageDescriptor) form {
	switch md.FullName() {
	case "google.protobuf.Timestamp":
		return formTimestamp
	case "google.protobuf.Duration":
		return formDuration
	case "google.protobuf.FieldMask":
		return formFieldMask
	case "google.protobuf.Struct":
		return formStruct
	case "google.protobuf.Value":
		return formValue
	case "google.protobuf.ListValue":
		return formListValue
	case "google.protobuf.Any":
		return formOpaque
	case "google.protobuf.DoubleValue", "google.protobuf.FloatValue", "google.protobuf.Int64Value",
		"google.protobuf.UInt64Value", "google.protobuf.Int32Value", "google.protobuf.UInt32Value",
		"google.protobuf.BoolValue", "google.protobuf.StringValue", "google.protobuf.BytesValue":
		return formWrapper
	}
	return formMessage
}
