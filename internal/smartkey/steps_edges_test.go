package smartkey

import (
	"bytes"
	"compress/zlib"
	"crypto/ecdsa"
	"slices"
	"strings"
	"time"
)

// keyStep is a key set that is offered where another is pinned.
type keyStep struct {
	step
	pinned KeySet
}

// listStep is a list that is offered where another is held, which was taken under held keys.
type listStep struct {
	step
	keys, heldKeys KeySet
	held           List
}

// keySteps are offers to verifiers that pinned several keys, and the bounds of a key set.
func (r rotation) keySteps() []keyStep {
	pin := func(raw []byte) KeySet { return must(PinKeySet(raw, testProperty))(r.tb) }
	v1, v2, v3 := pin(r.v1), pin(r.v2), pin(r.v3)
	spec := func(signer *ecdsa.PrivateKey, change func(*keySetClaims)) []byte {
		doc := must(readSign1(r.v2, typeKeySet, MaxKeySetSize))(r.tb)
		claims, _ := decodeExact[keySetClaims](doc.Payload)
		change(&claims)
		return must(sign1(signer, typeKeySet, claims))(r.tb)
	}
	var eight []*ecdsa.PrivateKey
	for range 9 {
		eight = append(eight, must(GenerateKey(r.random))(r.tb))
	}
	nine := spec(r.a, func(c *keySetClaims) {
		c.Keys = nil
		for _, k := range eight {
			c.Keys = append(c.Keys, keyEntry{Key: must(PublicKeyOf(k.Public()))(r.tb).cose(), NotBefore: 1, NotAfter: 2})
		}
	})
	over := noon.Add(-24 * time.Hour)
	ended := must(SignKeySet(r.a, KeySetSpec{Property: testProperty, Version: 1, IssuedAt: over.Add(-time.Hour), Keys: []IssuerKey{
		{Key: must(PublicKeyOf(r.a.Public()))(r.tb), NotBefore: over.Add(-time.Hour), NotAfter: over},
	}}))(r.tb)
	steps := []keyStep{
		{step{"signed by a key of the pinned set that is not the current one", UnknownIssuer, r.keySet(r.b, 9, r.b)}, v2},
		{step{"signed by the current key, the first of two", OK, r.keySet(r.a, 9, r.b)}, v2},
		{step{"signed by the key that was current before", UnknownIssuer, r.keySet(r.a, 9, r.a)}, v3},
		{step{"signed by the current key, the first of two in the other order", OK, r.v4}, v3},
		{step{"signed after the current key's time", OK, r.v2}, pin(ended)},
		{step{"an older one", NotNewer, r.keySet(r.b, 2, r.b)}, v3},
		{step{"a key id twice", Malformed, spec(r.a, func(c *keySetClaims) { c.Keys[1] = c.Keys[0] })}, v1},
		{step{"a key id twice, with another time", Malformed, spec(r.a, func(c *keySetClaims) { c.Keys[1].Key = c.Keys[0].Key; c.Keys[1].NotAfter++ })}, v1},
		{step{"version 0", Malformed, spec(r.a, func(c *keySetClaims) { c.Version = 0 })}, v1},
		{step{"version of 53 bits", OK, spec(r.a, func(c *keySetClaims) { c.Version = maxNumber })}, v1},
		{step{"no keys", Malformed, spec(r.a, func(c *keySetClaims) { c.Keys = []keyEntry{} })}, v1},
		{step{"8 keys", OK, r.keySet(r.a, 2, eight[:8]...)}, v1},
		{step{"9 keys", Malformed, nine}, v1},
		{step{"a key that ends when it begins", Malformed, spec(r.a, func(c *keySetClaims) { c.Keys[1].NotAfter = c.Keys[1].NotBefore })}, v1},
		{step{"a key that ends before it begins", Malformed, spec(r.a, func(c *keySetClaims) { c.Keys[1].NotAfter = c.Keys[1].NotBefore - 1 })}, v1},
		{step{"a key of one second", OK, spec(r.a, func(c *keySetClaims) { c.Keys[1].NotAfter = c.Keys[1].NotBefore + 1 })}, v1},
		{step{"not after beyond 53 bits", Malformed, spec(r.a, func(c *keySetClaims) { c.Keys[1].NotAfter = 1 << 53 })}, v1},
		{step{"property with a space", Malformed, spec(r.a, func(c *keySetClaims) { c.Issuer = "a b" })}, v1},
		{step{"of another property, the same version", WrongProperty, spec(r.a, func(c *keySetClaims) { c.Issuer, c.Version = "prp_other", 1 })}, v1},
		{step{"of another property, version 0", Malformed, spec(r.a, func(c *keySetClaims) { c.Issuer, c.Version = "prp_other", 0 })}, v1},
		{step{"not newer and signed by a stranger", NotNewer, r.keySet(r.stranger, 1, r.stranger)}, v1},
		{step{"of another key, with a bad signature", UnknownIssuer, r.resign(r.keySet(r.stranger, 9, r.stranger))}, v1},
		{step{"not newer, with a bad signature", NotNewer, r.resign(r.v1)}, v1},
		{step{"no key set is pinned", UnknownIssuer, r.v1}, KeySet{}},
	}
	for _, s := range r.oddities(r.v2, r.a, MaxKeySetSize) {
		steps = append(steps, keyStep{s, v1})
	}
	odd := oddKeys(v2.keys[1].Key)
	for _, name := range sortedNames(odd) {
		steps = append(steps, keyStep{step{"a key with " + name, Malformed, r.remake(r.v2, r.a, func(_, c members) {
			c[-65542].([]any)[1].(map[any]any)[uint64(1)] = odd[name]
		})}, v1})
	}
	for _, label := range []uint64{1, 4, 5} {
		steps = append(steps, keyStep{step{"a key without member " + string('0'+rune(label)), Malformed, r.remake(r.v2, r.a, func(_, c members) {
			delete(c[-65542].([]any)[1].(map[any]any), label)
		})}, v1})
	}
	return append(steps, keyStep{step{"a key with an additional member", Malformed, r.remake(r.v2, r.a, func(_, c members) {
		c[-65542].([]any)[1].(map[any]any)[uint64(6)] = 1
	})}, v1})
}

