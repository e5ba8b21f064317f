package jsonpb

import (
	"slices"
	"strconv"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// form is how JSON represents a value of a type.
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
	formOpaque // a message that JSON cannot represent
)

// plan is what the reader needs to know about a message type, computed once per type.
type plan struct {
	form    form              // of the message itself
	fields  map[string]*field // by JSON name and by proto name
	ordered []*field          // in the order of the descriptor
	lists   []*field          // lists and maps, at most maxLists
	nested  bool              // the type contains messages that contain lists
	numbers []*field          // by number, for numbers below maxNumber
}

// byNumber returns the field with a number, or nil.
func (p *plan) byNumber(n protowire.Number) *field {
	if int(n) < len(p.numbers) {
		return p.numbers[n]
	}
	if len(p.numbers) < maxNumber {
		return nil
	}
	for _, f := range p.ordered {
		if f.fd.Number() == n {
			return f
		}
	}
	return nil
}

// maxNumber bounds the field numbers that are indexed directly.
const maxNumber = 256

type field struct {
	fd         protoreflect.FieldDescriptor
	form       form // of a single value, an entry of a list, or the value of a map
	index      int  // position in the descriptor, to detect a duplicate name
	json       string
	key        string // the quoted JSON name with a colon
	proto      string
	oneof      protoreflect.OneofDescriptor // nil for synthetic ones
	value      protoreflect.FieldDescriptor // fd itself, or the value field of a map
	list       int                          // position among the lists and maps of the message, from 1; 0 for other fields
	limit      int                          // maximum number of entries of a list or map
	nestedPlan func() *plan                 // plan of the messages in it if these contain lists; otherwise nil
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
		if fd.IsList() || fd.IsMap() {
			p.lists = append(p.lists, f)
			f.list, f.limit = min(len(p.lists), maxLists), maxEntries(fd)
		}
		if inner := fd.Message(); inner != nil && holdsLists(inner, nil) {
			p.nested = true
			f.nestedPlan = sync.OnceValue(func() *plan { return planOf(inner) })
		}
		p.indexByNumber(f)
		p.ordered[i] = f
		p.fields[f.proto] = f
		p.fields[f.json] = f
	}
	p.lists = p.lists[:min(len(p.lists), maxLists)]
	if md.ExtensionRanges().Len() > 0 {
		p.form = formOpaque
	}
	got, _ := plans.LoadOrStore(md, p)
	return got.(*plan)
}

// indexByNumber adds a field to the index by number.
func (p *plan) indexByNumber(f *field) {
	n := int(f.fd.Number())
	if n >= maxNumber {
		p.numbers = append(p.numbers, make([]*field, maxNumber-len(p.numbers))...)
		return
	}
	if n >= len(p.numbers) {
		p.numbers = append(p.numbers, make([]*field, n+1-len(p.numbers))...)
	}
	p.numbers[n] = f
}

// holdsLists reports whether a message type contains a list or map at any depth.
func holdsLists(md protoreflect.MessageDescriptor, above []protoreflect.FullName) bool {
	if slices.Contains(above, md.FullName()) {
		return false
	}
	above = append(above, md.FullName())
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if fd.IsList() || fd.IsMap() || fd.Message() != nil && holdsLists(fd.Message(), above) {
			return true
		}
	}
	return false
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
