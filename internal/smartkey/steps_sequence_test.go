package smartkey

import "time"

// sequence is a number of uses at one bridge, at one time, each with the answer it must get.
type sequence struct {
	name  string
	wants []Reason
	in    func(w *world) []Input
}

// sequenceRows say what spends a nonce: the first proof whose signatures hold and whose bridge is right, whatever the verdict.
func sequenceRows() []sequence {
	refused := func(name string, first, want Reason, change func(w *world, in *Input)) sequence {
		return sequence{name, []Reason{first, want}, func(w *world) []Input {
			then := w.use()
			first := then
			change(w, &first)
			return []Input{first, then}
		}}
	}
	again := func(w *world, in *Input, change func(*proofClaims)) {
		doc := must(readSign1(in.Proof, typeProof, MaxProofSize))(w.tb)
		claims, _ := decodeExact[proofClaims](doc.Payload)
		change(&claims)
		in.Proof = must(sign1(w.phone.key, typeProof, claims))(w.tb)
	}
	return []sequence{
		{"another nonce was spent before", []Reason{OK, OK}, func(w *world) []Input { return []Input{w.use(), w.use()} }},
		{"spent by the use before the last one", []Reason{OK, OK, Replayed}, func(w *world) []Input {
			first, other := w.use(), w.use()
			return []Input{first, other, first}
		}},
		refused("spent by an accepted use", OK, Replayed, func(*world, *Input) {}),
		refused("spent by a refusal: door", WrongDoor, Replayed, func(w *world, in *Input) { in.Door = w.gate }),
		refused("spent by a refusal: operation", WrongOperation, Replayed, func(_ *world, in *Input) { in.Operation = Check }),
		refused("spent by a refusal, signed for another door", WrongDoor, Replayed, func(w *world, in *Input) {
			again(w, in, func(c *proofClaims) { c.Door = w.foreign })
			in.Door = w.foreign
		}),
		refused("not spent without a proof", Malformed, OK, func(_ *world, in *Input) { in.Proof = nil }),
		refused("not spent by a stranger's token", BadSignature, OK, func(w *world, in *Input) { in.Token = w.strangersToken() }),
		refused("not spent by a stranger's proof", BadSignature, OK, func(w *world, in *Input) { in.Proof = w.resign(in.Proof) }),
		refused("not spent by another phone", Cloned, OK, func(w *world, in *Input) {
			thief := must(NewPhone(w.random))(w.tb)
			in.Proof = w.remake(in.Proof, thief.key, func(h, _ members) { k := must(thief.Key())(w.tb).KeyID(); h[4] = k[:] })
		}),
		refused("not spent by a proof for another token", WrongToken, OK, func(w *world, in *Input) { in.Token = w.mint(noon.Add(time.Second)).Raw }),
		refused("not spent by a proof for another bridge", WrongBridge, OK, func(w *world, in *Input) {
			again(w, in, func(c *proofClaims) { c.Bridge = testSite })
		}),
		{"spent by a refusal: revoked", []Reason{Revoked, Replayed}, func(w *world) []Input {
			w.hold(w.list(2, noon, 1234))
			first := w.use()
			then := first
			then.Token = w.forge(func(c *tokenClaims) { c.Status.List.Index = 99 })
			nonce := must(ReadProof(first.Proof))(w.tb).Nonce
			then.Proof = must(SignProof(w.phone.key, then.Token, ProofSpec{testBridge, nonce, w.room, Unlock}, noon))(w.tb)
			return []Input{first, then}
		}},
		{"spent by a refusal: expired", []Reason{Expired, Replayed}, func(w *world) []Input {
			first := w.windowed(-time.Hour, -time.Hour, -time.Minute, time.Second, Synchronized)
			then := first
			then.Token = w.forge(func(c *tokenClaims) { c.Expires = toSeconds(noon.Add(time.Hour)) })
			nonce := must(ReadProof(first.Proof))(w.tb).Nonce
			then.Proof = must(SignProof(w.phone.key, then.Token, ProofSpec{testBridge, nonce, w.room, Unlock}, noon))(w.tb)
			return []Input{first, then}
		}},
	}
}
