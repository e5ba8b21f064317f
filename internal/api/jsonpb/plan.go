package jsonpb

import (
	"slices"
	"strconv"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// form is the JSON representation of a protobuf type.
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
	formOpaque // a message that JSON cannot represent, such as google.protobuf.Any: a call that sends it is refused
)

// plan is the description of a message type for the JSON reader and writer. It is computed once per type.
type plan struct {
	form    form              // JSON representation of the message
	fields  map[string]*field // fields by JSON name and by proto name
	ordered []*field          // fields in the order of the descriptor
	lists   []*field          // list and map fields, at most maxLists
	nested  bool              // at least one field has a message type that contains lists or maps, at any depth
	numbers []*field          // fields by number, nil for an unused one; byNumber searches ordered for numbers from maxNumber on
}

// byNumber returns the field with a protobuf field number, or nil.
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

// maxNumber is the first field number that the lookup table of a plan does not contain. Fields from this number on are searched one by one.
const maxNumber = 256

// field is what the JSON reader and writer need to know about one field of a message type.
type field struct {
	fd         protoreflect.FieldDescriptor
	form       form // JSON representation of a single value, a list entry or a map value
	index      int  // position in the descriptor; from maxTrackedFields on, duplicate names are not detected
	json       string
	key        string // quoted JSON name followed by a colon
	proto      string
	presence   bool                         // an unset field differs from one with the default value
	oneof      protoreflect.OneofDescriptor // nil for a field outside of oneofs; an optional field counts as outside
	value      protoreflect.FieldDescriptor // the field itself, or the value field of a map
	list       int                          // position among the lists and maps of the message, counted from 1; 0 for other fields
	limit      int                          // maximum number of entries of a list or map; 0 for other fields
	nestedPlan func() *plan                 // plan of the field's messages if these contain lists or maps; otherwise nil
}

var plans sync.Map // cache: maps a protoreflect.MessageDescriptor to its *plan

// planOf returns the plan of a message type. It computes the plan on the first call and caches it. It is safe for concurrent use.
func planOf(md protoreflect.MessageDescriptor) *plan {
	if p, ok := plans.Load(md); ok {
		return p.(*plan)
	}
	fields := md.Fields()
	p := &plan{form: formOfMessage(md), fields: make(map[string]*field, 2*fields.Len()), ordered: make([]*field, fields.Len())}
	for i := range fields.Len() {
		fd := fields.Get(i)
		f := &field{fd: fd, index: i, json: fd.JSONName(), key: strconv.Quote(fd.JSONName()) + ":", proto: string(fd.Name()), presence: fd.HasPresence(), value: fd}
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

// indexByNumber adds a field to the lookup table by field number. For a number from maxNumber on it only extends the table to maxNumber,
// which makes byNumber search.
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

// holdsLists reports whether a message type contains a list or map at any depth. above lists the enclosing types, so that recursive types
// end the search.
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

// formOf returns the JSON representation of one value of a field.
func formOf(fd protoreflect.FieldDescriptor) form {
	if md := fd.Message(); md != nil {
		return formOfMessage(md)
	}
	return formScalar
}

// formOfMessage returns the JSON representation of a message type.
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
