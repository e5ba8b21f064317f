package e2e

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// odd generates invalid and unusual requests, the same for the same seed.
type odd struct{ *rand.Rand }

func newOdd(seed uint64) odd { return odd{rand.New(rand.NewPCG(seed, 0))} }

// A failing seed is worth nothing if it makes other requests the next time.
func TestOddRequestsAreTheSameForTheSameSeed(t *testing.T) {
	t.Parallel()
	raw := []byte(`{"a":{"b":[1,"2",null],"c":"x","d":{"e":1}},"f":"y","g":true,"h":0,"i":[],"j":"z"}`)
	for seed := range uint64(50) {
		if a, b := newOdd(seed).json(raw), newOdd(seed).json(raw); string(a) != string(b) {
			t.Fatalf("seed %d: %q, and then %q", seed, a, b)
		}
	}
}

func pick[T any](o odd, list []T) T { return list[o.IntN(len(list))] }

var oddTexts = []string{
	"", " ", "0", "-1", "null", "a\x00b", "\xff\xfe", "\xed\xa0\x80", "ü", "👩‍👧", "<script>", "'; DROP TABLE reservations;--", "%00", "%", "_", "../..", "{}", "[",
	"2026-02-30", "2026-01-01", "9999-12-31T23:59:59Z", "0000-00-00", "2026-01-01T00:00:00+99:99", "R101", "SHARED-1", "pin,pin,pin", "started", "canceled",
	"http://169.254.169.254/", "https://[::1]/", "rsv_01m7xyw0000000000000000000", "\u202e", "\ufeff", "NaN", "1e999", strings.Repeat("a", 300), strings.Repeat("ü", 2100),
}

// oddValues are nothing that json.Marshal cannot write, created again for each call, because callers modify them.
func oddValues() []any {
	return []any{
		nil, true, false, 0, -1, 1, 1.5, 1e308, -1e308, 5e-324, math.MaxInt32 + 1.0, math.MinInt64 * 1.0, []any{}, map[string]any{}, []any{nil}, []any{[]any{[]any{}}},
		map[string]any{"": ""}, map[string]any{"a": map[string]any{"b": []any{1, "2", nil}}},
	}
}

func (o odd) value() any {
	if o.IntN(2) == 0 {
		return pick(o, oddTexts)
	}
	return pick(o, oddValues())
}

// json changes a few places of a JSON document, or its text.
func (o odd) json(raw []byte) []byte {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return o.bytes(raw)
	}
	for range 1 + o.IntN(3) {
		v = o.change(v)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	if o.IntN(5) == 0 {
		return o.bytes(out)
	}
	return out
}

func (o odd) change(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if o.IntN(len(v)) > 0 {
				continue
			}
			switch o.IntN(4) {
			case 0:
				v[name] = o.value()
			case 1:
				delete(v, name)
			default:
				v[name] = o.change(v[name])
			}
			return v
		}
	case []any:
		if len(v) > 0 && o.IntN(3) > 0 {
			i := o.IntN(len(v))
			v[i] = o.change(v[i])
			return v
		}
		return append(v, o.value())
	}
	return o.value()
}

// bytes changes raw bytes.
func (o odd) bytes(raw []byte) []byte {
	out := append([]byte(nil), raw...)
	for range 1 + o.IntN(4) {
		switch at := o.IntN(len(out) + 1); {
		case len(out) == 0 || o.IntN(4) == 0:
			out = append(out[:at], append([]byte{byte(o.IntN(256))}, out[at:]...)...)
		case o.IntN(3) == 0:
			out = out[:at]
		case at < len(out):
			out[at] ^= 1 << o.IntN(8)
		}
	}
	return out
}

// fill sets fields of a message to odd values, each with a chance of one in two.
func (o odd) fill(m protoreflect.Message, depth int) {
	for i := range m.Descriptor().Fields().Len() {
		fd := m.Descriptor().Fields().Get(i)
		if o.IntN(2) == 0 || fd.IsMap() {
			continue
		}
		if fd.IsList() {
			list := m.Mutable(fd).List()
			for range o.IntN(3) {
				if fd.Message() == nil {
					list.Append(o.scalar(fd))
				} else if depth > 0 {
					o.fill(list.AppendMutable().Message(), depth-1)
				}
			}
			continue
		}
		if fd.Message() == nil {
			m.Set(fd, o.scalar(fd))
		} else if depth > 0 {
			o.fill(m.Mutable(fd).Message(), depth-1)
		}
	}
}

func (o odd) scalar(fd protoreflect.FieldDescriptor) protoreflect.Value {
	integer := pick(o, []int64{0, 1, -1, 50, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64})
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(o.IntN(2) == 0)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(integer))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(integer)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(integer))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(integer))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(math.Inf(int(integer % 2))))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(pick(o, []float64{0, -0.001, 12.5, 1e300, math.NaN(), math.Inf(1), math.Inf(-1)}))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(o.bytes([]byte("odd bytes of some length")))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(integer))
	default:
		return protoreflect.ValueOfString(pick(o, oddTexts))
	}
}

// proto makes a message of bytes: odd fields, and sometimes odd bytes.
func (o odd) proto(empty proto.Message, like []byte) []byte {
	if o.IntN(3) == 0 {
		return o.bytes(like)
	}
	m := proto.Clone(empty)
	o.fill(m.ProtoReflect(), 3)
	raw, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
	if err != nil { // broken UTF-8 is not written; it is reached by changing bytes
		return o.bytes(like)
	}
	return raw
}
