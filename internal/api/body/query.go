package body

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

// maxParameters bounds how many names a query string may hold.
const maxParameters = 256

// Query reads a query string into the fields of a message. Nested fields are written
// filter[type] or filter.type, lists as comma lists or by naming them again. Each unknown
// name and each value of a wrong type is reported under the name that the caller wrote.
// Fields at the top for which skip is true belong to the path or the body: as query names
// they are unknown.
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
		if !q.read(msg) {
			q.wrong(problem{fault.Unsupported, "unknown query parameter; " + known(msg.Descriptor(), skip)})
		}
	}
}

// known names the query parameters of a request message.
func known(md protoreflect.MessageDescriptor, skip func(protoreflect.FieldDescriptor) bool) string {
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
		return "this route takes none"
	}
	return "this route takes " + strings.Join(names, ", ")
}

// split takes "filter[type]" and "filter.type" apart.
func split(name string) ([]string, bool) {
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
		if step != "" { // a list may be written extend[]=a
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

// parameter is one name of a query string with its values.
type parameter struct {
	name   string
	values []string
	skip   func(protoreflect.FieldDescriptor) bool
	report *Report
}

func (q *parameter) wrong(p problem) {
	q.report.queryError(fault.Field{Path: printable(q.name), Reason: p.reason, Message: p.message})
}

// read stores the values in the field that the name leads to. It returns false if there is none.
func (q *parameter) read(msg protoreflect.Message) bool {
	steps, ok := split(q.name)
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

// assign stores the values in a field. It returns false if the field cannot be written in a query.
func (q *parameter) assign(msg protoreflect.Message, f *field, path string) bool {
	if f.form == formMessage || f.form >= formStruct && f.form != formWrapper {
		return false
	}
	if !q.report.spell(path, printable(q.name)) && !f.fd.IsList() || len(q.values) > 1 && !f.fd.IsList() {
		q.wrong(problem{fault.Duplicate, "is named twice"})
		return true
	}
	if f.fd.IsList() {
		q.assignList(msg.Mutable(f.fd).List(), f)
		return true
	}
	// page[limit]= with nothing behind it says nothing.
	if q.values[0] == "" && f.value.Kind() != protoreflect.StringKind {
		return true
	}
	v, p := parse(f, msg.NewField(f.fd), q.values[0])
	if p.message != "" {
		q.wrong(p)
		return true
	}
	msg.Set(f.fd, v)
	return true
}

func (q *parameter) assignList(list protoreflect.List, f *field) {
	for _, v := range q.values {
		for word := range strings.SplitSeq(v, ",") {
			if word = strings.TrimSpace(word); word == "" {
				continue
			}
			if list.Len() == f.most {
				q.report.queryError(TooMany(printable(q.name), f.most))
				return
			}
			el, p := parse(f, list.NewElement(), word)
			if p.message != "" {
				q.wrong(p)
				return
			}
			list.Append(el)
		}
	}
}

// parse reads one value as it stands in a query string.
func parse(f *field, zero protoreflect.Value, raw string) (protoreflect.Value, problem) {
	if p := text.Problem(raw); p != "" {
		return zero, problem{fault.NotPrintable, p}
	}
	fd := f.value
	switch f.form {
	case formTimestamp:
		// A plus sign that was not percent-encoded arrives as a blank.
		return zero, setTimestamp(zero.Message(), strings.Replace(raw, " ", "+", 1))
	case formDuration:
		return zero, setDuration(zero.Message(), raw)
	case formFieldMask:
		return zero, setFieldMask(zero.Message(), raw)
	case formWrapper:
		fd = zero.Message().Descriptor().Fields().ByNumber(1)
	}
	v, p := word(fd, raw)
	if f.form == formWrapper && p.message == "" {
		zero.Message().Set(fd, v)
		return zero, p
	}
	return v, p
}

func word(fd protoreflect.FieldDescriptor, text string) (protoreflect.Value, problem) {
	switch kind := fd.Kind(); kind {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text), problem{}
	case protoreflect.BoolKind:
		if text != "true" && text != "false" {
			return protoreflect.Value{}, mustBe("true or false")
		}
		return protoreflect.ValueOfBool(text == "true"), problem{}
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		if !number(text) {
			return protoreflect.Value{}, mustBe("a number")
		}
		return floating(kind, []byte(text))
	case protoreflect.EnumKind:
		if v := fd.Enum().Values().ByName(protoreflect.Name(text)); v != nil {
			return protoreflect.ValueOfEnum(v.Number()), problem{}
		}
		return protoreflect.Value{}, problem{fault.WrongValue, "must be one of " + enumNames(fd.Enum())}
	case protoreflect.BytesKind:
		return binary([]byte(`"` + text + `"`))
	default:
		return integer(kind, []byte(text))
	}
}

// number reports whether text is a JSON number: strconv also takes hexadecimal, underscores
// and words.
func number(text string) bool {
	return text != "" && strings.Trim(text, "0123456789+-.eE") == "" && strings.ContainsAny(text, "0123456789")
}
