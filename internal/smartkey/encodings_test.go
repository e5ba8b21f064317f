package smartkey

import (
	"bytes"
	"encoding/hex"
	"maps"
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

func TestOneEncodingOnly(t *testing.T) {
	w := newWorld(t, 2)
	tests := otherEncodings(w)
	maps.Copy(tests, signedOddly(w))
	for name, raw := range tests {
		if _, err := w.trust.Keys.OpenToken(raw); ReasonOf(err) != Malformed {
			t.Errorf("%s: %v, want %s", name, err, Malformed)
		}
	}
}

// otherEncodings writes the phone's token in other ways that mean the same.
func otherEncodings(w *world) map[string][]byte {
	t := w.tb
	doc := must(readSign1(w.phone.token, typeToken, MaxTokenSize))(t)
	p, payload, sig := doc.Protected, doc.Payload, doc.Signature
	bstr := func(b []byte) []byte { return mustEncode(b) }
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	long := func(b []byte) []byte { return join([]byte{0x59, byte(len(b) >> 8), byte(len(b))}, b) }
	return map[string][]byte{
		"untagged":                 join([]byte{0x84}, bstr(p), []byte{0xa0}, bstr(payload), bstr(sig)),
		"CWT tag around":           join([]byte{0xd8, 61}, w.phone.token),
		"tag 18 in two bytes":      join([]byte{0xd8, 18}, w.phone.token[1:]),
		"array of five":            join([]byte{0xd2, 0x85}, bstr(p), []byte{0xa0}, bstr(payload), bstr(sig), []byte{0xf6}),
		"array without end":        join([]byte{0xd2, 0x9f}, bstr(p), []byte{0xa0}, bstr(payload), bstr(sig), []byte{0xff}),
		"array length in a byte":   join([]byte{0xd2, 0x98, 4}, bstr(p), []byte{0xa0}, bstr(payload), bstr(sig)),
		"unprotected null":         join([]byte{0xd2, 0x84}, bstr(p), []byte{0xf6}, bstr(payload), bstr(sig)),
		"unprotected kid":          join([]byte{0xd2, 0x84}, bstr(p), []byte{0xa1, 4, 0x41, 1}, bstr(payload), bstr(sig)),
		"unprotected without end":  join([]byte{0xd2, 0x84}, bstr(p), []byte{0xbf, 0xff}, bstr(payload), bstr(sig)),
		"signature's length long":  join([]byte{0xd2, 0x84}, bstr(p), []byte{0xa0}, bstr(payload), long(sig)),
		"signature in chunks":      join([]byte{0xd2, 0x84}, bstr(p), []byte{0xa0}, bstr(payload), []byte{0x5f}, bstr(sig), []byte{0xff}),
		"signature with a zero":    join([]byte{0xd2, 0x84}, bstr(p), []byte{0xa0}, bstr(payload), bstr(append([]byte{0}, sig...))),
		"payload's length long":    join([]byte{0xd2, 0x84}, bstr(p), []byte{0xa0}, []byte{0x5a, 0, 0, byte(len(payload) >> 8), byte(len(payload))}, payload, bstr(sig)),
		"protected's length long":  join([]byte{0xd2, 0x84}, long(p), []byte{0xa0}, bstr(payload), bstr(sig)),
		"payload as text":          join([]byte{0xd2, 0x84}, bstr(p), []byte{0xa0}, mustEncode(hex.EncodeToString(payload)), bstr(sig)),
		"payload null":             join([]byte{0xd2, 0x84}, bstr(p), []byte{0xa0, 0xf6}, bstr(sig)),
		"second document after it": join(w.phone.token, w.phone.token),
	}
}

// signedOddly has the issuer itself sign claims in another encoding, or with
// members that a verifier does not know.
func signedOddly(w *world) map[string][]byte {
	t := w.tb
	out := map[string][]byte{}
	doc := must(readSign1(w.phone.token, typeToken, MaxTokenSize))(t)
	var members map[int64]cbor.RawMessage
	if err := cbor.Unmarshal(doc.Payload, &members); err != nil {
		t.Fatal(err)
	}
	keys := make([]int64, 0, len(members))
	for k := range members {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	build := func(head []byte, keys []int64, extra ...[]byte) []byte {
		out := slices.Clone(head)
		for _, k := range keys {
			out = append(append(out, mustEncode(k)...), members[k]...)
		}
		return append(out, bytes.Join(extra, nil)...)
	}
	n := byte(len(keys))
	tests := map[string][]byte{
		"sorted by number, negatives first": build([]byte{0xa0 | n}, keys),
		"a member twice, not in order":      build([]byte{0xa0 | (n + 1)}, keys, mustEncode(4), members[4]),
		"an unknown member, not in order":   build([]byte{0xa0 | (n + 1)}, keys, mustEncode(99), mustEncode("x")),
		"without end":                       build([]byte{0xbf}, keys, []byte{0xff}),
		"a member missing, not in order":    build([]byte{0xa0 | (n - 1)}, keys[1:]),
		"null for a claim":                  bytes.Replace(doc.Payload, mustEncode(testBridge), []byte{0xf6}, 1),
		"exp as float":                      bytes.Replace(doc.Payload, members[4], must(cbor.Marshal(float64(1795348800)))(t), 1),
		"exp in eight bytes":                bytes.Replace(doc.Payload, members[4], append([]byte{0x1b, 0, 0, 0, 0}, members[4][1:]...), 1),
		"exp tagged":                        bytes.Replace(doc.Payload, members[4], append([]byte{0xc1}, members[4]...), 1),
		"empty":                             {},
		"array":                             {0x80},
	}
	for name, payload := range tests {
		env := envelope{Protected: doc.Protected, Payload: payload}
		env.Signature = must(es256Signer{w.signer}.Sign(nil, mustEncode([]any{"Signature1", env.Protected, []byte{}, env.Payload})))(t)
		out["claims: "+name] = append([]byte{tagSign1}, mustEncode(env)...)
	}
	for name, change := range map[string]func(map[int64]any){
		"crit":           func(h map[int64]any) { h[2] = []int64{99}; h[99] = 1 },
		"content type":   func(h map[int64]any) { h[3] = "text/plain" },
		"no typ":         func(h map[int64]any) { delete(h, 16) },
		"no kid":         func(h map[int64]any) { delete(h, 4) },
		"kid too long":   func(h map[int64]any) { h[4] = make([]byte, 9) },
		"typ of a proof": func(h map[int64]any) { h[16] = typeProof },
	} {
		h := map[int64]any{1: -7, 4: doc.KeyID[:], 16: typeToken}
		change(h)
		env := envelope{Protected: mustEncode(h), Payload: doc.Payload}
		env.Signature = must(es256Signer{w.signer}.Sign(nil, mustEncode([]any{"Signature1", env.Protected, []byte{}, env.Payload})))(t)
		out["header: "+name] = append([]byte{tagSign1}, mustEncode(env)...)
	}
	return out
}
