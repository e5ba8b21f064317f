package chain

import (
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

	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/fault/envelope"
	"latchkey.dev/internal/text"
)

// validate corrects the case of fixed values in a request, and returns all violations, also those that the JSON reader reported, as one
// fault, or nil if there are none. If lists are too long, the fault has only the errors about their length. Any other error is an internal
// one. It leaves out what is below the field that the handler validates itself. It does nothing for a public method.
func (c *Chain) validate(call *Call, msg proto.Message) error {
	if call.method.public {
		return nil
	}
	canonicalize(msg.ProtoReflect())
	report := call.report
	found, oversized, err := violations(c.validator, report, msg, "", call.method)
	if err != nil {
		return err
	}
	if oversized {
		return fault.Fields(found...)
	}
	if call.method.static != nil {
		found = appendForOtherFields(found, call.method.static(msg))
	}
	for _, f := range report.TypeErrors("") {
		if report.Field == "" || report.Field != call.method.handlerField {
			found = append(found, f)
		}
	}
	fields := found[:0]
	for _, f := range found {
		if call.method.isHandlerValidated(f.Path) {
			continue
		}
		// REST derives field masks from the body and ignores those in it, so the violation of a mask repeats the violation of a field.
		if call.Protocol == REST && (f.Path == "updateMask" || f.Path == "updateMasks") {
			continue
		}
		if report != nil && report.Field != "" {
			f.Path = strings.TrimPrefix(f.Path, report.Field+".")
		}
		f.Path = report.AsWritten(f.Path)
		fields = append(fields, f)
	}
	fields = append(fields, report.QueryErrors()...)
	if slices.Contains(c.strictPackages, call.method.area) {
		fields = append(fields, report.Unknown()...)
	}
	return fault.Err(fault.Fields(lastPerPath(fields)...))
}

// Violations returns what is wrong with msg, a part of a request: JSON values of a wrong type, violated rules of the proto, and unprintable
// text. If lists are too long, it returns only that. The list is empty if nothing is wrong. prefix is the path of msg in the request, with
// which all returned paths begin: "" for the body itself, "reservations[2]" for a list entry. The error is an internal one.
func Violations(v protovalidate.Validator, report *jsonpb.Report, msg proto.Message, prefix string) ([]fault.Field, error) {
	found, oversized, err := violations(v, report, msg, prefix, unknownMethod)
	if err != nil || oversized {
		return found, err
	}
	return lastPerPath(append(found, report.TypeErrors(prefix)...)), nil
}

// violations returns what is wrong with a message of a call to m, apart from type errors of the JSON reader. If lists or maps are too long,
// oversized is true, and it returns only the errors about their length.
func violations(v protovalidate.Validator, report *jsonpb.Report, msg proto.Message, prefix string, m *method) (found []fault.Field, oversized bool, err error) {
	// The JSON reader has already checked text and the length of lists.
	w := walker{deep: report == nil, path: prefix}
	w.walkMessage(msg.ProtoReflect())
	for _, f := range report.Oversized() {
		if jsonpb.Within(f.Path, prefix) && (report.Field == "" || report.Field != m.handlerField) {
			w.oversized = append(w.oversized, f)
		}
	}
	large := slices.DeleteFunc(w.oversized, func(f fault.Field) bool { return m.isHandlerValidated(f.Path) })
	if len(large) > 0 {
		return large, true, nil
	}
	if found, err = ruleViolations(v, msg, prefix, m); err != nil {
		return nil, false, err
	}
	return append(found, w.found...), false, nil
}

// ruleViolations returns the violations of protovalidate rules in a request. It validates list entries one at a time and stops after
// envelope.MaxViolations.
func ruleViolations(v protovalidate.Validator, msg proto.Message, prefix string, m *method) ([]fault.Field, error) {
	found, err := messageViolations(v, msg, prefix, m.options...)
	for _, fd := range m.entries {
		list := msg.ProtoReflect().Get(fd).List()
		for i := 0; err == nil && i < list.Len() && len(found) < envelope.MaxViolations; i++ {
			var more []fault.Field
			more, err = messageViolations(v, list.Get(i).Message().Interface(), joinPath(prefix, fd.JSONName()+"["+strconv.Itoa(i)+"]"))
			found = append(found, more...)
		}
	}
	return found, err
}

// messageViolations returns the violations of protovalidate rules in one message, at most envelope.MaxViolations.
func messageViolations(validator protovalidate.Validator, msg proto.Message, prefix string, options ...protovalidate.ValidationOption) ([]fault.Field, error) {
	err := validator.Validate(msg, options...)
	if err == nil {
		return nil, nil
	}
	var broken *protovalidate.ValidationError
	if !errors.As(err, &broken) {
		return nil, fmt.Errorf("validate %s: %w", msg.ProtoReflect().Descriptor().FullName(), err)
	}
	found := make([]fault.Field, 0, min(len(broken.Violations), envelope.MaxViolations))
	for _, v := range broken.Violations[:min(len(broken.Violations), envelope.MaxViolations)] {
		found = append(found, fieldViolation(msg, v, prefix))
	}
	return found, nil
}

