package smartkey

import (
	"bytes"
	"crypto/ecdsa"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// members is a map of a document whose values can be of any type.
type members = map[int64]any

// remake signs a document again after its header and its claims were changed. Members stay in deterministic order.
func (w *world) remake(raw []byte, key *ecdsa.PrivateKey, change func(head, claims members)) []byte {
	w.tb.Helper()
	doc, ok := decodeExact[envelope](raw[1:])
	if !ok {
		w.tb.Fatal("not a COSE_Sign1")
	}
	var head, claims members
	must(0, cbor.Unmarshal(doc.Protected, &head))(w.tb)
	must(0, cbor.Unmarshal(doc.Payload, &claims))(w.tb)
	change(head, claims)
	doc.Protected, doc.Payload = mustEncode(head), mustEncode(claims)
	return w.sealed(doc, key)
}

// sealed signs a document whatever it holds.
func (w *world) sealed(doc envelope, key *ecdsa.PrivateKey) []byte {
	w.tb.Helper()
	doc.Signature = must(es256Signer{key}.Sign(nil, mustEncode([]any{"Signature1", doc.Protected, []byte{}, doc.Payload})))(w.tb)
	return append([]byte{tagSign1}, mustEncode(doc)...)
}

// padded is a document of exactly size bytes under an algorithm that is not supported: a reader that looks inside says so, one
// that checks the size first says malformed.
func (w *world) padded(raw []byte, key *ecdsa.PrivateKey, size int) []byte {
	w.tb.Helper()
	out := w.remake(raw, key, func(head, _ members) { head[1] = -35 })
	for range 4 {
		doc, _ := decodeExact[envelope](out[1:])
		if grown := len(doc.Payload) + size - len(out); grown >= 0 {
			doc.Payload = append(doc.Payload, make([]byte, max(0, grown-len(doc.Payload)))...)[:grown]
		}
		out = w.sealed(doc, key)
	}
	if len(out) != size {
		w.tb.Fatal(fmt.Sprintf("%d bytes, want %d", len(out), size))
	}
	return out
}

// pair is an encoded member of a map: its label and its value.
type pair struct{ label, value []byte }

func (w *world) pairs(encoded []byte) (pairs []pair) {
	w.tb.Helper()
	for rest := encoded[1:]; len(rest) > 0; {
		var label, value cbor.RawMessage
		rest = must(cbor.UnmarshalFirst(rest, &label))(w.tb)
		rest = must(cbor.UnmarshalFirst(rest, &value))(w.tb)
		pairs = append(pairs, pair{label, value})
	}
	return pairs
}

// otherMaps are encodings of a map, or of one with a member twice, that a reader must refuse. The members keep their order
// unless the name says otherwise.
func (w *world) otherMaps(encoded []byte) []step {
	good := w.pairs(encoded)
	with := func(pairs ...pair) []byte {
		out := []byte{0xa0 + byte(len(pairs))}
		for _, p := range pairs {
			out = slices.Concat(out, p.label, p.value)
		}
		return out
	}
	first, last := good[0], good[len(good)-1]
	return []step{
		{"a member twice", Malformed, with(slices.Concat([]pair{first}, good)...)},
		{"a member twice, with another value", Malformed, with(slices.Concat([]pair{{first.label, []byte{0}}}, good)...)},
		{"the last member twice", Malformed, with(append(slices.Clone(good), last)...)},
		{"two members in the wrong order", Malformed, with(slices.Concat([]pair{good[1], first}, good[2:])...)},
		{"without a length", Malformed, slices.Concat([]byte{0xbf}, encoded[1:], []byte{0xff})},
		{"its length in a byte of its own", Malformed, slices.Concat([]byte{0xb8, byte(len(good))}, encoded[1:])},
		{"a label in two bytes", Malformed, slices.Concat(encoded[:1], []byte{0x18}, encoded[1:])},
		{"a tagged value", Malformed, slices.Concat(encoded[:1], first.label, []byte{0xc1}, encoded[1+len(first.label):])},
		{"null for a value", Malformed, with(slices.Concat([]pair{{first.label, []byte{0xf6}}}, good[1:])...)},
		{"an array of its members", Malformed, slices.Concat([]byte{0x80 + byte(2*len(good))}, encoded[1:])},
		{"a byte after its members", Malformed, append(bytes.Clone(encoded), 0)},
	}
}

// oddities returns a signed document with one thing wrong at a time, as every kind of document can have it.
func (w *world) oddities(raw []byte, key *ecdsa.PrivateKey, limit int) []step {
	w.tb.Helper()
	doc, _ := decodeExact[envelope](raw[1:])
	make1 := func(change func(head, claims members)) []byte { return w.remake(raw, key, change) }
	head := func(label int64, value any) []byte { return make1(func(h, _ members) { h[label] = value }) }
	alone := func(change func(*envelope)) []byte { d := doc; change(&d); return w.sealed(d, key) }
	signature := func(sig []byte) []byte {
		d := doc
		d.Signature = sig
		return append([]byte{tagSign1}, mustEncode(d)...)
	}
	steps := []step{
		{"tag 17", Malformed, append([]byte{0xd1}, raw[1:]...)},
		{"alg is missing", Malformed, make1(func(h, _ members) { delete(h, 1) })},
		{"alg as text", Malformed, head(1, "ES256")},
		{"alg of P-384", UnsupportedAlgorithm, head(1, -35)},
		{"alg of P-384 and another typ", Malformed, make1(func(h, _ members) { h[1] = -35; h[16] = "application/cwt" })},
		{"alg of P-384 and a signature of 96 bytes", UnsupportedAlgorithm, func() []byte {
			d, _ := decodeExact[envelope](head(1, -35)[1:])
			d.Signature = make([]byte, 96)
			return append([]byte{tagSign1}, mustEncode(d)...)
		}()},
		{"another typ", Malformed, head(16, "application/cwt")},
		{"typ is missing", Malformed, make1(func(h, _ members) { delete(h, 16) })},
		{"kid is missing", Malformed, make1(func(h, _ members) { delete(h, 4) })},
		{"kid of 7 bytes", Malformed, head(4, make([]byte, 7))},
		{"kid of 9 bytes", Malformed, head(4, append(bytes.Clone(doc.Protected[5:13]), 0))},
		{"kid as text", Malformed, head(4, "8 bytes!")},
		{"typ as a number", Malformed, head(16, 61)},
		{"tag 18 in two bytes", Malformed, slices.Concat([]byte{0xd8, 18}, raw[1:])},
		{"a CWT tag around it", Malformed, slices.Concat([]byte{0xd8, 61}, raw)},
		{"an array of five", Malformed, slices.Concat([]byte{tagSign1, 0x85}, raw[2:], []byte{0xf6})},
		{"a member in the unprotected header", Malformed, slices.Concat(raw[:2], mustEncode(doc.Protected), []byte{0xa1, 0x04, 0x41, 0x01}, mustEncode(doc.Payload), mustEncode(doc.Signature))},
		{"no payload", Malformed, slices.Concat(raw[:2], mustEncode(doc.Protected), []byte{0xa0, 0xf6}, mustEncode(doc.Signature))},
		{"signature of 65 bytes", Malformed, signature(append(bytes.Clone(doc.Signature), 0))},
		{"an unknown member of the header, in order", Malformed, head(17, 0)},
		{"an unknown claim, in order", Malformed, make1(func(_, c members) { c[99] = 0 })},
		{"signature of 63 bytes", Malformed, signature(doc.Signature[:63])},
		{"signature of zeros", BadSignature, signature(make([]byte, 64))},
		{"a signature whose s is 0", BadSignature, signature(append(bytes.Clone(doc.Signature[:32]), make([]byte, 32)...))},
		{"a byte after it", Malformed, append(bytes.Clone(raw), 0)},
	}
	for _, f := range w.otherMaps(doc.Protected) {
		steps = append(steps, step{"header: " + f.name, Malformed, alone(func(d *envelope) { d.Protected = f.raw })})
	}
	for _, f := range w.otherMaps(doc.Payload) {
		steps = append(steps, step{"claims: " + f.name, Malformed, alone(func(d *envelope) { d.Payload = f.raw })})
	}
	for _, odd := range []struct {
		name  string
		value any
	}{{"a float", float64(noon.Unix())}, {"text", "1795262400"}, {"nine bytes", cbor.RawMessage(slices.Concat([]byte{0x1b, 0, 0, 0, 0}, mustEncode(noon.Unix())[1:]))}} {
		steps = append(steps, step{"iat as " + odd.name, Malformed, make1(func(_, c members) { c[6] = odd.value })})
	}
	if limit < MaxListSize { // the largest list has cases of its own
		steps = append(steps,
			step{"alg of P-384, as large as allowed", UnsupportedAlgorithm, w.padded(raw, key, limit)},
			step{"alg of P-384, a byte larger than allowed", Malformed, w.padded(raw, key, limit+1)})
	}
	var claims members
	must(0, cbor.Unmarshal(doc.Payload, &claims))(w.tb)
	for _, label := range slices.Sorted(maps.Keys(claims)) {
		claim := func(name string, want Reason, change func(c members)) {
			steps = append(steps, step{fmt.Sprintf("claim %d %s", label, name), want, make1(func(_, c members) { change(c) })})
		}
		claim("is missing", Malformed, func(c members) { delete(c, label) })
		claim("is a boolean", Malformed, func(c members) { c[label] = true })
		if label == 6 || label == 4 || label == -65540 {
			claim("beyond 53 bits", Malformed, func(c members) { c[label] = uint64(1) << 53 })
			claim("below 0", Malformed, func(c members) { c[label] = -1 })
		}
		if _, isText := claims[label].(string); isText {
			length, want := maxName, Malformed
			switch isList := limit == MaxListSize; {
			case isList && label == 1:
				want = UnknownIssuer // a list of another property is refused before its limits are checked
			case isList:
				length = maxURI
			}
			claim("is empty", want, func(c members) { c[label] = "" })
			claim("is a byte too long", want, func(c members) { c[label] = strings.Repeat("x", length+1) })
			claim("has a space", want, func(c members) { c[label] = "a b" })
			claim("has byte 0x7f", want, func(c members) { c[label] = "a\x7f" })
			claim("is beyond ASCII", want, func(c members) { c[label] = "é" })
		}
	}
	return steps
}

// oddKeys are COSE_Keys that are none of this format, by name.
func oddKeys(k PublicKey) map[string]any {
	point := k.Uncompressed()
	key := func(kty, crv any, x, y []byte) map[int64]any { return members{1: kty, -1: crv, -2: x, -3: y} }
	x, y := point[1:33], point[33:]
	more := key(2, 1, x, y)
	more[2] = []byte{1}
	off := bytes.Clone(y)
	off[31] ^= 1
	return map[string]any{
		"kty 1": key(1, 1, x, y), "curve P-384": key(2, 2, x, y), "curve as text": key(2, "P-256", x, y),
		"x of 31 bytes": key(2, 1, x[1:], y), "x of 33 bytes": key(2, 1, append([]byte{0}, x...), y), "y of 33 bytes": key(2, 1, x, append([]byte{0}, y...)),
		"x of 33 bytes and y of 31": key(2, 1, point[1:34], point[34:]),
		"a compressed y":            members{1: 2, -1: 1, -2: x, -3: true}, "a point off the curve": key(2, 1, x, off), "a kid member": more,
	}
}
