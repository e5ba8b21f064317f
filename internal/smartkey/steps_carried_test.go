package smartkey

import "crypto/ecdsa"

// pinSteps are key sets that are offered over a trusted channel, such as an enrolment.
func (r rotation) pinSteps() []step {
	foreign := r.remake(r.v2, r.a, func(_, c members) { c[1] = "prp_other" })
	steps := []step{
		{"signed by its current key", OK, r.v1},
		{"signed by one of its keys that is not the current one", OK, r.v3},
		{"signed by a key that is not in it", OK, r.keySet(r.a, 4, r.b)},
		{"of another property", WrongProperty, foreign},
		{"of another property, with a bad signature", WrongProperty, r.resign(foreign)},
		{"with a bad signature of its current key", BadSignature, r.resign(r.v1)},
		{"with a bad signature of one of its keys", BadSignature, r.resign(r.v3)},
		{"high s", BadSignature, highS(r.v1)},
		{"version 0", Malformed, r.remake(r.v1, r.a, func(_, c members) { c[-65540] = 0 })},
		{"a token", Malformed, r.phone.token},
		{"empty", Malformed, nil},
	}
	return append(steps, r.oddities(r.v2, r.a, MaxKeySetSize)...)
}

// carriedStep is what a verifier trusts before and after it took the documents of a presentation.
type carriedStep struct {
	name          string
	before, after Trust
	presentation  Presentation
}

// carriedSteps say which documents of a presentation a verifier takes.
func (r rotation) carriedSteps() []carriedStep {
	pin := func(raw []byte) KeySet { return must(PinKeySet(raw, testProperty))(r.tb) }
	v1, v2, v3, v4 := pin(r.v1), pin(r.v2), pin(r.v3), pin(r.v4)
	raw := func(key *ecdsa.PrivateKey, number uint64) []byte {
		return must(SignList(key, r.listSpec(number, noon)))(r.tb)
	}
	list := func(key *ecdsa.PrivateKey, number uint64) List { return must(v3.OpenList(raw(key, number)))(r.tb) }
	held := list(r.a, 5)
	var out []carriedStep
	add := func(name string, before, after KeySet, then List, offered []byte, sets ...[]byte) {
		in := r.use()
		out = append(out, carriedStep{name, Trust{Keys: before, List: held}, Trust{Keys: after, List: then}, Presentation{Token: in.Token, Proof: in.Proof, List: offered, KeySets: sets}})
	}
	add("nothing", v1, v1, held, nil)
	add("a newer list", v1, v1, list(r.a, 6), raw(r.a, 6))
	add("an older list", v1, v1, held, raw(r.a, 4))
	add("a list with a bad signature, and the next key set", v1, v2, held, r.resign(raw(r.a, 6)), r.v2)
	add("no document", v1, v1, held, []byte{1}, []byte{1})
	add("key sets in order", v1, v4, held, nil, r.v2, r.v3, r.v4)
	add("key sets in the wrong order", v1, v3, held, nil, r.v4, r.v3, r.v2)
	add("a bad key set before a good one", v1, v2, held, nil, r.resign(r.v2), r.v2)
	add("a key set that is pinned, and its successor", v2, v3, held, nil, r.v2, r.v3)
	add("a newer list of a key that comes with it", v1, v3, list(r.b, 6), raw(r.b, 6), r.v3)
	add("a newer list of a key that is not pinned", v1, v1, held, raw(r.b, 6))
	add("a list of a lower number, where the key set with it drops the signer of the held list", v3, v4, list(r.b, 2), raw(r.b, 2), r.v4)
	return out
}
