package jsonpb

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/reflect/protoreflect"

	"latchkey.dev/internal/fault"
)

// readList reads a JSON array into the list field f of msg. It records an error and skips the entries beyond the limit. The returned error
// means that the JSON is broken. top means that the list is a direct field of the body: then each object in it gets its own field mask.
func (d *reader) readList(msg protoreflect.Message, f *field, top bool) error {
	if !d.expectKind('[', "a list") {
		return d.dec.SkipValue()
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	list := msg.Mutable(f.fd).List()
	for i := 0; d.dec.PeekKind() != ']'; i++ {
		if i == f.limit {
			return d.skipRest(f, ']')
		}
		d.path = append(d.path, segment{index: i})
		from := int(d.dec.InputOffset())
		var it *item
		if top && f.form == formMessage {
			it = &item{}
		}
		if err := d.readEntry(list, f, it); err != nil {
			return err
		}
		if it != nil {
			it.start, it.end = skipSeparators(d.report.raw, from), int(d.dec.InputOffset())
			if d.report.items == nil {
				d.report.items = make(map[string][]item, 1)
			}
			d.report.items[f.json] = append(d.report.items[f.json], *it)
		}
		d.pop()
	}
	_, err := d.dec.ReadToken()
	return err
}

// readEntry reads one JSON list entry and appends it to list. An invalid entry is appended empty, so that later entries keep their index.
// If the parameter it is not nil, its mask gets the fields that the entry contains. The returned error means that the JSON is broken; an
// invalid value is only recorded.
func (d *reader) readEntry(list protoreflect.List, f *field, it *item) error {
	if f.form == formMessage {
		el := list.AppendMutable().Message()
		if !d.expectKind('{', "an object") {
			return d.dec.SkipValue()
		}
		if it != nil {
			return d.readMessage(el, "", &it.mask)
		}
		return d.readMessage(el, "", nil)
	}
	zero := list.NewElement()
	v, ok, err := d.readSingle(f, zero)
	if !ok {
		v = zero
	}
	list.Append(v)
	return err
}

// readMap reads a JSON object into the map field f of msg. It leaves out entries with an invalid or repeated key or a value of a wrong
// type, and those beyond the limit, and records an error. The returned error means that the JSON is broken.
func (d *reader) readMap(msg protoreflect.Message, f *field) error {
	if !d.expectKind('{', "an object") {
		return d.dec.SkipValue()
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	m := msg.Mutable(f.fd).Map()
	for i := 0; d.dec.PeekKind() != '}'; i++ {
		if i == f.limit {
			return d.skipRest(f, '}')
		}
		raw, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		name, ok := d.readText(raw, nil)
		if !ok {
			if err := d.dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		d.push(name)
		key, ok := parseMapKey(f.fd.MapKey(), name)
		if !ok {
			d.addError(fault.WrongType, "is not a valid key of this map")
			if err := d.skipField(); err != nil {
				return err
			}
			continue
		}
		if m.Has(key) {
			d.addError(fault.Duplicate, "is named twice")
			if err := d.skipField(); err != nil {
				return err
			}
			continue
		}
		v := m.NewValue()
		if f.form == formMessage {
			ok = d.expectKind('{', "an object")
			if ok {
				err = d.readMessage(v.Message(), "", nil)
			} else {
				err = d.dec.SkipValue()
			}
		} else {
			v, ok, err = d.readSingle(f, v)
		}
		if err != nil {
			return err
		}
		if ok {
			m.Set(key, v)
		}
		d.pop()
	}
	_, err := d.dec.ReadToken()
	return err
}

// skipRest reports that a list or map is too long, and skips the remaining entries without allocating memory. end is the closing bracket of
// the list or map.
func (d *reader) skipRest(f *field, end jsontext.Kind) error {
	d.report.addOversized(TooMany(d.currentPath(), f.limit))
	for d.dec.PeekKind() != end {
		if err := d.dec.SkipValue(); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

// parseMapKey converts the name of a JSON member to a map key of the type fd. It returns false if the name is not a key of that type.
func parseMapKey(fd protoreflect.FieldDescriptor, name string) (protoreflect.MapKey, bool) {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(name).MapKey(), true
	case protoreflect.BoolKind:
		b, err := strconv.ParseBool(name)
		return protoreflect.ValueOfBool(b).MapKey(), err == nil
	default:
		v, problem := parseInteger(fd.Kind(), []byte(name))
		if problem.message != "" {
			return protoreflect.MapKey{}, false
		}
		return v.MapKey(), true
	}
}

// skipSeparators returns the offset of the first JSON value in raw at or after the offset at.
func skipSeparators(raw []byte, at int) int {
	for at < len(raw) && strings.IndexByte(" \t\r\n,:", raw[at]) >= 0 {
		at++
	}
	return at
}
