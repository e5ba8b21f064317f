package smartkey

import (
	"crypto/ecdsa"
	"slices"
	"time"
)

// row is one use of a SmartKey and the reason that must come out. The rows are also written to the published vectors, except those
// that depend on internals of this implementation.
type row struct {
	name string
	want Reason
	in   func(w *world) Input
}

// own names the rows that another implementation cannot run.
var own = []string{"no time at all", "nonce from the future"}

func allRows() []row {
	return slices.Concat(acceptedRows(), refusedRows(), edgeRows(), orderRows(), boundRows())
}

func acceptedRows() []row {
	return []row{
		{"unlock", OK, func(w *world) Input { return w.use() }},
		{"check", OK, func(w *world) Input { return w.useAt(w.room, Check) }},
		{"token for the site", OK, func(w *world) Input {
			w.grant.Audience = testSite
			return w.with(w.mint(noon).Raw)
		}},
		{"a door that asks for a fresh list", OK, func(w *world) Input {
			w.hold(w.list(2, noon.Add(-14*time.Minute)))
			return w.useAt(w.gate, Unlock)
		}},
		{"last millisecond of the nonce", OK, func(w *world) Input {
			in := w.use()
			in.Elapsed = time.Hour + NonceLife - time.Millisecond
			return in
		}},
		{"untrusted clock with margin", OK, func(w *world) Input { return w.clock(noon.Add(12*time.Hour), 2*time.Hour, Untrusted) }},
		{"generation at the door's floor", OK, func(w *world) Input {
			spec := w.listSpec(2, noon)
			spec.Floors = []Floor{{Door: w.gate, Generation: 900}, {Door: w.room, Generation: 7}}
			w.hold(must(SignList(w.signer, spec))(w.tb))
			return w.use()
		}},
		{"neighbours of the index revoked", OK, func(w *world) Input { w.hold(w.list(2, noon, 1233, 1235)); return w.use() }},
		{"token with operations of later versions", OK, func(w *world) Input {
			w.grant.Operations = []Operation{Unlock, 9, 255}
			return w.with(w.mint(noon).Raw)
		}},
		{"token with an unknown operation in addition", OK, func(w *world) Input {
			return w.with(w.forge(func(c *tokenClaims) { c.Operations = []Operation{Unlock, Check, 255} }))
		}},
	}
}

