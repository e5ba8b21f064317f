package body

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/reflect/protoreflect"

	"latchkey.dev/internal/fault"
)

// maxDepth bounds how deep a value may nest, far below what a stack could bear.
const maxDepth = 64

// names is the number of fields of a message for which a name sent twice is noticed.
const names = 256

// Decode reads a JSON object into a message and reports what it found. Unknown names are
// skipped; a value of a wrong type leaves its field unset and is reported, and reading goes
// on. What is no JSON object at all becomes the report's Fault. An empty body is an object
// without fields.
func Decode(raw []byte, msg protoreflect.Message, r *Report) {
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	r.raw = raw
	if len(bytes.TrimSpace(raw)) == 0 {
		return
	}
	d := readers.Get().(*reader)
	defer d.release()
	d.start(raw, r)
	if err := d.document(msg); err != nil {
		r.Fault = badJSON(raw, err)
	}
}

var readers = sync.Pool{New: func() any { return &reader{dec: jsontext.NewDecoder(bytes.NewReader(nil))} }}

type reader struct {
	dec    *jsontext.Decoder
	src    *bytes.Buffer
	report *Report
	path   []segment
	values int // of google.protobuf.Value that were read
}

// segment is one step of a path: a name, or an index when name is empty.
type segment struct {
	name  string
	index int
}

func (d *reader) start(raw []byte, r *Report) {
	d.src = bytes.NewBuffer(raw)
	d.dec.Reset(d.src, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	d.report, d.path, d.values = r, d.path[:0], 0
}

func (d *reader) release() {
	d.report, d.src = nil, nil
	d.dec.Reset(bytes.NewReader(nil))
	readers.Put(d)
}

func (d *reader) document(msg protoreflect.Message) error {
	if kind := d.dec.PeekKind(); kind != '{' {
		if _, err := d.dec.ReadValue(); err != nil {
			return err
		}
		return errNotObject
	}
	if err := d.message(msg, "", &d.report.mask); err != nil {
		return err
	}
	if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errTrailing
	}
	return nil
}

var (
	errNotObject = errors.New("a JSON object was expected")
	errTrailing  = errors.New("there is more after the JSON object")
)

// badJSON says where the body stops being JSON, never what stands there.
func badJSON(raw []byte, err error) *fault.Fault {
	if errors.Is(err, errNotObject) || errors.Is(err, errTrailing) {
		return fault.New(fault.Invalid, fault.BadJSON, "the body is not one JSON object: %v", err)
	}
	at := int64(len(raw))
	cause := err
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		at, cause = min(syntax.ByteOffset, at), syntax.Err
	}
	before := raw[:at]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	what := "syntax error"
	if errors.Is(cause, io.ErrUnexpectedEOF) || errors.Is(cause, io.EOF) {
		what = "it ends too early"
	}
	return fault.New(fault.Invalid, fault.BadJSON, "the body is not valid JSON: %s at line %d, column %d (byte offset %d)", what, line, column, at)
}

// message reads an object into msg. Named fields are put into mask under prefix, which ends
// in a dot; a nil mask keeps none.
func (d *reader) message(msg protoreflect.Message, prefix string, mask *[]string) error {
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	p := planOf(msg.Descriptor())
	var seen [names / 64]uint64
	for d.dec.PeekKind() != '}' {
		f, name, err := d.name(p)
		if err != nil {
			return err
		}
		if f == nil {
			if d.report.unknownName() {
				d.report.unknown(d.where(), string(name))
			}
			if err := d.dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		d.push(f.json)
		if f.index < names {
			word, bit := f.index/64, uint64(1)<<(f.index%64)
			if seen[word]&bit != 0 {
				d.wrong(fault.Duplicate, "is named twice")
				if err := d.skip(); err != nil {
					return err
				}
				continue
			}
			seen[word] |= bit
		}
		if err := d.member(msg, f, prefix, mask); err != nil {
			return err
		}
		d.pop()
	}
	_, err := d.dec.ReadToken()
	return err
}

// name reads a member's name, as long as the decoder does not read on; a nil field stands for one that is unknown.
func (d *reader) name(p *plan) (*field, []byte, error) {
	raw, err := d.dec.ReadValue()
	if err != nil {
		return nil, nil, err
	}
	plain := []byte(raw[1 : len(raw)-1])
	if bytes.IndexByte(raw, '\\') >= 0 {
		unquoted, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return nil, plain, nil //nolint:nilerr // a name that is no text is a name nobody knows
		}
		plain = unquoted
	}
	return p.fields[string(plain)], plain, nil
}

// skip passes over the value of the field on top of the path and leaves that field.
func (d *reader) skip() error {
	d.pop()
	return d.dec.SkipValue()
}

func (d *reader) member(msg protoreflect.Message, f *field, prefix string, mask *[]string) error {
	if d.dec.PeekKind() == 'n' && f.form != formValue {
		note(mask, prefix, f)
		_, err := d.dec.ReadToken()
		return err
	}
	if f.oneof != nil {
		if other := msg.WhichOneof(f.oneof); other != nil {
			d.wrong(fault.Conflicting, "cannot be sent together with "+other.JSONName())
			return d.dec.SkipValue()
		}
	}
	switch {
	case f.fd.IsMap():
		note(mask, prefix, f)
		return d.mapping(msg, f)
	case f.fd.IsList():
		note(mask, prefix, f)
		return d.list(msg, f, mask == &d.report.mask && prefix == "")
	case f.form == formMessage:
		if !d.expect('{', "an object") {
			return d.dec.SkipValue()
		}
		below := ""
		if mask != nil {
			below = prefix + f.proto + "."
		}
		return d.message(msg.Mutable(f.fd).Message(), below, mask)
	default:
		note(mask, prefix, f)
		v, ok, err := d.single(f, msg.NewField(f.fd))
		if ok {
			msg.Set(f.fd, v)
		}
		return err
	}
}

