package smartkey

import (
	"bytes"
	"slices"
	"strings"
)

// courierStep is an unsigned message and what a reader must say to it.
type courierStep struct {
	kind, name string
	want       Reason
	raw        []byte
}

// courierSteps are messages within and beyond their limits, and in other encodings.
func courierSteps(w *world) []courierStep {
	return slices.Concat(greetingSteps(w), presentationSteps(w), answerSteps(w))
}

func greetingSteps(w *world) (steps []courierStep) {
	longest := strings.Repeat("!~", 32)
	usual := members{1: testBridge, 2: bytes.Repeat([]byte{5}, 32), 3: 3, 4: 9}
	add := func(name string, want Reason, change members) {
		steps = append(steps, courierStep{"greeting", "greeting: " + name, want, remade(usual, change)})
	}
	add("usual", OK, nil)
	add("longest bridge id, shortest nonce, greatest version", OK, members{1: longest, 2: make([]byte, 16), 3: maxNumber, 4: 0})
	add("longest nonce, greatest list number", OK, members{2: make([]byte, 32), 3: 0, 4: maxNumber})
	add("bridge id of 65 bytes", Malformed, members{1: longest + "x"})
	add("bridge id empty", Malformed, members{1: ""})
	add("bridge id with a space", Malformed, members{1: "a b"})
	add("nonce of 15 bytes", Malformed, members{2: make([]byte, 15)})
	add("nonce of 33 bytes", Malformed, members{2: make([]byte, 33)})
	add("version beyond 53 bits", Malformed, members{3: uint64(maxNumber + 1)})
	add("list number beyond 53 bits", Malformed, members{4: uint64(maxNumber + 1)})
	add("list number is missing", Malformed, members{4: nil})
	add("an unknown member", Malformed, members{5: 1})
	return append(steps, otherForms(w, "greeting", remade(usual, nil))...)
}

func presentationSteps(w *world) (steps []courierStep) {
	in := w.use()
	usual := members{1: in.Token, 2: in.Proof}
	set, of := w.keySet(w.signer, 2, w.signer), func(n int) []byte { return make([]byte, n) }
	add := func(name string, want Reason, change members) {
		steps = append(steps, courierStep{"presentation", "presentation: " + name, want, remade(usual, change)})
	}
	add("usual", OK, nil)
	add("with a list and a key set", OK, members{3: w.list(2, noon), 4: [][]byte{set}})
	add("8 key sets", OK, members{4: slices.Repeat([][]byte{set}, 8)})
	add("9 key sets", Malformed, members{4: slices.Repeat([][]byte{set}, 9)})
	add("token as large as allowed", OK, members{1: of(MaxTokenSize)})
	add("token a byte too large", Malformed, members{1: of(MaxTokenSize + 1)})
	add("proof as large as allowed", OK, members{2: of(MaxProofSize)})
	add("proof a byte too large", Malformed, members{2: of(MaxProofSize + 1)})
	add("list as large as allowed", OK, members{3: of(MaxListSize)})
	add("list a byte too large", Malformed, members{3: of(MaxListSize + 1)})
	add("key set as large as allowed", OK, members{4: [][]byte{of(MaxKeySetSize)}})
	add("key set a byte too large", Malformed, members{4: [][]byte{of(MaxKeySetSize + 1)}})
	add("second key set a byte too large", Malformed, members{4: [][]byte{set, of(MaxKeySetSize + 1)}})
	add("no token", Malformed, members{1: nil})
	add("no proof", Malformed, members{2: nil})
	add("token empty", Malformed, members{1: []byte{}})
	add("proof empty", Malformed, members{2: []byte{}})
	add("list empty", Malformed, members{3: []byte{}})
	add("no key set in the list of key sets", Malformed, members{4: [][]byte{}})
	add("key set empty", Malformed, members{4: [][]byte{{}}})
	add("an unknown member", Malformed, members{5: 1})
	return append(steps, otherForms(w, "presentation", remade(usual, nil))...)
}

func answerSteps(w *world) (steps []courierStep) {
	longest := strings.Repeat("!~", 32)
	usual := members{1: "revoked", 2: "the token was revoked"}
	add := func(name string, want Reason, change members) {
		steps = append(steps, courierStep{"answer", "answer: " + name, want, remade(usual, change)})
	}
	add("usual", OK, nil)
	add("without a text", OK, members{1: "ok", 2: nil})
	add("longest reason", OK, members{1: longest, 2: nil})
	add("unknown reason, longest text", OK, members{1: "aWordToCome", 2: strings.Repeat("x", 128)})
	add("text with spaces and beyond ASCII", OK, members{2: "Schlüssel gesperrt"})
	add("reason of 65 bytes", Malformed, members{1: longest + "x"})
	add("reason empty", Malformed, members{1: ""})
	add("reason of two words", Malformed, members{1: "two words"})
	add("reason is missing", Malformed, members{1: nil})
	add("text of 129 bytes", Malformed, members{2: strings.Repeat("x", 129)})
	add("text empty", Malformed, members{2: ""})
	add("an unknown member", Malformed, members{3: 1})
	steps = append(steps, courierStep{"answer", "answer: text that is not UTF-8", Malformed, []byte{0xa2, 0x01, 0x62, 'o', 'k', 0x02, 0x61, 0xff}})
	return append(steps, otherForms(w, "answer", remade(usual, nil))...)
}

// remade encodes a map after some members were replaced or, with nil, taken out.
func remade(usual, change members) []byte {
	m := members{}
	for _, from := range []members{usual, change} {
		for label, value := range from {
			m[label] = value
		}
	}
	for label, value := range m {
		if value == nil {
			delete(m, label)
		}
	}
	return mustEncode(m)
}

// otherForms are encodings of the same map that are not the deterministic one.
func otherForms(w *world, kind string, raw []byte) (steps []courierStep) {
	add := func(name string, raw []byte) {
		steps = append(steps, courierStep{kind, kind + ": " + name, Malformed, raw})
	}
	add("empty", nil)
	add("a byte after it", append(bytes.Clone(raw), 0))
	add("without its last byte", raw[:len(raw)-1])
	for _, f := range w.otherMaps(raw) {
		add(f.name, f.raw)
	}
	return steps
}