func sortedNames[T any](m map[string]T) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// inflated is a zlib stream of one byte that empty blocks make size bytes long.
func inflated(tb failer, blocks int) []byte {
	whole := must(compress([]byte{0}))(tb)
	empty := bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, blocks)
	return slices.Concat(whole[:2], empty, whole[2:])
}

// listSteps are offers to verifiers whose keys change, and the bounds of a list.
func (r rotation) listSteps() []listStep {
	w := r.world
	keys := w.trust.Keys
	held := must(keys.OpenList(w.list(5, noon.Add(-time.Minute))))(w.tb)
	doc := func(change func(*listClaims)) []byte { return w.listDoc(change) }
	zip := func(size int) []byte { return must(compress(make([]byte, size)))(w.tb) }
	lst := func(name string, want Reason, lst []byte) step {
		return step{name, want, doc(func(c *listClaims) { c.Status.Compressed = lst })}
	}
	floors := func(n int) []Floor {
		var out []Floor
		for i := range n {
			out = append(out, Floor{Door: Door{byte(i >> 8), byte(i)}, Generation: 1})
		}
		return out
	}
	good := zip(512)
	dictionary := func() []byte {
		var buf bytes.Buffer
		z := must(zlib.NewWriterLevelDict(&buf, 9, []byte{0, 0, 0, 0}))(w.tb)
		_, _ = z.Write(make([]byte, 64))
		must(0, z.Close())(w.tb)
		return buf.Bytes()
	}()
	sum := bytes.Clone(good)
	sum[len(sum)-1] ^= 1
	steps := []step{
		{"ends a second before its issue", Malformed, doc(func(c *listClaims) { c.Expires = c.IssuedAt - 1 })},
		{"ends a second after its issue", OK, doc(func(c *listClaims) { c.Expires = c.IssuedAt + 1 })},
		{"number of 53 bits", OK, doc(func(c *listClaims) { c.Number = maxNumber })},
		{"bits 0", Malformed, doc(func(c *listClaims) { c.Status.Bits = 0 })},
		{"URI of 256 bytes", OK, doc(func(c *listClaims) { c.Subject = strings.Repeat("!~", 128) })},
		{"URI of 257 bytes", Malformed, doc(func(c *listClaims) { c.Subject = strings.Repeat("x", 257) })},
		{"URI empty", Malformed, doc(func(c *listClaims) { c.Subject = "" })},
		{"1,024 floors", OK, doc(func(c *listClaims) { c.Floors = floors(1024) })},
		{"1,025 floors", Malformed, doc(func(c *listClaims) { c.Floors = floors(1025) })},
		{"floors in descending order", Malformed, doc(func(c *listClaims) { c.Floors = floors(2); slices.Reverse(c.Floors) })},
		{"a floor beyond 53 bits", Malformed, doc(func(c *listClaims) { c.Floors = []Floor{{Door: w.room, Generation: 1 << 53}} })},
		{"a floor of 53 bits", OK, doc(func(c *listClaims) { c.Floors = []Floor{{Door: w.room, Generation: maxNumber}} })},
		{"a floor of three members", Malformed, w.remake(w.list(9, noon), w.signer, func(_, c members) { c[-65541] = []any{[]any{w.room[:], 1, 1}} })},
		{"an additional member in status_list", Malformed, w.remake(w.list(9, noon), w.signer, func(_, c members) { c[65533].(map[any]any)["x"] = 1 })},
		lst("lst empty", Malformed, []byte{}),
		lst("lst of no bytes", Malformed, zip(0)),
		lst("lst of 1 byte", OK, zip(1)),
		lst("lst of 32,768 bytes", OK, zip(32768)),
		lst("lst of 32,769 bytes", Malformed, zip(32769)),
		lst("lst without its checksum", Malformed, good[:len(good)-4]),
		lst("lst without the last byte", Malformed, good[:len(good)-1]),
		lst("lst cut in half", Malformed, good[:len(good)/2]),
		lst("lst of its two first bytes", Malformed, good[:2]),
		lst("lst with a wrong checksum", Malformed, sum),
		lst("lst without the zlib head", Malformed, good[2:len(good)-4]),
		lst("lst with a dictionary", Malformed, dictionary),
		lst("lst twice", Malformed, append(bytes.Clone(good), good...)),
		{"signed by a stranger, number 0", UnknownIssuer, w.remake(w.list(9, noon), r.stranger, func(h, c members) {
			h[4] = make([]byte, 8)
			c[-65540] = 0
		})},
		{"with a bad signature, number 0", BadSignature, w.resign(doc(func(c *listClaims) { c.Number = 0 }))},
		{"with a bad signature, broken zlib", BadSignature, w.resign(doc(func(c *listClaims) { c.Status.Compressed = c.Status.Compressed[1:] }))},
		{"with a bad signature, not newer", BadSignature, w.resign(w.list(4, noon))},
		{"of another key, with a bad signature", UnknownIssuer, w.resign(must(SignList(r.stranger, w.listSpec(9, noon)))(w.tb))},
		{"not newer, broken zlib", Malformed, doc(func(c *listClaims) { c.Number, c.Status.Compressed = 4, c.Status.Compressed[1:] })},
		{"as large as allowed", OK, r.largeList(MaxListSize)},
		{"a byte larger than allowed", Malformed, r.largeList(MaxListSize + 1)},
	}
	steps = append(steps, w.oddities(w.list(9, noon), w.signer, MaxListSize)...)
	var out []listStep
	for _, s := range steps {
		out = append(out, listStep{s, keys, keys, held})
	}
	serving := func(from, until time.Time) KeySet {
		w.served(from, until)
		return w.trust.Keys
	}
	offer := w.list(9, noon)
	add := func(name string, want Reason, keys KeySet) {
		out = append(out, listStep{step{name, want, offer}, keys, KeySet{}, List{}})
	}
	add("the first", OK, keys)
	add("signed in the first second of its key", OK, serving(noon, noon.Add(time.Hour)))
	add("signed a second before its key served", UnknownIssuer, serving(noon.Add(time.Second), noon.Add(time.Hour)))
	add("signed in the last second of its key", OK, serving(noon.Add(-time.Hour), noon))
	add("signed a second after its key's time", UnknownIssuer, serving(noon.Add(-time.Hour), noon.Add(-time.Second)))
	add("no key set is pinned", UnknownIssuer, KeySet{})
	// From here on b is the only key.
	stuck := must(keys.OpenList(w.list(maxNumber, noon)))(w.tb)
	after := must(PinKeySet(r.v4, testProperty))(w.tb)
	both := must(PinKeySet(r.v3, testProperty))(w.tb)
	fresh := must(SignList(r.b, w.listSpec(2, noon)))(w.tb)
	return append(out,
		listStep{step{"any number, where the signer of the held list left the key set", OK, fresh}, after, keys, stuck},
		listStep{step{"the same number, where the signer of the held list left the key set", OK, must(SignList(r.b, w.listSpec(5, noon)))(w.tb)}, after, keys, held},
		listStep{step{"a lower number, where the signer of the held list is no longer current", NotNewer, fresh}, both, keys, held},
		listStep{step{"of a key that left the key set", UnknownIssuer, offer}, after, keys, held},
		listStep{step{"of a key that is not the current one", OK, offer}, both, keys, held})
}

