package jsonpb

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

// maxParameters bounds the number of different names in a query string.
const maxParameters = 256

// Query reads a query string into the fields of a message. Nested fields are written filter[type] or filter.type. List values are separated
// by commas, or the name is repeated. Unknown names and values of a wrong type are recorded in r. For an invalid query string, or more than
// maxParameters names, it sets Report.Fault and reads nothing. Top-level fields for which skip, if it is not nil, returns true belong to
// the path or the body and count as unknown in the query.
func Query(query string, msg protoreflect.Message, skip func(protoreflect.FieldDescriptor) bool, r *Report) {
	if query == "" {
		return
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		r.Fault = fault.New(fault.Invalid, fault.InvalidFields, "the query string is not valid: parameters are separated by & and written in percent-encoding")
		return
	}
	if len(values) > maxParameters {
		r.Fault = fault.New(fault.Invalid, fault.InvalidFields, "the query string holds more than %d names", maxParameters)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		q := parameter{name: name, values: values[name], skip: skip, report: r}
		if !q.store(msg) {
			q.addError(problem{fault.Unsupported, "unknown query parameter; " + supportedParameters(msg.Descriptor(), skip)})
		}
	}
}

// supportedParameters returns a clause for an error message that lists the query parameters of a request, with the fields of its direct
// messages but not deeper ones.
func supportedParameters(md protoreflect.MessageDescriptor, skip func(protoreflect.FieldDescriptor) bool) string {
	var names []string
	for _, f := range planOf(md).ordered {
		switch {
		case skip != nil && skip(f.fd), f.fd.IsMap(), f.form >= formStruct && f.form != formWrapper:
		case f.form != formMessage:
			names = append(names, f.json)
		case !f.fd.IsList():
			for _, sub := range planOf(f.fd.Message()).ordered {
				if sub.form != formMessage {
					names = append(names, f.json+"["+sub.json+"]")
				}
			}
		}
	}
	if len(names) == 0 {
		return "this route has no query parameters"
	}
	return "this route supports " + strings.Join(names, ", ")
}

// splitName splits a parameter name such as "filter[type]" or "filter.type" into its steps. In a name with brackets, a dot separates
// nothing, and empty brackets are ignored. It returns false if the brackets do not match or are too many.
func splitName(name string) ([]string, bool) {
	if !strings.Contains(name, "[") {
		return strings.Split(name, "."), true
	}
	head, rest, _ := strings.Cut(name, "[")
	steps := []string{head}
	for {
		step, after, ok := strings.Cut(rest, "]")
		if !ok || len(steps) > maxDepth {
			return nil, false
		}
		if step != "" { // empty brackets are ignored, because the name of a list may end in them: extend[]=a
			steps = append(steps, step)
		}
		if after == "" {
			return steps, true
		}
		if rest, ok = strings.CutPrefix(after, "["); !ok {
			return nil, false
		}
	}
}

// parameter is one name in a query string with all its values.
type parameter struct {
	name   string
	values []string
	skip   func(protoreflect.FieldDescriptor) bool
	report *Report
}

// addError records what is wrong with the parameter.
func (q *parameter) addError(p problem) {
	q.report.queryError(fault.Field{Path: printable(q.name), Reason: p.reason, Message: p.message})
}

// store sets the field of msg that the parameter names. It returns false if there is no such field, or a query cannot set it. It records an
// invalid value as an error and returns true.
func (q *parameter) store(msg protoreflect.Message) bool {
	steps, ok := splitName(q.name)
	if !ok {
		return false
	}
	path := make([]string, 0, len(steps))
	for i, step := range steps {
		f := planOf(msg.Descriptor()).fields[step]
		if f == nil || f.fd.IsMap() || (i == 0 && q.skip != nil && q.skip(f.fd)) {
			return false
		}
		path = append(path, f.json)
		if i == len(steps)-1 {
			return q.assign(msg, f, strings.Join(path, "."))
		}
		if f.form != formMessage || f.fd.IsList() {
			return false
		}
		msg = msg.Mutable(f.fd).Message()
	}
	return false
}

