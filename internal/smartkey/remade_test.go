package smartkey

import (
	"bytes"
	"crypto/ecdsa"
	"fmt"
	"maps"
	"slices"

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
// that looks at the size first says malformed.
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

// firstTwice repeats the first member of an encoded map, in order.
func (w *world) firstTwice(encoded []byte) []byte {
	w.tb.Helper()
	rest := encoded[1:]
	for range 2 {
		var item cbor.RawMessage
		rest = must(cbor.UnmarshalFirst(rest, &item))(w.tb)
	}
	pair := encoded[1 : len(encoded)-len(rest)]
	return slices.Concat([]byte{encoded[0] + 1}, pair, pair, rest)
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
		{"an unknown member of the header, in order", Malformed, head(17, 0)},
		{"alg twice, in order", Malformed, alone(func(d *envelope) { d.Protected = w.firstTwice(d.Protected) })},
		{"an unknown claim, in order", Malformed, make1(func(_, c members) { c[99] = 0 })},
		{"a claim twice, in order", Malformed, alone(func(d *envelope) { d.Payload = w.firstTwice(d.Payload) })},
		{"a claim twice, in order, with another value", Malformed, alone(func(d *envelope) {
			d.Payload = append(w.firstTwice(d.Payload)[:1], append([]byte{doc.Payload[1], 0}, doc.Payload[1:]...)...)
			d.Payload[0] = doc.Payload[0] + 1
		})},
		{"signature of 63 bytes", Malformed, signature(doc.Signature[:63])},
		{"signature of zeros", BadSignature, signature(make([]byte, 64))},
		{"a signature whose s is 0", BadSignature, signature(append(bytes.Clone(doc.Signature[:32]), make([]byte, 32)...))},
		{"a byte after it", Malformed, append(bytes.Clone(raw), 0)},
	}
	if limit < MaxListSize { // the largest list has cases of its own
		steps = append(steps,
			step{"alg of P-384, as large as allowed", UnsupportedAlgorithm, w.padded(raw, key, limit)},
			step{"alg of P-384, a byte larger than allowed", Malformed, w.padded(raw, key, limit+1)})
	}
	var claims members
	must(0, cbor.Unmarshal(doc.Payload, &claims))(w.tb)
	for _, label := range slices.Sorted(maps.Keys(claims)) {
		steps = append(steps, step{fmt.Sprintf("claim %d is missing", label), Malformed, make1(func(_, c members) { delete(c, label) })})
		if label == 6 || label == 4 || label == -65540 {
			steps = append(steps, step{fmt.Sprintf("claim %d beyond 53 bits", label), Malformed, make1(func(_, c members) { c[label] = uint64(1) << 53 })})
			steps = append(steps, step{fmt.Sprintf("claim %d below 0", label), Malformed, make1(func(_, c members) { c[label] = -1 })})
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
		"y as a sign":               members{1: 2, -1: 1, -2: x, -3: true}, "off the curve": key(2, 1, x, off), "a key id inside": more,
	}
}