func refusedRows() []row {
	return []row{
		{"no token", Malformed, func(w *world) Input { in := w.use(); in.Token = nil; return in }},
		{"no proof", Malformed, func(w *world) Input { in := w.use(); in.Proof = nil; return in }},
		{"proof as token", Malformed, func(w *world) Input { in := w.use(); in.Token = in.Proof; return in }},
		{"token as proof", Malformed, func(w *world) Input { in := w.use(); in.Proof = in.Token; return in }},
		{"bytes after the token", Malformed, func(w *world) Input { in := w.use(); in.Token = append(slices.Clone(in.Token), 0); return in }},
		{"token of 25 hours", Malformed, func(w *world) Input {
			return w.with(w.forge(func(c *tokenClaims) { c.Expires = c.IssuedAt + 25*3600 }))
		}},
		{"token without doors", Malformed, func(w *world) Input { return w.with(w.forge(func(c *tokenClaims) { c.Doors = nil })) }},
		{"doors out of order", Malformed, func(w *world) Input { return w.with(w.forge(func(c *tokenClaims) { slices.Reverse(c.Doors) })) }},
		{"a door twice", Malformed, func(w *world) Input { return w.with(w.forge(func(c *tokenClaims) { c.Doors[1] = c.Doors[0] })) }},
		{"operation 0", Malformed, func(w *world) Input {
			return w.with(w.forge(func(c *tokenClaims) { c.Operations = []Operation{0, Unlock} }))
		}},
		{"phone key off the curve", Malformed, func(w *world) Input { return w.with(w.forge(func(c *tokenClaims) { c.Confirm.Key.Y[31] ^= 1 })) }},
		{"window far before the issue", Malformed, func(w *world) Input {
			return w.with(w.forge(func(c *tokenClaims) { c.NotBefore = c.IssuedAt - 301 }))
		}},
		{"empty window", Malformed, func(w *world) Input { return w.with(w.forge(func(c *tokenClaims) { c.Expires = c.NotBefore })) }},
		{"subject with a space", Malformed, func(w *world) Input { return w.with(w.forge(func(c *tokenClaims) { c.Subject = "Ada Lovelace" })) }},
		{"number beyond 53 bits", Malformed, func(w *world) Input { return w.with(w.forge(func(c *tokenClaims) { c.Generation = 1 << 53 })) }},
		{"nonce too short", Malformed, func(w *world) Input { return w.signedProof(func(c *proofClaims) { c.Nonce = c.Nonce[:15] }) }},

		{"another algorithm", UnsupportedAlgorithm, func(w *world) Input { return w.with(w.header(func(h *header) { h.Algorithm = -35 })) }},
		{"algorithm 0", UnsupportedAlgorithm, func(w *world) Input { return w.with(w.header(func(h *header) { h.Algorithm = 0 })) }},
		{"unknown key id", UnknownIssuer, func(w *world) Input { return w.with(w.header(func(h *header) { h.KeyID[0] ^= 1 })) }},
		{"another property", UnknownIssuer, func(w *world) Input { return w.with(w.forge(func(c *tokenClaims) { c.Issuer = "prp_other" })) }},
		{"no pinned keys", UnknownIssuer, func(w *world) Input { in := w.use(); in.Trust.Keys = KeySet{}; return in }},
		{"issued before its key served", UnknownIssuer, func(w *world) Input {
			return w.with(w.forge(func(c *tokenClaims) { c.IssuedAt -= 49 * 3600; c.NotBefore = c.IssuedAt; c.Expires = c.IssuedAt + 3600 }))
		}},
		{"signed by a stranger under our key id", BadSignature, func(w *world) Input { return w.with(w.strangersToken()) }},
		{"token's signature with high s", BadSignature, func(w *world) Input { return w.with(highS(w.phone.token)) }},
		{"proof's signature with high s", BadSignature, func(w *world) Input { in := w.use(); in.Proof = highS(in.Proof); return in }},
		{"copied token, another phone", Cloned, func(w *world) Input {
			thief := must(NewPhone(w.random))(w.tb)
			thief.SetToken(w.phone.token)
			w.phone = thief
			return w.use()
		}},
		{"copied token, another phone that claims the key id", BadSignature, func(w *world) Input {
			in := w.use()
			in.Proof = w.resign(in.Proof)
			return in
		}},
		{"proof for an earlier token", WrongToken, func(w *world) Input { in := w.use(); in.Token = w.mint(noon.Add(time.Second)).Raw; return in }},
		{"proof for another bridge", WrongBridge, func(w *world) Input {
			in := w.use()
			in.Proof = w.prove(func(x *ProofSpec) { x.Bridge = "brg_other" })
			return in
		}},
		{"token for another bridge", WrongBridge, func(w *world) Input {
			w.grant.Audience = "brg_other"
			return w.with(w.mint(noon).Raw)
		}},
		{"nonce from before a restart", UnknownNonce, func(w *world) Input {
			in := w.use()
			in.Nonces = must(NewNonces(w.random, testBridge))(w.tb)
			return in
		}},
		{"nonce issued thirty seconds ago", UnknownNonce, func(w *world) Input { in := w.use(); in.Elapsed = time.Hour + NonceLife; return in }},
		{"nonce from the future", UnknownNonce, func(w *world) Input { in := w.use(); in.Elapsed = time.Hour - time.Millisecond; return in }},
		{"random nonce", UnknownNonce, func(w *world) Input {
			in := w.use()
			in.Proof = w.prove(func(x *ProofSpec) { x.Nonce = make([]byte, 32) })
			return in
		}},
		{"used before", Replayed, func(w *world) Input { in := w.use(); in.Nonces = Verify(in).Nonces; return in }},
		{"the memory for nonces is full", Busy, func(w *world) Input {
			in := w.use()
			in.Nonces = in.Nonces.full()
			return in
		}},
		{"used before, and the memory for nonces is full", Replayed, func(w *world) Input {
			in := w.use()
			in.Nonces = Verify(in).Nonces.full()
			return in
		}},
		{"the memory for nonces is full, proof for another bridge", WrongBridge, func(w *world) Input {
			in := w.use()
			in.Nonces, in.Proof = in.Nonces.full(), w.prove(func(x *ProofSpec) { x.Bridge = "brg_other" })
			return in
		}},
		{"the memory for nonces is full, at another door", Busy, func(w *world) Input {
			in := w.use()
			in.Nonces, in.Door = in.Nonces.full(), w.gate
			return in
		}},
		{"another door than signed for", WrongDoor, func(w *world) Input { in := w.use(); in.Door = w.gate; return in }},
		{"a door of another bridge", WrongDoor, func(w *world) Input { return w.useAt(w.foreign, Unlock) }},
		{"a door the token covers at another bridge", WrongDoor, func(w *world) Input {
			w.grant.Doors, w.grant.Audience = []Door{w.room, w.foreign}, testSite
			w.phone.SetToken(w.mint(noon).Raw)
			return w.useAt(w.foreign, Unlock)
		}},
		{"a door the token does not cover", WrongDoor, func(w *world) Input {
			w.grant.Doors = []Door{w.gate}
			return w.with(w.mint(noon).Raw)
		}},
		{"another operation than signed for", WrongOperation, func(w *world) Input { in := w.useAt(w.room, Check); in.Operation = Unlock; return in }},
		{"an operation the token does not cover", WrongOperation, func(w *world) Input {
			w.grant.Operations = []Operation{Check}
			return w.with(w.mint(noon).Raw)
		}},
		{"an operation the bridge does not know", WrongOperation, func(w *world) Input {
			w.grant.Operations = []Operation{Unlock, 9}
			w.phone.SetToken(w.mint(noon).Raw)
			return w.useAt(w.room, 9)
		}},
		{"before the window", NotYetValid, func(w *world) Input {
			w.grant.Start = noon.Add(2 * time.Hour)
			return w.with(w.mint(noon).Raw)
		}},
		{"after the window", Expired, func(w *world) Input { return w.clock(noon.Add(25*time.Hour), time.Second, Synchronized) }},
		{"no known bound of the clock's error", ClockUntrusted, func(w *world) Input { return w.clock(noon, -1, Untrusted) }},
		{"no time at all", ClockUntrusted, func(w *world) Input { return w.clock(time.Time{}, 0, Synchronized) }},
		{"clock back before the token's issue", ClockUntrusted, func(w *world) Input { return w.clock(noon.AddDate(-1, 0, 0), time.Second, Untrusted) }},
		{"clock back before the list's issue", ClockUntrusted, func(w *world) Input {
			w.hold(w.list(2, noon.Add(time.Hour)))
			return w.clock(noon, time.Second, Synchronized)
		}},
		{"untrusted clock near the end", ClockUntrusted, func(w *world) Input { return w.clock(noon.Add(24*time.Hour-5*time.Minute), 10*time.Minute, Untrusted) }},
		{"below the door's floor", Superseded, func(w *world) Input {
			spec := w.listSpec(2, noon)
			spec.Floors = []Floor{{Door: w.room, Generation: 8}}
			w.hold(must(SignList(w.signer, spec))(w.tb))
			return w.use()
		}},
		{"revoked", Revoked, func(w *world) Input { w.hold(w.list(2, noon, 1234)); return w.use() }},
		{"revoked by an old list", Revoked, func(w *world) Input { w.hold(w.list(2, noon.Add(-48*time.Hour), 1234)); return w.useAt(w.gate, Unlock) }},
		{"no list", StaleList, func(w *world) Input { w.trust.List = List{}; return w.use() }},
		{"list with another URI", StaleList, func(w *world) Input {
			spec := w.listSpec(2, noon)
			spec.URI += "x"
			w.hold(must(SignList(w.signer, spec))(w.tb))
			return w.use()
		}},
		{"list too old for this door", StaleList, func(w *world) Input { return w.useAt(w.gate, Unlock) }},
		{"list that ended", StaleList, func(w *world) Input {
			spec := w.listSpec(2, noon.Add(-time.Hour))
			spec.Expires = noon
			w.hold(must(SignList(w.signer, spec))(w.tb))
			return w.use()
		}},
		{"list that does not reach the index", StaleList, func(w *world) Input {
			spec := w.listSpec(2, noon)
			spec.Size = 1232
			w.hold(must(SignList(w.signer, spec))(w.tb))
			return w.use()
		}},
	}
}