// appendForOtherFields appends to found the entries of more whose field has no violation in found.
func appendForOtherFields(found, more []fault.Field) []fault.Field {
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

// lastPerPath keeps the last violation of each field. A value of a wrong type leaves the field empty, which also violates the rule that the
// field is required. The type error comes last and is the useful one. It overwrites the list.
func lastPerPath(list []fault.Field) []fault.Field {
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

// fieldViolation converts a protovalidate violation to a field error.
func fieldViolation(msg proto.Message, v *protovalidate.Violation, prefix string) fault.Field {
	f := fault.Field{Path: joinPath(prefix, jsonPath(msg.ProtoReflect().Descriptor(), v.Proto.GetField()))}
	rule := v.Proto.GetRuleId()
	kind := rule[strings.LastIndexByte(rule, '.')+1:]
	f.Reason = fault.BadFormat
	if r, ok := reasonOfRule[kind]; ok {
		f.Reason = r
	}
	f.Message = strings.TrimPrefix(v.Proto.GetMessage(), "value ")
	switch {
	case kind == "required", f.Reason == fault.TooShort && v.FieldValue.IsValid() && v.FieldValue.Interface() == "":
		f.Reason, f.Message = fault.Required, "is required"
	case kind == "in" && v.RuleValue.IsValid():
		if values := allowedValues(v.RuleValue); values != "" {
			f.Message = "must be one of " + values
		}
	case rule == "string.pattern" && v.RuleValue.IsValid():
		if text := textOfPattern[v.RuleValue.String()]; text != "" {
			f.Message = text
		}
	case rule == "string.max_len":
		f.Message = fmt.Sprintf("must be at most %v characters long", v.RuleValue.Interface())
	case kind == "max_bytes" || rule == "bytes.max_len":
		f.Message = fmt.Sprintf("must be at most %v bytes long", v.RuleValue.Interface())
	case rule == "bytes.min_len" && v.FieldValue.IsValid() && len(v.FieldValue.Bytes()) == 0:
		f.Message = "must not be empty"
	case kind == "max_items":
		f.Message = fmt.Sprintf("must contain at most %v", v.RuleValue.Interface())
	case kind == "min_items":
		f.Message = fmt.Sprintf("must contain at least %v", v.RuleValue.Interface())
	case kind == "unique" && v.FieldValue.IsValid():
		if value, ok := firstRepeated(v.FieldValue); ok {
			f.Message = "must not contain " + value + " more than once"
		}
	}
	return f
}

// firstRepeated returns the first value that a list of texts contains a second time, in quotes. ok is false if there is none, or v is
// another list.
func firstRepeated(v protoreflect.Value) (value string, ok bool) {
	list, isList := v.Interface().(protoreflect.List)
	if !isList {
		return "", false
	}
	seen := make(map[string]bool, list.Len())
	for i := range list.Len() {
		value, ok := list.Get(i).Interface().(string)
		if ok && seen[value] {
			return strconv.Quote(value), true
		}
		seen[value] = ok
	}
	return "", false
}

// reasonOfRule maps the last part of a protovalidate rule id to an error reason. All other rules have the reason badFormat.
var reasonOfRule = map[string]fault.Reason{
	"required": fault.Required, "in": fault.WrongValue, "const": fault.WrongValue, "not_in": fault.WrongValue, "defined_only": fault.WrongValue,
	"gt": fault.OutOfRange, "gte": fault.OutOfRange, "lt": fault.OutOfRange, "lte": fault.OutOfRange,
	"gte_lte": fault.OutOfRange, "gt_lt": fault.OutOfRange, "gte_lt": fault.OutOfRange, "gt_lte": fault.OutOfRange, "finite": fault.OutOfRange,
	"max_len": fault.TooLong, "max_bytes": fault.TooLong, "min_len": fault.TooShort, "min_bytes": fault.TooShort, "len": fault.BadFormat,
	"max_items": fault.TooMany, "max_pairs": fault.TooMany, "min_items": fault.TooFew, "min_pairs": fault.TooFew, "unique": fault.Duplicate,
}

// textOfPattern maps a regular expression in the proto files to an error text that says in words what it allows.
var textOfPattern = map[string]string{
	`^([01][0-9]|2[0-3]):[0-5][0-9]$`:         "must be a time HH:MM, such as 15:30",
	`^(([01][0-9]|2[0-3]):[0-5][0-9])?$`:      "must be a time HH:MM, such as 15:30, or empty",
	`^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`: "must be a time HH:MM, such as 15:30 or 24:00",
	`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`:            "must be a date YYYY-MM-DD, such as 2026-11-23",
	`^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$`:        "must be the tag of a language, such as en or pt-BR",
	`^(#[0-9A-Fa-f]{6})?$`:                    "must be a colour #RRGGBB, such as #0a7d5c, or empty",
	`^([A-Za-z]+(/[A-Za-z]+)?)?$`:             "must be a call such as LockService/UnlockLock, a service such as LockService, or empty",
	`^[A-Z]{2}$`:                              "must be the code of a country in two capital letters, such as PT",
	`^[a-z][A-Za-z0-9]{0,31}$`:                "must be a name of at most 32 letters and digits that begins with a small letter, such as carPlate",
}

// allowedValues returns the values of an "in" rule, separated by commas, without the empty string, which means that the field was not sent.
func allowedValues(v protoreflect.Value) string {
	list, ok := v.Interface().(protoreflect.List)
	if !ok {
		return ""
	}
	values := make([]string, 0, list.Len())
	for i := range list.Len() {
		if w := fmt.Sprint(list.Get(i).Interface()); w != "" {
			values = append(values, w)
		}
	}
	return strings.Join(values, ", ")
}

// jsonPath converts a protovalidate path to a path of JSON names. md is the message type at which the path begins.
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

// joinPath joins two parts of a JSON path with a dot. Each can be empty.
func joinPath(prefix, path string) string {
	if prefix == "" || path == "" {
		return prefix + path
	}
	return prefix + "." + path
}

// walker searches a message for lists that are too long, control characters or invalid UTF-8 in text, and invalid timestamps.
type walker struct {
	deep      bool // nested messages, lists and maps are searched too; false if the JSON reader has checked them
	path      string
	found     []fault.Field
	oversized []fault.Field
}

// limitReached reports whether the walker has found as many violations as one answer may list.
func (w *walker) limitReached() bool {
	return len(w.found) >= envelope.MaxViolations || len(w.oversized) >= envelope.MaxViolations
}

// walkMessage records the invalid texts in the fields of the message at the walker's path. With deep it also records too long lists and
// maps, and what is wrong in nested messages, which can be invalid timestamps, and in lists and maps.
func (w *walker) walkMessage(m protoreflect.Message) {
	if at, ok := m.Interface().(*timestamppb.Timestamp); ok {
		if !at.IsValid() {
			w.found = append(w.found, fault.Field{Path: w.path, Reason: fault.BadFormat, Message: "must be a time in the years 1 to 9999, with 0 to 999,999,999 nanoseconds"})
		}
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() == protoreflect.StringKind && fd.Cardinality() != protoreflect.Repeated:
			w.checkText(jsonpb.WithoutLines(fd, v.String()), func() string { return joinPath(w.path, fd.JSONName()) })
		case w.deep && fd.IsMap():
			if w.fitsLimit(fd, v.Map().Len()) {
				w.walkMap(fd, v.Map())
			}
		case w.deep && fd.IsList():
			if w.fitsLimit(fd, v.List().Len()) {
				w.walkList(fd, v.List())
			}
		case w.deep && fd.Message() != nil:
			w.walkNested(fd.JSONName(), v.Message())
		}
		return !w.limitReached()
	})
}