// assign sets a field from the query values. path is the field's JSON path. An empty value counts as not sent, unless the field is a
// string. It returns false only if a query cannot set a field of this type. It records an invalid value, or several for a field that is no
// list, as an error.
func (q *parameter) assign(msg protoreflect.Message, f *field, path string) bool {
	if f.form == formMessage || f.form >= formStruct && f.form != formWrapper {
		return false
	}
	if !q.report.recordQueryName(path, printable(q.name)) && !f.fd.IsList() || len(q.values) > 1 && !f.fd.IsList() {
		q.addError(problem{fault.Duplicate, "is named twice"})
		return true
	}
	if f.fd.IsList() {
		q.assignList(msg.Mutable(f.fd).List(), f)
		return true
	}
	// An empty value, as in "page[limit]=", means that the parameter was not sent.
	if q.values[0] == "" && f.value.Kind() != protoreflect.StringKind {
		return true
	}
	v, p := parseValue(f, msg.NewField(f.fd), q.values[0])
	if p.message != "" {
		q.addError(p)
		return true
	}
	msg.Set(f.fd, v)
	return true
}

// assignList appends the query values to a list. At the first invalid value, or beyond the limit, it records an error and stops.
func (q *parameter) assignList(list protoreflect.List, f *field) {
	for _, v := range q.values {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			if list.Len() == f.limit {
				q.report.queryError(TooMany(printable(q.name), f.limit))
				return
			}
			el, p := parseValue(f, list.NewElement(), part)
			if p.message != "" {
				q.addError(p)
				return
			}
			list.Append(el)
		}
	}
}

// parseValue parses one query value for a field. zero is a new value of the field, into which messages are read. The problem is empty if
// the value is valid.
func parseValue(f *field, zero protoreflect.Value, raw string) (protoreflect.Value, problem) {
	if p := text.Problem(raw); p != "" {
		return zero, problem{fault.NotPrintable, p}
	}
	fd := f.value
	switch f.form {
	case formTimestamp:
		// An unescaped plus sign in a query arrives as a space.
		return zero, setTimestamp(zero.Message(), strings.Replace(raw, " ", "+", 1))
	case formDuration:
		return zero, setDuration(zero.Message(), raw)
	case formFieldMask:
		return zero, setFieldMask(zero.Message(), raw)
	case formWrapper:
		fd = zero.Message().Descriptor().Fields().ByNumber(1)
	}
	v, p := parseScalar(fd, raw)
	if f.form == formWrapper && p.message == "" {
		zero.Message().Set(fd, v)
		return zero, p
	}
	return v, p
}

// parseScalar parses text as a scalar value of the type of fd. The problem is empty if the text is valid.
func parseScalar(fd protoreflect.FieldDescriptor, text string) (protoreflect.Value, problem) {
	switch kind := fd.Kind(); kind {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text), problem{}
	case protoreflect.BoolKind:
		if text != "true" && text != "false" {
			return protoreflect.Value{}, mustBe("true or false")
		}
		return protoreflect.ValueOfBool(text == "true"), problem{}
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		if !isNumber(text) {
			return protoreflect.Value{}, mustBe("a number")
		}
		return parseFloat(kind, []byte(text))
	case protoreflect.EnumKind:
		if v := fd.Enum().Values().ByName(protoreflect.Name(text)); v != nil {
			return protoreflect.ValueOfEnum(v.Number()), problem{}
		}
		return protoreflect.Value{}, problem{fault.WrongValue, "must be one of " + enumNames(fd.Enum())}
	case protoreflect.BytesKind:
		return parseBytes([]byte(`"` + text + `"`))
	default:
		return parseInteger(kind, []byte(text))
	}
}

// isNumber reports whether text has a digit and only characters of JSON numbers. strconv also accepts hexadecimal numbers, underscores and
// words such as "inf".
func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789+-.eE") == "" && strings.ContainsAny(text, "0123456789")
}
