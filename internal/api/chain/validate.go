package chain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"latchkey.dev/internal/api/body"
	"latchkey.dev/internal/fault"
)

// check validates a request, all of it but the field that its handler validates.
func (c *Chain) check(ctx context.Context, call *Call, msg proto.Message) error {
	if call.method.public {
		return nil
	}
	canonicalize(msg.ProtoReflect())
	report := body.From(ctx)
	found, oversized, err := c.violations(report, msg, "", call.method)
	if err != nil {
		return err
	}
	if oversized {
		return fault.Fields(found...)
	}
	if call.method.static != nil {
		found = besides(found, call.method.static(msg))
	}
	for _, f := range report.TypeErrors("") {
		if report.Field == "" || report.Field != call.method.own {
			found = append(found, f)
		}
	}
	fields := found[:0]
	for _, f := range found {
		if call.method.handles(f.Path) {
			continue
		}
		// REST, and the reader of Connect's JSON, make masks: what is wrong with those is wrong with what they name.
		if (call.Protocol == REST || report != nil && report.Derived) && (f.Path == "updateMask" || f.Path == "updateMasks") {
			continue
		}
		if report != nil && report.Field != "" {
			f.Path = strings.TrimPrefix(f.Path, report.Field+".")
		}
		f.Path = report.AsWritten(f.Path)
		fields = append(fields, f)
	}
	fields = append(fields, report.QueryErrors()...)
	if slices.Contains(c.exact, call.method.area) {
		fields = append(fields, report.Unknown()...)
	}
	return fault.Err(fault.Fields(distinct(fields)...))
}

// Violations returns everything that is wrong with one part of a request: values of a wrong
// type in a REST body at or below prefix, rules of the proto that are broken, and text that
// is none. msg is the part, prefix its path as the caller sees it: "" where the part is the
// body itself, "reservations[2]" for an entry of a list. Paths of the result begin with
// prefix.
func Violations(ctx context.Context, msg proto.Message, prefix string) ([]fault.Field, error) {
	report := body.From(ctx)
	rules := protovalidate.GlobalValidator
	if call := From(ctx); call != nil {
		rules = call.chain.rules
	}
	found, oversized, err := (&Chain{rules: rules}).violations(report, msg, prefix, nobody)
	if err != nil || oversized {
		return found, err
	}
	return distinct(append(found, report.TypeErrors(prefix)...)), nil
}

// violations returns what is wrong with a message. Where lists or maps hold more entries than they may, it names these alone:
// none of their entries is worth a violation of its own.
func (c *Chain) violations(report *body.Report, msg proto.Message, prefix string, m *method) (found []fault.Field, oversized bool, err error) {
	// The reader of JSON bounded the lists, and checked their text.
	w := walker{deep: report == nil, path: prefix}
	w.message(msg.ProtoReflect())
	for _, f := range report.Oversized() {
		if body.Within(f.Path, prefix) && (report.Field == "" || report.Field != m.own) {
			w.oversized = append(w.oversized, f)
		}
	}
	large := slices.DeleteFunc(w.oversized, func(f fault.Field) bool { return m.handles(f.Path) })
	if len(large) > 0 {
		return large, true, nil
	}
	if found, err = c.broken(msg, prefix, m); err != nil {
		return nil, false, err
	}
	return append(found, w.found...), false, nil
}

// broken returns the rules of the proto that a request breaks. The entries of its lists it judges one by one, until there is
// more wrong than one answer names.
func (c *Chain) broken(msg proto.Message, prefix string, m *method) ([]fault.Field, error) {
	found, err := c.rule(msg, prefix, m.options...)
	for _, fd := range m.entries {
		list := msg.ProtoReflect().Get(fd).List()
		for i := 0; err == nil && i < list.Len() && len(found) < maxViolations; i++ {
			var more []fault.Field
			more, err = c.rule(list.Get(i).Message().Interface(), join(prefix, fd.JSONName()+"["+strconv.Itoa(i)+"]"))
			found = append(found, more...)
		}
	}
	return found, err
}

