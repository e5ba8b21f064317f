package chain

import (
	"slices"
	"strings"
	"sync"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// enumFields lists the string fields of a message type that allow only fixed values (an "in" rule of protovalidate).
type enumFields struct {
	fields []enumField
	nested []protoreflect.FieldDescriptor // message fields whose messages contain enum fields at any depth
}

// enumField is a string field and its allowed values.
type enumField struct {
	field  protoreflect.FieldDescriptor
	values []string
}

var enumFieldsCache sync.Map // maps a protoreflect.MessageDescriptor to its *enumFields; nil if the type has none

// canonicalize corrects upper and lower case in fields with fixed values, such as "checkedin" to "checkedIn", also in nested messages and
// lists, but not in maps. Unknown values stay for the validation to refuse.
func canonicalize(m protoreflect.Message) {
	v := enumFieldsOf(m.Descriptor(), nil)
	if v == nil {
		return
	}
	for _, w := range v.fields {
		if !m.Has(w.field) {
			continue
		}
		if w.field.IsList() {
			list := m.Mutable(w.field).List()
			for i := range list.Len() {
				if value := list.Get(i).String(); !slices.Contains(w.values, value) {
					list.Set(i, protoreflect.ValueOfString(canonicalSpelling(w.values, value)))
				}
			}
			continue
		}
		if value := m.Get(w.field).String(); !slices.Contains(w.values, value) {
			m.Set(w.field, protoreflect.ValueOfString(canonicalSpelling(w.values, value)))
		}
	}
	for _, fd := range v.nested {
		switch {
		case !m.Has(fd):
		case fd.IsList():
			list := m.Get(fd).List()
			for i := range list.Len() {
				canonicalize(list.Get(i).Message())
			}
		default:
			canonicalize(m.Get(fd).Message())
		}
	}
}

// canonicalSpelling returns the allowed value that equals value except for case. If there is none, it returns value.
func canonicalSpelling(values []string, value string) string {
	if i := slices.IndexFunc(values, func(w string) bool { return strings.EqualFold(w, value) }); i >= 0 {
		return values[i]
	}
	return value
}

// enumFieldsOf returns the enum fields of a message type, or nil if it has none at any depth. open lists the enclosing types. The search
// leaves out fields of these types, so that it ends for recursive types, and caches the result without them.
func enumFieldsOf(md protoreflect.MessageDescriptor, open []protoreflect.FullName) *enumFields {
	if v, ok := enumFieldsCache.Load(md); ok {
		return v.(*enumFields)
	}
	open = append(open, md.FullName())
	v := &enumFields{}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		switch {
		case fd.IsMap():
		case fd.Kind() == protoreflect.StringKind:
			if values := inRuleValues(fd); len(values) > 0 {
				v.fields = append(v.fields, enumField{fd, values})
			}
		case fd.Message() != nil && !slices.Contains(open, fd.Message().FullName()) && enumFieldsOf(fd.Message(), open) != nil:
			v.nested = append(v.nested, fd)
		}
	}
	if len(v.fields)+len(v.nested) == 0 {
		v = nil
	}
	enumFieldsCache.Store(md, v)
	return v
}

// inRuleValues returns the values that the protovalidate rule "in" allows in a string field, or nil.
func inRuleValues(fd protoreflect.FieldDescriptor) []string {
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	if fd.IsList() {
		rules = rules.GetRepeated().GetItems()
	}
	return rules.GetString().GetIn()
}