func note(mask *[]string, prefix string, f *field) {
	if mask != nil {
		*mask = append(*mask, prefix+f.proto)
	}
}

// list reads an array. At the top of the body each entry that is an object gets a mask of
// its own.
func (d *reader) list(msg protoreflect.Message, f *field, top bool) error {
	if !d.expect('[', "a list") {
		return d.dec.SkipValue()
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	list := msg.Mutable(f.fd).List()
	for i := 0; d.dec.PeekKind() != ']'; i++ {
		if i == f.most {
			return d.tooMany(f, ']')
		}
		d.path = append(d.path, segment{index: i})
		from := int(d.dec.InputOffset())
		var it *item
		if top && f.form == formMessage {
			it = &item{}
		}
		if err := d.entry(list, f, it); err != nil {
			return err
		}
		if it != nil {
			it.start, it.end = valueStart(d.report.raw, from), int(d.dec.InputOffset())
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

// entry reads one entry. A wrong one is still appended, empty, so that the places of those
// after it stay what the caller sees.
func (d *reader) entry(list protoreflect.List, f *field, it *item) error {
	if f.form == formMessage {
		el := list.AppendMutable().Message()
		if !d.expect('{', "an object") {
			return d.dec.SkipValue()
		}
		if it != nil {
			return d.message(el, "", &it.mask)
		}
		return d.message(el, "", nil)
	}
	zero := list.NewElement()
	v, ok, err := d.single(f, zero)
	if !ok {
		v = zero
	}
	list.Append(v)
	return err
}

func (d *reader) mapping(msg protoreflect.Message, f *field) error {
	if !d.expect('{', "an object") {
		return d.dec.SkipValue()
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	m := msg.Mutable(f.fd).Map()
	for i := 0; d.dec.PeekKind() != '}'; i++ {
		if i == f.most {
			return d.tooMany(f, '}')
		}
		raw, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		name, ok := d.text(raw)
		if !ok {
			if err := d.dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		d.push(name)
		key, ok := mapKey(f.fd.MapKey(), name)
		if !ok {
			d.wrong(fault.WrongType, "is no valid key of this map")
			if err := d.skip(); err != nil {
				return err
			}
			continue
		}
		if m.Has(key) {
			d.wrong(fault.Duplicate, "is named twice")
			if err := d.skip(); err != nil {
				return err
			}
			continue
		}
		v := m.NewValue()
		if f.form == formMessage {
			ok = d.expect('{', "an object")
			if ok {
				err = d.message(v.Message(), "", nil)
			} else {
				err = d.dec.SkipValue()
			}
		} else {
			v, ok, err = d.single(f, v)
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

// tooMany notes that a list or a map holds more entries than it may, and passes over the rest of it. Nothing is allocated for
// what is not read.
func (d *reader) tooMany(f *field, end jsontext.Kind) error {
	d.report.tooMany(TooMany(d.where(), f.most))
	for d.dec.PeekKind() != end {
		if err := d.dec.SkipValue(); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

func mapKey(fd protoreflect.FieldDescriptor, name string) (protoreflect.MapKey, bool) {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(name).MapKey(), true
	case protoreflect.BoolKind:
		b, err := strconv.ParseBool(name)
		return protoreflect.ValueOfBool(b).MapKey(), err == nil
	default:
		v, problem := integer(fd.Kind(), []byte(name))
		if problem.message != "" {
			return protoreflect.MapKey{}, false
		}
		return v.MapKey(), true
	}
}

// expect reports whether the next value begins with the given kind and is not too deep; it
// notes an error when not, and the caller passes over the value.
func (d *reader) expect(kind jsontext.Kind, what string) bool {
	switch {
	case d.dec.PeekKind() != kind:
		d.wrong(fault.WrongType, "must be "+what)
		return false
	case d.dec.StackDepth() >= maxDepth:
		d.wrong(fault.WrongType, "is nested too deep")
		return false
	}
	return true
}

func (d *reader) push(name string) { d.path = append(d.path, segment{name: name}) }
func (d *reader) pop()             { d.path = d.path[:len(d.path)-1] }

func (d *reader) wrong(reason fault.Reason, message string) {
	if d.report.wrongValue() {
		d.report.add(fault.Field{Path: d.where(), Reason: reason, Message: message})
	}
}

func (d *reader) where() string {
	var b strings.Builder
	for i, s := range d.path {
		switch {
		case s.name == "":
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(s.index))
			b.WriteByte(']')
		case i > 0:
			b.WriteByte('.')
			b.WriteString(s.name)
		default:
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// valueStart skips what stands between two values.
func valueStart(raw []byte, at int) int {
	for at < len(raw) && strings.IndexByte(" \t\r\n,:", raw[at]) >= 0 {
		at++
	}
	return at
}