// rule returns the rules of the proto that one message breaks.
func (c *Chain) rule(msg proto.Message, prefix string, options ...protovalidate.ValidationOption) ([]fault.Field, error) {
	err := c.rules.Validate(msg, options...)
	if err == nil {
		return nil, nil
	}
	var broken *protovalidate.ValidationError
	if !errors.As(err, &broken) {
		return nil, fmt.Errorf("validate %s: %w", msg.ProtoReflect().Descriptor().FullName(), err)
	}
	found := make([]fault.Field, 0, min(len(broken.Violations), maxViolations))
	for _, v := range broken.Violations[:min(len(broken.Violations), maxViolations)] {
		found = append(found, field(msg, v, prefix))
	}
	return found, nil
}

// besides adds to broken rules of the proto what is wrong with other fields.
func besides(found, more []fault.Field) []fault.Field {
	named := make(map[string]bool, len(found))
	for _, f := range found {
		named[f.Path] = true
	}
	for _, f := range more {
		if !named[f.Path] {
			found = append(found, f)
		}
	}
	return found
}

// distinct drops what is said twice of one field: the first is a broken rule, the second the
// value of a wrong type that left the field empty, which is the better reason.
func distinct(list []fault.Field) []fault.Field {
	if len(list) < 2 {
		return list
	}
	last := make(map[string]int, len(list))
	for i, f := range list {
		last[f.Path] = i
	}
	out := list[:0]
	for i, f := range list {
		if last[f.Path] == i {
			out = append(out, f)
		}
	}
	return out
}

// field turns a broken rule into a fault's field.
func field(msg proto.Message, v *protovalidate.Violation, prefix string) fault.Field {
	f := fault.Field{Path: join(prefix, jsonPath(msg.ProtoReflect().Descriptor(), v.Proto.GetField()))}
	rule := v.Proto.GetRuleId()
	kind := rule[strings.LastIndexByte(rule, '.')+1:]
	f.Reason = fault.BadFormat
	if r, ok := reasons[kind]; ok {
		f.Reason = r
	}
	f.Message = strings.TrimPrefix(v.Proto.GetMessage(), "value ")
	switch {
	case kind == "required", f.Reason == fault.TooShort && v.FieldValue.IsValid() && v.FieldValue.Interface() == "":
		f.Reason, f.Message = fault.Required, "is required"
	case kind == "in" && v.RuleValue.IsValid():
		if words := listed(v.RuleValue); words != "" {
			f.Message = "must be one of " + words
		}
	case rule == "string.max_len":
		f.Message = fmt.Sprintf("must be at most %v characters long", v.RuleValue.Interface())
	case kind == "max_bytes" || rule == "bytes.max_len":
		f.Message = fmt.Sprintf("must be at most %v bytes long", v.RuleValue.Interface())
	case kind == "max_items":
		f.Message = fmt.Sprintf("must contain at most %v", v.RuleValue.Interface())
	case kind == "min_items":
		f.Message = fmt.Sprintf("must contain at least %v", v.RuleValue.Interface())
	}
	return f
}

// reasons by the last word of a protovalidate rule id; any other rule is one of format.
var reasons = map[string]fault.Reason{
	"required": fault.Required, "in": fault.WrongValue, "const": fault.WrongValue, "not_in": fault.WrongValue, "defined_only": fault.WrongValue,
	"gt": fault.OutOfRange, "gte": fault.OutOfRange, "lt": fault.OutOfRange, "lte": fault.OutOfRange,
	"gte_lte": fault.OutOfRange, "gt_lt": fault.OutOfRange, "gte_lt": fault.OutOfRange, "gt_lte": fault.OutOfRange, "finite": fault.OutOfRange,
	"max_len": fault.TooLong, "max_bytes": fault.TooLong, "min_len": fault.TooShort, "min_bytes": fault.TooShort, "len": fault.BadFormat,
	"max_items": fault.TooMany, "max_pairs": fault.TooMany, "min_items": fault.TooFew, "min_pairs": fault.TooFew, "unique": fault.Duplicate,
}

// listed writes the values of an in rule; the empty word stands for "not sent".
func listed(v protoreflect.Value) string {
	list, ok := v.Interface().(protoreflect.List)
	if !ok {
		return ""
	}
	words := make([]string, 0, list.Len())
	for i := range list.Len() {
		if w := fmt.Sprint(list.Get(i).Interface()); w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, ", ")
}

