package body

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"latchkey.dev/internal/fault"
)

// maxParameters bounds how many parameters of a query string are looked at.
const maxParameters = 256

// Query reads a query string into the fields of a message. Nested fields are written
// filter[type] or filter.type, lists as comma lists or by naming them again. Unknown names
// are ignored; a value of a wrong type is reported and its field left unset. Fields at the
// top for which skip is true belong to the path or the body and are not touched.
func Query(query string, msg protoreflect.Message, skip func(protoreflect.FieldDescriptor) bool, r *Report) {
	if query == "" {
		return
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		r.Fault = fault.New(fault.Invalid, fault.InvalidFields, "the query string is not valid: parameters are separated by & and written in percent-encoding")
		return
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), maxParameters)] {
		steps, ok := split(name)
		if !ok {
			continue
		}
		parameter(msg, steps, values[name], skip, r)
	}
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

func parameter(msg protoreflect.Message, steps, values []string, skip func(protoreflect.FieldDescriptor) bool, r *Report) {
	path := make([]string, 0, len(steps))
	for i, step := range steps {
		f := planOf(msg.Descriptor()).fields[step]
		if f == nil || f.fd.IsMap() || (i == 0 && skip != nil && skip(f.fd)) {
			return
		}
		path = append(path, f.json)
		if i < len(steps)-1 {
			if f.form != formMessage || f.fd.IsList() {
				return
			}
			msg = msg.Mutable(f.fd).Message()
			continue
		}
		assign(msg, f, values, strings.Join(path, "."), r)
	}
}

func assign(msg protoreflect.Message, f *field, values []string, path string, r *Report) {
	if f.form == formMessage || f.form >= formStruct && f.form != formWrapper {
		return
	}
	wrong := func(p problem) {
		r.add(fault.Field{Path: path, Reason: p.reason, Message: p.message})
	}
	if f.fd.IsList() {
		list := msg.Mutable(f.fd).List()
		for _, v := range values {
			for word := range strings.SplitSeq(v, ",") {
				if word = strings.TrimSpace(word); word == "" {
					continue
				}
				if list.Len() == f.most {
					r.add(TooMany(path, f.most))
					return
				}
				el, p := parse(f, list.NewElement(), word)
				if p.message != "" {
					wrong(p)
					return
				}
				list.Append(el)
			}
		}
		return
	}
	if len(values) > 1 || msg.Has(f.fd) && f.fd.HasPresence() {
		wrong(problem{fault.Duplicate, "is named twice"})
		return
	}
	// page[limit]= with nothing behind it says nothing.
	if values[0] == "" && f.value.Kind() != protoreflect.StringKind {
		return
	}
	v, p := parse(f, msg.NewField(f.fd), values[0])
	if p.message != "" {
		wrong(p)
		return
	}
	msg.Set(f.fd, v)
}

// parse reads one value as it stands in a query string.
func parse(f *field, zero protoreflect.Value, text string) (protoreflect.Value, problem) {
	if !utf8.ValidString(text) {
		return zero, problem{fault.NotPrintable, "is not valid UTF-8"}
	}
	if strings.IndexByte(text, 0) >= 0 {
		return zero, problem{fault.NotPrintable, "must not hold a NUL character"}
	}
	fd := f.value
	switch f.form {
	case formTimestamp:
		// A plus sign that was not percent-encoded arrives as a blank.
		return zero, setTimestamp(zero.Message(), strings.Replace(text, " ", "+", 1))
	case formDuration:
		return zero, setDuration(zero.Message(), text)
	case formFieldMask:
		return zero, setFieldMask(zero.Message(), text)
	case formWrapper:
		fd = zero.Message().Descriptor().Fields().ByNumber(1)
	}
	v, p := word(fd, text)
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