// largeList is a good list of exactly size bytes.
func (r rotation) largeList(size int) []byte {
	for pad := range 5 {
		out := r.listDoc(func(c *listClaims) {
			c.Subject = strings.Repeat("x", 40+pad)
			c.Status.Compressed = inflated(r.tb, 0)
		})
		blocks := (size - len(out) - 4) / 5
		for range 4 {
			out = r.listDoc(func(c *listClaims) {
				c.Subject, c.Status.Compressed = strings.Repeat("x", 40+pad), inflated(r.tb, blocks)
			})
			blocks += (size - len(out)) / 5
		}
		if len(out) == size {
			return out
		}
	}
	r.tb.Fatal("no list of that size")
	return nil
}

// possessionSteps are the bounds of a possession, with the questions that they answer.
func (w *world) possessionSteps() (questions []PossessionSpec, steps []step) {
	q := PossessionSpec{Property: testProperty, Purpose: Enrol, Challenge: bytes.Repeat([]byte{7}, 32)}
	good := must(w.phone.SignPossession(q, noon))(w.tb)
	add := func(q PossessionSpec, name string, want Reason, raw []byte) {
		questions, steps = append(questions, q), append(steps, step{name, want, raw})
	}
	change := func(label int64, value any) []byte {
		return w.remake(good, w.phone.key, func(_, c members) { c[label] = value })
	}
	renew := PossessionSpec{Property: testProperty, Purpose: Renew, Challenge: make([]byte, 16)}
	add(renew, "for renewal, a challenge of 16 bytes", OK, must(w.phone.SignPossession(renew, noon))(w.tb))
	add(q, "a challenge of 15 bytes", Malformed, change(10, make([]byte, 15)))
	add(q, "a challenge of 33 bytes", Malformed, change(10, make([]byte, 33)))
	add(q, "purpose 0", Malformed, change(-65546, 0))
	add(q, "purpose 3", Malformed, change(-65546, 3))
	add(q, "property of 65 bytes", Malformed, change(3, strings.Repeat("x", 65)))
	add(q, "property empty", Malformed, change(3, ""))
	add(q, "another property and another challenge", WrongProperty, w.remake(good, w.phone.key, func(_, c members) { c[3] = "prp_other"; c[10] = make([]byte, 32) }))
	add(q, "another property and a bad signature", BadSignature, w.resign(change(3, "prp_other")))
	add(q, "of a phone whose clock is wrong", OK, change(6, 0))
	for _, s := range w.oddities(good, w.phone.key, MaxPossessionSize) {
		add(q, s.name, s.want, s.raw)
	}
	odd := oddKeys(w.grant.Phone)
	add(q, "an additional member in cnf", Malformed, w.remake(good, w.phone.key, func(_, c members) { c[8].(map[any]any)[uint64(2)] = []byte{1} }))
	for _, name := range sortedNames(odd) {
		add(q, "cnf with "+name, Malformed, change(8, members{1: odd[name]}))
	}
	return questions, steps
}