// jsonPath writes a protovalidate path as JSON callers see it.
func jsonPath(md protoreflect.MessageDescriptor, path *validate.FieldPath) string {
	var b strings.Builder
	for _, el := range path.GetElements() {
		name := el.GetFieldName()
		if md != nil {
			if fd := md.Fields().ByNumber(protoreflect.FieldNumber(el.GetFieldNumber())); fd != nil {
				name = fd.JSONName()
				if md = fd.Message(); fd.IsMap() {
					md = fd.MapValue().Message()
				}
			}
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(name)
		switch sub := el.GetSubscript().(type) {
		case *validate.FieldPathElement_Index:
			fmt.Fprintf(&b, "[%d]", sub.Index)
		case *validate.FieldPathElement_StringKey:
			b.WriteString("." + sub.StringKey)
		case *validate.FieldPathElement_IntKey:
			fmt.Fprintf(&b, ".%d", sub.IntKey)
		case *validate.FieldPathElement_UintKey:
			fmt.Fprintf(&b, ".%d", sub.UintKey)
		case *validate.FieldPathElement_BoolKey:
			fmt.Fprintf(&b, ".%t", sub.BoolKey)
		}
	}
	return b.String()
}

func join(prefix, path string) string {
	if prefix == "" || path == "" {
		return prefix + path
	}
	return prefix + "." + path
}

// walker looks for lists that are too long, text that a database or a terminal would choke on, and times that are none.
type walker struct {
	deep      bool
	path      string
	found     []fault.Field
	oversized []fault.Field // the lists and maps that hold more than they may
}

// full reports whether enough is wrong for one answer.
func (w *walker) full() bool {
	return len(w.found) >= maxViolations || len(w.oversized) >= maxViolations
}

func (w *walker) message(m protoreflect.Message) {
	if at, ok := m.Interface().(*timestamppb.Timestamp); ok {
		if !at.IsValid() {
			w.found = append(w.found, fault.Field{Path: w.path, Reason: fault.BadFormat, Message: "must be a moment of the years 1 to 9999, with 0 to 999,999,999 ns"})
		}
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() == protoreflect.StringKind && fd.Cardinality() != protoreflect.Repeated:
			w.text(v.String(), func() string { return join(w.path, fd.JSONName()) })
		case w.deep && fd.IsMap():
			if w.fits(fd, v.Map().Len()) {
				w.mapping(fd, v.Map())
			}
		case w.deep && fd.IsList():
			if w.fits(fd, v.List().Len()) {
				w.list(fd, v.List())
			}
		case w.deep && fd.Message() != nil:
			w.below(fd.JSONName(), v.Message())
		}
		return !w.full()
	})
}

// fits reports whether a list or map holds no more entries than it may.
func (w *walker) fits(fd protoreflect.FieldDescriptor, entries int) bool {
	most := body.MaxEntries(fd)
	if entries > most {
		w.oversized = append(w.oversized, body.TooMany(join(w.path, fd.JSONName()), most))
	}
	return entries <= most
}

func (w *walker) below(name string, m protoreflect.Message) {
	outer := w.path
	w.path = join(outer, name)
	w.message(m)
	w.path = outer
}

func (w *walker) list(fd protoreflect.FieldDescriptor, list protoreflect.List) {
	if fd.Message() == nil && fd.Kind() != protoreflect.StringKind {
		return
	}
	for i := 0; i < list.Len() && !w.full(); i++ {
		at := func() string { return fd.JSONName() + "[" + strconv.Itoa(i) + "]" }
		if fd.Message() != nil {
			w.below(at(), list.Get(i).Message())
			continue
		}
		w.text(list.Get(i).String(), func() string { return join(w.path, at()) })
	}
}

func (w *walker) mapping(fd protoreflect.FieldDescriptor, m protoreflect.Map) {
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		if fd.MapKey().Kind() == protoreflect.StringKind {
			w.text(k.String(), func() string { return join(w.path, fd.JSONName()) })
		}
		switch {
		case fd.MapValue().Message() != nil:
			w.below(fd.JSONName()+"."+k.String(), v.Message())
		case fd.MapValue().Kind() == protoreflect.StringKind:
			w.text(v.String(), func() string { return join(w.path, fd.JSONName()+"."+k.String()) })
		}
		return !w.full()
	})
}
