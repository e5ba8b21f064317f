package jsonpb

import (
	"strconv"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"latchkey.dev/internal/fault"
)

// defaultEntries is the maximum length of a list without a max_items rule, such as google.protobuf.FieldMask.paths.
const defaultEntries = 256

// MaxEntries returns the maximum length of a list or map field: its rule max_items or max_pairs, or else defaultEntries.
func MaxEntries(fd protoreflect.FieldDescriptor) int {
	if f := planOf(fd.ContainingMessage()).byNumber(fd.Number()); f != nil {
		return f.limit
	}
	return defaultEntries
}

// maxEntries computes [MaxEntries] from the rules in the proto file. planOf caches the result.
func maxEntries(fd protoreflect.FieldDescriptor) int {
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	n := rules.GetRepeated().GetMaxItems()
	if fd.IsMap() {
		n = rules.GetMap().GetMaxPairs()
	}
	if n == 0 {
		return defaultEntries
	}
	return int(min(n, 1<<20))
}

// TooMany returns the error for a list or map with more than limit entries.
func TooMany(path string, limit int) fault.Field {
	return fault.Field{Path: path, Reason: fault.TooMany, Message: "must hold at most " + strconv.Itoa(limit) + " entries"}
}

// Size is the result of Measure for an encoded protobuf message.
type Size struct {
	// Entries is the number of entries in all lists and maps that Measure has reached.
	Entries int
	// Oversized lists the lists and maps with more than twice their maximum number of entries. Smaller excesses are left to validation,
	// which can name the batch item.
	Oversized []fault.Field
}

// Measure counts the list and map entries of an encoded message before it is decoded, because two encoded bytes can take a hundred bytes of
// memory after decoding. Once a list is oversized, it skips deeper messages. It stops at a malformed field, like decoding, which reports it:
// everything before that field is decoded, so it counts.
func Measure(raw []byte, md protoreflect.MessageDescriptor) Size {
	var m measurer
	m.measureMessage(raw, planOf(md))
	return m.Size
}

const (
	// maxLists is the maximum number of list and map fields of a request message. A test checks that all messages stay below it.
	maxLists = 16
	// maxOversized bounds how many oversized lists are reported.
	maxOversized = 16
)

// maxNesting is the depth to which Measure descends. It does not count the entries of deeper messages. All API messages are less deep.
const maxNesting = 16

// measurer counts the list and map entries of one encoded message, for Measure.
type measurer struct {
	Size
	path  [maxNesting]pathStep // path of the nested message that is being measured
	depth int
}

// pathStep is one step of a path: a field, and the entry's index if the field is a list or map.
type pathStep struct {
	field *field
	index int
}

// measureMessage adds the entries of an encoded message, up to the first malformed field, and of the messages in it, to the result. p is the
// plan of the message's type.
func (m *measurer) measureMessage(raw []byte, p *plan) {
	var counts [maxLists]int
	var seen, multiple [maxTrackedFields / 64]uint64 // bit sets by field.index: singular message fields that occur, and more than once
	for rest := raw; len(rest) > 0; {
		f, kind, value, n := readField(rest, p)
		if n < 0 {
			break
		}
		rest = rest[n:]
		switch {
		case f == nil:
		case f.list > 0:
			counts[f.list-1] += countEntries(f, kind, value)
		case f.value.Message() != nil && f.index < maxTrackedFields:
			word, bit := f.index/64, uint64(1)<<(f.index%64)
			multiple[word] |= seen[word] & bit
			seen[word] |= bit
		}
	}
	for i, n := range counts[:len(p.lists)] {
		m.Entries += n
		if f := p.lists[i]; n > 2*f.limit && len(m.Oversized) < maxOversized {
			m.Oversized = append(m.Oversized, TooMany(m.pathOf(f), f.limit))
		}
	}
	if len(m.Oversized) == 0 && p.nested {
		m.measureNested(raw, p, &multiple)
	}
}

// measureNested adds the entries of the messages that a message contains to the result. multiple is the bit set of the singular message
// fields that occur more than once. The occurrences of such a field are measured as one message, because decoding merges them.
func (m *measurer) measureNested(raw []byte, p *plan, multiple *[maxTrackedFields / 64]uint64) {
	var counts [maxLists]int
	for rest := raw; len(rest) > 0; {
		f, kind, value, n := readField(rest, p)
		if n < 0 {
			break
		}
		rest = rest[n:]
		if f == nil || f.nestedPlan == nil || kind != protowire.BytesType {
			continue
		}
		at := pathStep{field: f}
		switch {
		case f.list > 0:
			at.index = counts[f.list-1]
			counts[f.list-1]++
		case f.index >= maxTrackedFields:
			continue
		case multiple[f.index/64]&(1<<(f.index%64)) != 0:
			continue
		}
		m.descend(at, value)
	}
	// Decoding merges repeated occurrences of a singular message field as if their bytes were concatenated, so the concatenation is
	// measured.
	for word, bits := range multiple {
		for i := 0; bits != 0; i, bits = i+1, bits>>1 {
			if f := p.ordered[word*64+i]; bits&1 != 0 && f.nestedPlan != nil {
				m.descend(pathStep{field: f}, concatOccurrences(raw, p, f))
			}
		}
	}
}

// descend adds the entries of the nested message raw, at a step below the current path, to the result. It ignores messages that are nested
// deeper than maxNesting.
func (m *measurer) descend(at pathStep, raw []byte) {
	if m.depth == maxNesting {
		return
	}
	m.path[m.depth] = at
	m.depth++
	m.measureMessage(raw, at.field.nestedPlan())
	m.depth--
}

// pathOf returns the JSON path of a field of the message that is being measured.
func (m *measurer) pathOf(f *field) string {
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

// readField reads one field of an encoded message. It returns the field, its wire type, its value without length prefix, and the number of
// bytes read, which is negative if raw is invalid. f is nil for an unknown field.
func readField(raw []byte, p *plan) (f *field, kind protowire.Type, value []byte, n int) {
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

// countEntries counts the entries in one occurrence of a list or map field: one, several for a packed list of numbers, or 0 for a text or
// message with a wire type that decoding ignores.
func countEntries(f *field, kind protowire.Type, value []byte) int {
	packed := kind == protowire.BytesType
	switch f.value.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind, protoreflect.GroupKind:
		if packed {
			return 1
		}
		return 0 // no entry: decoding treats a text or message that is not length-delimited as an unknown field
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

// concatOccurrences concatenates the contents of all occurrences of a message field, because decoding merges them into one message. It
// returns nil without an occurrence, and ends at the first malformed field.
func concatOccurrences(raw []byte, p *plan, of *field) []byte {
	var all []byte
	for len(raw) > 0 {
		f, kind, value, n := readField(raw, p)
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