// fitsLimit reports whether a list or map is within its maximum length, and records an error if not.
func (w *walker) fitsLimit(fd protoreflect.FieldDescriptor, entries int) bool {
	most := jsonpb.MaxEntries(fd)
	if entries > most {
		w.oversized = append(w.oversized, jsonpb.TooMany(joinPath(w.path, fd.JSONName()), most))
	}
	return entries <= most
}

// walkNested checks a message below the walker's path. name is the step to it.
func (w *walker) walkNested(name string, m protoreflect.Message) {
	outer := w.path
	w.path = joinPath(outer, name)
	w.walkMessage(m)
	w.path = outer
}

// walkList checks the entries of a list of messages or texts.
func (w *walker) walkList(fd protoreflect.FieldDescriptor, list protoreflect.List) {
	if fd.Message() == nil && fd.Kind() != protoreflect.StringKind {
		return
	}
	for i := 0; i < list.Len() && !w.limitReached(); i++ {
		at := func() string { return fd.JSONName() + "[" + strconv.Itoa(i) + "]" }
		if fd.Message() != nil {
			w.walkNested(at(), list.Get(i).Message())
			continue
		}
		w.checkText(list.Get(i).String(), func() string { return joinPath(w.path, at()) })
	}
}

// walkMap checks the keys and values of a map, as walkMessage does for a message. An error about a key has the path of the map.
func (w *walker) walkMap(fd protoreflect.FieldDescriptor, m protoreflect.Map) {
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		if fd.MapKey().Kind() == protoreflect.StringKind {
			w.checkText(k.String(), func() string { return joinPath(w.path, fd.JSONName()) })
		}
		switch {
		case fd.MapValue().Message() != nil:
			w.walkNested(fd.JSONName()+"."+k.String(), v.Message())
		case fd.MapValue().Kind() == protoreflect.StringKind:
			w.checkText(v.String(), func() string { return joinPath(w.path, fd.JSONName()+"."+k.String()) })
		}
		return !w.limitReached()
	})
}

// checkText records an error if s has control characters or invalid UTF-8. path returns the path of s, which only an error needs.
func (w *walker) checkText(s string, path func() string) {
	if p := text.Problem(s); p != "" {
		w.found = append(w.found, fault.Field{Path: path(), Reason: fault.NotPrintable, Message: p})
	}
}
