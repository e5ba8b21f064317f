package body

import (
	"strconv"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"latchkey.dev/internal/fault"
)

// defaultEntries bounds a list whose field has no rule of its own, such as the paths of a google.protobuf.FieldMask.
const defaultEntries = 256

// MaxEntries returns how many entries a list or a map of a request may hold: max_items or max_pairs of its field's rule.
func MaxEntries(fd protoreflect.FieldDescriptor) int {
	if f := planOf(fd.ContainingMessage()).byNumber(fd.Number()); f != nil {
		return f.most
	}
	return defaultEntries
}

func maxEntries(fd protoreflect.FieldDescriptor) int {
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	n := rules.GetRepeated().GetMaxItems()
	if fd.IsMap() {
		n = rules.GetMap().GetMaxPairs()
	}
	if n == 0 {
		return defaultEntries
	}
	return int(min(n, 1<<20)) //nolint:gosec // bounded
}

// TooMany is the violation of a list or map at a path that holds more than most entries.
func TooMany(path string, most int) fault.Field {
	return fault.Field{Path: path, Reason: fault.TooMany, Message: "must hold at most " + strconv.Itoa(most) + " entries"}
}

// Size is what an encoded protobuf message will take to decode.
type Size struct {
	// Entries counts the entries of all lists and maps.
	Entries int
	// Oversized names the lists and maps that hold far more entries than they may: more than twice their limit. A list
	// that exceeds its limit by less is for the validation, which can tell to which item of a batch it belongs.
	Oversized []fault.Field
}

// Measure counts the entries of the lists and maps of an encoded message before anything is allocated for them: two bytes
// of a request can stand for an empty message of a hundred. It stops at the first few lists that are too long, and at bytes
// that are no protobuf, which decoding reports.
func Measure(raw []byte, md protoreflect.MessageDescriptor) Size {
	var m measurer
	m.message(raw, planOf(md))
	return m.Size
}

const (
	// maxLists is how many lists and maps a message of a request may have; a test holds the API to it.
	maxLists = 16
	// maxOversized bounds how many oversized lists are named.
	maxOversized = 16
)

// maxNesting bounds how deep a message is measured; those of the API are far less deep.
const maxNesting = 16

// measurer measures one message. It needs no memory beyond itself.
type measurer struct {
	Size
	path  [maxNesting]place // of the message that is measured now
	depth int
}

// place is one step to a message within another.
type place struct {
	field *field
	index int // of the entry, in a list
}

func (m *measurer) message(raw []byte, p *plan) {
	var counts [maxLists]int
	var seen, again [names / 64]uint64 // singular messages that occur, and that occur more than once
	for rest := raw; len(rest) > 0; {
		f, kind, value, n := next(rest, p)
		if n < 0 {
			return
		}
		rest = rest[n:]
		switch {
		case f == nil:
		case f.list > 0:
			counts[f.list-1] += entriesOf(f, kind, value)
		case f.value.Message() != nil && f.index < names:
			word, bit := f.index/64, uint64(1)<<(f.index%64)
			again[word] |= seen[word] & bit
			seen[word] |= bit
		}
	}
	for i, n := range counts[:len(p.lists)] {
		m.Entries += n
		if f := p.lists[i]; n > 2*f.most && len(m.Oversized) < maxOversized {
			m.Oversized = append(m.Oversized, TooMany(m.where(f), f.most))
		}
	}
	if len(m.Oversized) == 0 && p.nested {
		m.below(raw, p, &again)
	}
}

// below measures the messages within a message.
func (m *measurer) below(raw []byte, p *plan, again *[names / 64]uint64) {
	var counts [maxLists]int
	for rest := raw; len(rest) > 0; {
		f, kind, value, n := next(rest, p)
		if n < 0 {
			return
		}
		rest = rest[n:]
		if f == nil || f.below == nil || kind != protowire.BytesType {
			continue
		}
		at := place{field: f}
		switch {
		case f.list > 0:
			at.index = counts[f.list-1]
			counts[f.list-1]++
		case f.index >= names:
			continue
		case again[f.index/64]&(1<<(f.index%64)) != 0:
			continue
		}
		m.enter(at, value)
	}
	// Decoding merges the occurrences of one singular message as if their bytes stood one after the other.
	for word, bits := range again {
		for i := 0; bits != 0; i, bits = i+1, bits>>1 {
			if f := p.ordered[word*64+i]; bits&1 != 0 && f.below != nil {
				m.enter(place{field: f}, joined(raw, p, f))
			}
		}
	}
}

func (m *measurer) enter(at place, raw []byte) {
	if m.depth == maxNesting {
		return
	}
	m.path[m.depth] = at
	m.depth++
	m.message(raw, at.field.below())
	m.depth--
}

// where writes the path of a field of the message that is measured now, as JSON callers see it.
func (m *measurer) where(f *field) string {
	var b strings.Builder
	for _, at := range m.path[:m.depth] {
		b.WriteString(at.field.json)
		if at.field.list > 0 {
			b.WriteString("[" + strconv.Itoa(at.index) + "]")
		}
		b.WriteByte('.')
	}
	b.WriteString(f.json)
	return b.String()
}

// next reads one field of an encoded message: its value, of a length-delimited one the content, and how many bytes it took.
func next(raw []byte, p *plan) (f *field, kind protowire.Type, value []byte, n int) {
	number, kind, tag := protowire.ConsumeTag(raw)
	if tag < 0 {
		return nil, kind, nil, tag
	}
	if n = protowire.ConsumeFieldValue(number, kind, raw[tag:]); n < 0 {
		return nil, kind, nil, n
	}
	value = raw[tag : tag+n]
	if kind == protowire.BytesType {
		value, _ = protowire.ConsumeBytes(value)
	}
	return p.byNumber(number), kind, value, tag + n
}

// entriesOf counts the entries of one occurrence of a list: one, or those of a packed list of numbers.
func entriesOf(f *field, kind protowire.Type, value []byte) int {
	packed := kind == protowire.BytesType
	switch f.value.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind, protoreflect.GroupKind:
		if packed {
			return 1
		}
		return 0 // decoding takes it for an unknown field
	}
	if !packed || f.fd.IsMap() {
		return 1
	}
	switch f.value.Kind() {
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return len(value) / 4
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return len(value) / 8
	}
	n := 0
	for _, b := range value {
		if b < 0x80 {
			n++
		}
	}
	return n
}

// joined is the content of all occurrences of a field.
func joined(raw []byte, p *plan, of *field) []byte {
	var all []byte
	for len(raw) > 0 {
		f, kind, value, n := next(raw, p)
		if n < 0 {
			return all
		}
		raw = raw[n:]
		if f == of && kind == protowire.BytesType {
			all = append(all, value...)
		}
	}
	return all
}
