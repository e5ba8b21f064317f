package jsonpb

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

// maxDepth is the deepest nesting of JSON that is read.
const maxDepth = 64

// maxTrackedFields is the number of fields per message for which duplicate names are detected.
const maxTrackedFields = 256

// Decode reads a JSON object into a message and records in r what it finds. Unknown names are recorded and skipped. A value of a wrong type
// is recorded, and its field stays unset. The first of two equal names counts. If the input is not one valid JSON object, Report.Fault is
// set, and msg may be filled in part. An empty body is an empty object.
func Decode(raw []byte, msg protoreflect.Message, r *Report) {
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	r.raw = raw
	if len(bytes.TrimSpace(raw)) == 0 {
		return
	}
	d := readers.Get().(*reader)
	defer d.release()
	d.reset(raw, r)
	if err := d.readDocument(msg); err != nil {
		r.Fault = badJSON(raw, err)
	}
}

var readers = sync.Pool{New: func() any { return &reader{dec: jsontext.NewDecoder(bytes.NewReader(nil))} }}

// reader reads one JSON body into a message. Its methods record invalid values in the report, and return an error only if the JSON itself
// is broken. Readers are pooled.
type reader struct {
	dec    *jsontext.Decoder
	src    *bytes.Buffer
	report *Report
	path   []segment
	values int // number of google.protobuf.Value messages read so far: see countValue
}

// segment is one step of a JSON path: the index of a list entry, or, if index is negative, the name of a member. A name can be empty.
type segment struct {
	name  string
	index int
}

// reset prepares a pooled reader to read raw and to record what it finds in r.
func (d *reader) reset(raw []byte, r *Report) {
	d.src = bytes.NewBuffer(raw)
	d.dec.Reset(d.src, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	d.report, d.path, d.values = r, d.path[:0], 0
}

// release returns the reader to the pool. The reader must not be used afterwards.
func (d *reader) release() {
	d.report, d.src = nil, nil
	d.dec.Reset(bytes.NewReader(nil))
	readers.Put(d)
}

// readDocument reads the whole body into msg. It fails unless the body is exactly one JSON object.
func (d *reader) readDocument(msg protoreflect.Message) error {
	if kind := d.dec.PeekKind(); kind != '{' {
		if _, err := d.dec.ReadValue(); err != nil {
			return err
		}
		return errNotObject
	}
	if err := d.readMessage(msg, "", &d.report.mask); err != nil {
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

// badJSON returns an error with the position at which the body stops being valid JSON. It does not repeat the body.
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

// readMessage reads a JSON object into msg. It appends to mask the path of each field in the object: prefix and the field's name. prefix is
// "" or ends in a dot. A nil mask records nothing.
func (d *reader) readMessage(msg protoreflect.Message, prefix string, mask *[]string) error {
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	p := planOf(msg.Descriptor())
	var seen [maxTrackedFields / 64]uint64
	for d.dec.PeekKind() != '}' {
		f, name, err := d.readName(p)
		if err != nil {
			return err
		}
		if f == nil {
			if d.report.markUnknownName() {
				d.report.addUnknown(d.currentPath(), string(name), p)
			}
			if err := d.dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		d.push(f.json)
		if f.index < maxTrackedFields {
			word, bit := f.index/64, uint64(1)<<(f.index%64)
			if seen[word]&bit != 0 {
				d.addError(fault.Duplicate, "is named twice")
				if err := d.skipField(); err != nil {
					return err
				}
				continue
			}
			seen[word] |= bit
		}
		if err := d.readMember(msg, f, prefix, mask); err != nil {
			return err
		}
		d.pop()
	}
	_, err := d.dec.ReadToken()
	return err
}

// readName reads the name of an object member and finds its field in p, the plan of the message type. The field is nil if the name is
// unknown. The returned bytes are the name, and are valid until the next read.
func (d *reader) readName(p *plan) (*field, []byte, error) {
	raw, err := d.dec.ReadValue()
	if err != nil {
		return nil, nil, err
	}
	plain := []byte(raw[1 : len(raw)-1])
	if bytes.IndexByte(raw, '\\') >= 0 {
		unquoted, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return nil, plain, nil // a name with invalid UTF-8 counts as unknown
		}
		plain = unquoted
	}
	return p.fields[string(plain)], plain, nil
}

// skipField removes the last step of the path and skips the JSON value at it.
func (d *reader) skipField() error {
	d.pop()
	return d.dec.SkipValue()
}

// readMember reads the value of field f into msg and adds the field to the mask; of a message it adds the fields in the object instead. See
// readMessage for prefix and mask. The value null only adds the field to the mask, except for a field that can hold null. A second field of
// the same oneof is refused. Refusals are recorded in the report; the returned error means that the JSON cannot be read.
func (d *reader) readMember(msg protoreflect.Message, f *field, prefix string, mask *[]string) error {
	if d.dec.PeekKind() == 'n' && f.form != formValue {
		addToMask(mask, prefix, f)
		_, err := d.dec.ReadToken()
		return err
	}
	if f.oneof != nil {
		if other := msg.WhichOneof(f.oneof); other != nil {
			d.addError(fault.Conflicting, "cannot be sent together with "+other.JSONName())
			return d.dec.SkipValue()
		}
	}
	switch {
	case f.fd.IsMap():
		addToMask(mask, prefix, f)
		return d.readMap(msg, f)
	case f.fd.IsList():
		addToMask(mask, prefix, f)
		return d.readList(msg, f, mask == &d.report.mask && prefix == "")
	case f.form == formMessage:
		if !d.expectKind('{', "an object") {
			return d.dec.SkipValue()
		}
		below := ""
		if mask != nil {
			below = prefix + f.proto + "."
		}
		return d.readMessage(msg.Mutable(f.fd).Message(), below, mask)
	default:
		addToMask(mask, prefix, f)
		v, ok, err := d.readSingle(f, msg.NewField(f.fd))
		if ok {
			msg.Set(f.fd, v)
		}
		return err
	}
}

// addToMask appends the path of f to a field mask. It does nothing if mask is nil.
func addToMask(mask *[]string, prefix string, f *field) {
	if mask != nil {
		*mask = append(*mask, prefix+f.proto)
	}
}

// expectKind reports whether the next JSON value is of the given kind and not nested too deeply. If not, it records an error, and the
// caller must skip the value. what describes the kind in the error, such as "a list".
func (d *reader) expectKind(kind jsontext.Kind, what string) bool {
	switch {
	case d.dec.PeekKind() != kind:
		d.addError(fault.WrongType, "must be "+what)
		return false
	case d.dec.StackDepth() >= maxDepth:
		d.addError(fault.WrongType, "is nested too deep")
		return false
	}
	return true
}

// push appends a name to the JSON path of the value that is being read.
func (d *reader) push(name string) { d.path = append(d.path, segment{name, -1}) }

// pop removes the last step, a name or an index, from the JSON path of the value that is being read.
func (d *reader) pop() { d.path = d.path[:len(d.path)-1] }

// addError records an error about the value that is being read.
func (d *reader) addError(reason fault.Reason, message string) {
	if d.report.markWrongValue() {
		d.report.addError(fault.Field{Path: d.currentPath(), Reason: reason, Message: message})
	}
}

// currentPath returns the JSON path of the value that is being read, such as "reservations[2].pmsMeta.id".
func (d *reader) currentPath() string {
	var b strings.Builder
	for i, s := range d.path {
		switch {
		case s.index >= 0:
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