// full is the memory with other spent nonces up to its bound.
func (n Nonces) full() Nonces {
	n.spent = slices.Clone(n.spent)
	for i := len(n.spent); i < MaxSpent; i++ {
		n.spent = append(n.spent, spentNonce{nonce: [maxNonce]byte{byte(i), byte(i >> 8)}, issued: time.Hour})
	}
	return n
}

// with has the phone use another token.
func (w *world) with(token []byte) Input {
	w.phone.SetToken(token)
	return w.use()
}

func (w *world) clock(now time.Time, err time.Duration, q Quality) Input {
	in := w.use()
	in.Clock = Clock{Now: now, Error: err, Quality: q}
	return in
}

// header signs the phone's token again under another protected header.
func (w *world) header(change func(*header)) []byte {
	doc := must(readSign1(w.phone.token, typeToken, MaxTokenSize))(w.tb)
	change(&doc.header)
	doc.Protected = mustEncode(doc.header)
	return append([]byte{tagSign1}, mustEncode(doc.envelope)...)
}

// strangersToken is the phone's token with the signature of another key under the issuer's key id.
func (w *world) strangersToken() []byte { return w.resign(w.phone.token) }

// resign replaces a document's signature by a stranger's, over the same bytes.
func (w *world) resign(raw []byte) []byte {
	doc, ok := decodeExact[envelope](raw[1:])
	if !ok {
		w.tb.Fatal("not a COSE_Sign1")
	}
	stranger := must(GenerateKey(w.random))(w.tb)
	content := mustEncode([]any{"Signature1", doc.Protected, []byte{}, doc.Payload})
	doc.Signature = must(es256Signer{stranger}.Sign(nil, content))(w.tb)
	return append([]byte{tagSign1}, mustEncode(doc)...)
}

// signedProof presents a proof whose claims were changed before they were signed.
func (w *world) signedProof(change func(*proofClaims)) Input {
	in := w.use()
	doc := must(readSign1(in.Proof, typeProof, MaxProofSize))(w.tb)
	claims, _ := decodeExact[proofClaims](doc.Payload)
	change(&claims)
	in.Proof = must(sign1(w.phone.key, typeProof, claims))(w.tb)
	return in
}

// signedAs signs a document whose header was changed.
func (w *world) signedAs(doc signed, key *ecdsa.PrivateKey) []byte {
	doc.Protected = mustEncode(doc.header)
	content := mustEncode([]any{"Signature1", doc.Protected, []byte{}, doc.Payload})
	doc.Signature = must(es256Signer{key}.Sign(nil, content))(w.tb)
	return append([]byte{tagSign1}, mustEncode(doc.envelope)...)
}
