package smartkey

import (
	"bytes"
	"crypto/ecdsa"
	"slices"
	"strings"
	"time"
)

// served makes the issuer's key one that serves between two times.
func (w *world) served(from, until time.Time) {
	w.pin(w.signer, IssuerKey{Key: must(PublicKeyOf(w.signer.Public()))(w.tb), NotBefore: from, NotAfter: until})
}

// pin has the bridge pin a set of keys, and keeps the list it holds.
func (w *world) pin(signer *ecdsa.PrivateKey, keys ...IssuerKey) {
	raw := must(SignKeySet(signer, KeySetSpec{Property: testProperty, Version: 1, IssuedAt: noon.Add(-48 * time.Hour), Keys: keys}))(w.tb)
	w.trust.Keys = must(PinKeySet(raw, testProperty))(w.tb)
}

// windowed presents a token of another window at noon, by a clock.
func (w *world) windowed(issued, begin, end, err time.Duration, q Quality) Input {
	in := w.with(w.forge(func(c *tokenClaims) {
		c.IssuedAt, c.NotBefore, c.Expires = toSeconds(noon.Add(issued)), toSeconds(noon.Add(begin)), toSeconds(noon.Add(end))
	}))
	in.Clock = Clock{Now: noon, Error: err, Quality: q}
	return in
}

// listed presents the token while the bridge holds another list.
func (w *world) listed(door Door, clockError time.Duration, change func(*ListSpec)) Input {
	spec := w.listSpec(2, noon)
	change(&spec)
	w.hold(must(SignList(w.signer, spec))(w.tb))
	in := w.useAt(door, Unlock)
	in.Clock.Error = clockError
	return in
}

const sec = time.Second

// edgeRows try both sides of every edge of time.
func edgeRows() []row {
	window := func(name string, want Reason, issued, begin, end, err time.Duration, q Quality) row {
		return row{name, want, func(w *world) Input { return w.windowed(issued, begin, end, err, q) }}
	}
	key := func(name string, want Reason, from, until time.Duration) row {
		return row{name, want, func(w *world) Input {
			w.served(noon.Add(from), noon.Add(until))
			w.hold(w.list(2, noon.Add(sec)))
			return w.use()
		}}
	}
	list := func(name string, want Reason, gate bool, err time.Duration, change func(*ListSpec)) row {
		return row{name, want, func(w *world) Input {
			w.served(noon.AddDate(0, -1, 0), noon.AddDate(1, 0, 0))
			door := w.room
			if gate {
				door = w.gate
			}
			return w.listed(door, err, change)
		}}
	}
	issued := func(ago, life time.Duration) func(*ListSpec) {
		return func(s *ListSpec) { s.IssuedAt, s.Expires = noon.Add(-ago), noon.Add(-ago+life) }
	}
	return []row{
		key("token ends with its key", OK, -48*time.Hour, 24*time.Hour),
		key("token outlives its key", UnknownIssuer, -48*time.Hour, 24*time.Hour-sec),
		key("token issued in the first second of its key", OK, 0, 48*time.Hour),
		key("token issued a second before its key served", UnknownIssuer, sec, 48*time.Hour),

		window("window begins at now - e", OK, -10*sec, -10*sec, time.Hour, 10*sec, Synchronized),
		window("window begins a second later than now - e", NotYetValid, -9*sec, -9*sec, time.Hour, 10*sec, Synchronized),
		window("window begins within the error, clock drifts", ClockUntrusted, -9*sec, -9*sec, time.Hour, 10*sec, Drifting),
		window("window begins at now + e, clock untrusted", ClockUntrusted, 0, 10*sec, time.Hour, 10*sec, Untrusted),
		window("window begins at now + e", NotYetValid, 0, 10*sec, time.Hour, 10*sec, Synchronized),
		window("window begins a second after now + e, clock untrusted", NotYetValid, 0, 11*sec, time.Hour, 10*sec, Untrusted),
		window("window ends a second after now + e", OK, -60*sec, -60*sec, 11*sec, 10*sec, Synchronized),
		window("window ends at now + e", Expired, -60*sec, -60*sec, 10*sec, 10*sec, Synchronized),
		window("window ends at now + e, clock drifts", ClockUntrusted, -60*sec, -60*sec, 10*sec, 10*sec, Drifting),
		window("window ends a second after now - e, clock untrusted", ClockUntrusted, -60*sec, -60*sec, -9*sec, 10*sec, Untrusted),
		window("window ends at now - e, clock untrusted", Expired, -60*sec, -60*sec, -10*sec, 10*sec, Untrusted),
		window("window shorter than the error on both sides", NotYetValid, -5*sec, -5*sec, 5*sec, 10*sec, Synchronized),
		window("window shorter than the error on both sides, clock drifts", ClockUntrusted, -5*sec, -5*sec, 5*sec, 10*sec, Drifting),
		window("window begins at now - e and ends within the error", Expired, -10*sec, -10*sec, 5*sec, 10*sec, Synchronized),
		window("window of one second, a clock without error", OK, 0, 0, sec, 0, Synchronized),
		window("untrusted clock without error", OK, -60*sec, -60*sec, time.Hour, 0, Untrusted),
		window("issued 300 s ahead of the clock", OK, 300*sec, 0, time.Hour, 0, Synchronized),
		window("issued 301 s ahead of the clock", ClockUntrusted, 301*sec, sec, time.Hour, 0, Synchronized),
		window("issued 300 s and the error ahead of the clock", NotYetValid, 310*sec, 10*sec, time.Hour, 10*sec, Synchronized),
		window("issued 301 s and the error ahead of the clock", ClockUntrusted, 311*sec, 11*sec, time.Hour, 10*sec, Synchronized),

		list("list issued 300 s and the error ahead of the clock", OK, false, 10*sec, issued(-310*sec, time.Hour)),
		list("list issued 301 s and the error ahead of the clock", ClockUntrusted, false, 10*sec, issued(-311*sec, time.Hour)),
		list("list with another URI ahead of the clock", StaleList, false, 10*sec, func(s *ListSpec) { issued(-time.Hour, time.Hour)(s); s.URI += "x" }),
		list("window over and the list ahead of the clock", ClockUntrusted, false, sec, issued(-30*time.Hour, time.Hour)),
		list("list as old as the door accepts, by now + e", OK, true, 10*sec, issued(890*sec, time.Hour)),
		list("list a second older than the door accepts, by now + e", StaleList, true, 10*sec, issued(891*sec, time.Hour)),
		list("list of 96 hours, by now + e", OK, false, 10*sec, issued(96*time.Hour-10*sec, 97*time.Hour)),
		list("list a second older than 96 hours, by now + e", StaleList, false, 10*sec, issued(96*time.Hour-9*sec, 97*time.Hour)),
		list("list that ends a second after now + e", OK, false, 60*sec, issued(0, 61*sec)),
		list("list that ends at now + e", StaleList, false, 60*sec, issued(0, 60*sec)),
		list("list that ends within the error", StaleList, false, 60*sec, issued(0, 30*sec)),
		list("list that reaches the index with its last bit", OK, false, sec, func(s *ListSpec) { s.Size = 1240 }),
		list("generation at the floor of the second door", OK, true, sec, func(s *ListSpec) {
			s.Floors = []Floor{{Door: DoorID(testBridge, "0x00158d0001a2b3c4"), Generation: 900}, {Door: DoorID(testBridge, "gate"), Generation: 7}}
		}),
		list("only another door has a floor", OK, false, sec, func(s *ListSpec) {
			s.Floors = []Floor{{Door: DoorID(testBridge, "gate"), Generation: maxNumber}}
		}),
	}
}

// orderRows have two things wrong; the reason shows which check comes first.
func orderRows() []row {
	over := func(in Input) Input { in.Clock.Now = noon.Add(25 * time.Hour); return in }
	return []row{
		{"malformed token of another property", Malformed, func(w *world) Input {
			return w.with(w.forge(func(c *tokenClaims) { c.Issuer, c.Operations = "prp_other", nil }))
		}},
		{"token with an unknown key id and a bad signature", UnknownIssuer, func(w *world) Input {
			return w.with(w.resign(w.remake(w.phone.token, w.signer, func(h, _ members) { h[4] = make([]byte, 8) })))
		}},
		{"token that outlives its key, with a bad signature", UnknownIssuer, func(w *world) Input {
			w.served(noon.Add(-time.Hour), noon.Add(time.Hour))
			return w.with(w.strangersToken())
		}},
		{"token with a bad signature, and no proof", BadSignature, func(w *world) Input { in := w.with(w.strangersToken()); in.Proof = nil; return in }},
		{"malformed proof of another phone", Malformed, func(w *world) Input {
			in := w.use()
			in.Proof = w.remake(in.Proof, must(GenerateKey(w.random))(w.tb), func(h, c members) { h[4] = make([]byte, 8); c[-65544] = 0 })
			return in
		}},
		{"proof of another phone with a bad signature", Cloned, func(w *world) Input {
			in := w.use()
			in.Proof = w.resign(w.remake(in.Proof, w.phone.key, func(h, _ members) { h[4] = make([]byte, 8) }))
			return in
		}},
		{"proof for another token with a bad signature", BadSignature, func(w *world) Input {
			in := w.use()
			in.Proof, in.Token = w.resign(in.Proof), w.mint(noon.Add(time.Second)).Raw
			return in
		}},
		{"proof for another token and another bridge", WrongToken, func(w *world) Input {
			in := w.use()
			in.Proof, in.Token = w.prove(func(x *ProofSpec) { x.Bridge = "brg_other" }), w.mint(noon.Add(time.Second)).Raw
			return in
		}},
		{"proof for another bridge with a random nonce", WrongBridge, func(w *world) Input {
			in := w.use()
			in.Proof = w.prove(func(x *ProofSpec) { x.Bridge, x.Nonce = "brg_other", make([]byte, 32) })
			return in
		}},
		{"proof for the site", WrongBridge, func(w *world) Input {
			in := w.use()
			in.Proof = w.prove(func(x *ProofSpec) { x.Bridge = testSite })
			return in
		}},
		{"token and proof for the site", WrongBridge, func(w *world) Input {
			w.grant.Audience = testSite
			in := w.with(w.mint(noon).Raw)
			in.Proof = w.prove(func(x *ProofSpec) { x.Bridge = testSite })
			return in
		}},
		{"token for a site, bridge without a site", WrongBridge, func(w *world) Input {
			w.grant.Audience = testSite
			in := w.with(w.mint(noon).Raw)
			in.Trust.Site = ""
			return in
		}},
		{"used before, thirty seconds ago", UnknownNonce, func(w *world) Input {
			in := w.use()
			in.Nonces = Verify(in).Nonces
			in.Elapsed = time.Hour + NonceLife
			return in
		}},
		{"used before, at another door", Replayed, func(w *world) Input { in := w.use(); in.Nonces = Verify(in).Nonces; in.Door = w.gate; return in }},
		{"another door and another operation", WrongDoor, func(w *world) Input { in := w.use(); in.Door, in.Operation = w.gate, Check; return in }},
		{"another operation after the window", WrongOperation, func(w *world) Input { in := over(w.use()); in.Operation = Check; return in }},
		{"after the window and no list", Expired, func(w *world) Input { w.trust.List = List{}; return over(w.use()) }},
		{"after the window, no known bound of the clock's error", ClockUntrusted, func(w *world) Input { in := over(w.use()); in.Clock.Error = -1; return in }},
		{"revoked after the window", Expired, func(w *world) Input { w.hold(w.list(2, noon, 1234)); return over(w.use()) }},
		{"list with another URI that revokes", StaleList, func(w *world) Input {
			return w.listed(w.room, sec, func(s *ListSpec) { s.URI += "x"; s.Revoked = []uint32{1234} })
		}},
		{"below the floor and revoked", Superseded, func(w *world) Input {
			return w.listed(w.room, sec, func(s *ListSpec) {
				s.Revoked, s.Floors = []uint32{1234}, []Floor{{Door: w.room, Generation: 8}}
			})
		}},
		{"below the floor of an old list that does not reach the index", Superseded, func(w *world) Input {
			return w.listed(w.gate, sec, func(s *ListSpec) {
				s.IssuedAt, s.Size, s.Floors = noon.Add(-time.Hour), 8, []Floor{{Door: w.gate, Generation: 8}}
			})
		}},
		{"revoked by a list that ended", Revoked, func(w *world) Input {
			return w.listed(w.room, sec, func(s *ListSpec) { s.IssuedAt, s.Expires, s.Revoked = noon.Add(-time.Hour), noon, []uint32{1234} })
		}},
	}
}

// boundRows try both sides of the limits of a token and of a proof.
func boundRows() []row {
	token := func(name string, want Reason, change func(w *world, c *tokenClaims)) row {
		return row{name, want, func(w *world) Input { return w.with(w.forge(func(c *tokenClaims) { change(w, c) })) }}
	}
	raw := func(name string, change func(c members)) row {
		return row{name, Malformed, func(w *world) Input {
			return w.with(w.remake(w.phone.token, w.signer, func(_, c members) { change(c) }))
		}}
	}
	proof := func(name string, want Reason, change func(*proofClaims)) row {
		return row{name, want, func(w *world) Input { return w.signedProof(change) }}
	}
	long := strings.Repeat("!~", 32)
	rows := []row{
		token("names of 64 bytes of every visible character", OK, func(_ *world, c *tokenClaims) { c.Subject = long }),
		token("subject of 65 bytes", Malformed, func(_ *world, c *tokenClaims) { c.Subject = long + "x" }),
		token("subject empty", Malformed, func(_ *world, c *tokenClaims) { c.Subject = "" }),
		token("subject with byte 0x7f", Malformed, func(_ *world, c *tokenClaims) { c.Subject = "a\x7f" }),
		token("subject beyond ASCII", Malformed, func(_ *world, c *tokenClaims) { c.Subject = "é" }),
		token("property of 65 bytes", Malformed, func(_ *world, c *tokenClaims) { c.Issuer = long + "x" }),
		token("audience of 65 bytes", Malformed, func(_ *world, c *tokenClaims) { c.Audience = long + "x" }),
		token("audience with a space", Malformed, func(_ *world, c *tokenClaims) { c.Audience = "a b" }),
		token("URI of 257 bytes", Malformed, func(_ *world, c *tokenClaims) { c.Status.List.URI = strings.Repeat("x", 257) }),
		token("URI empty", Malformed, func(_ *world, c *tokenClaims) { c.Status.List.URI = "" }),
		token("URI with a space", Malformed, func(_ *world, c *tokenClaims) { c.Status.List.URI = "a b" }),
		token("index 262,144", Malformed, func(_ *world, c *tokenClaims) { c.Status.List.Index = MaxStatusIndexes }),
		token("index that wraps at 32 bits", Malformed, func(_ *world, c *tokenClaims) { c.Status.List.Index = 1<<32 + 1234 }),
		token("generation of 53 bits", OK, func(_ *world, c *tokenClaims) { c.Generation = maxNumber }),
		token("times beyond 53 bits", Malformed, func(_ *world, c *tokenClaims) { c.IssuedAt, c.NotBefore, c.Expires = 1<<53, 1<<53, 1<<53+60 }),
		token("issue beyond 53 bits, the window within", Malformed, func(_ *world, c *tokenClaims) { c.IssuedAt, c.NotBefore, c.Expires = 1<<53, maxNumber-1, maxNumber }),
		token("end beyond 53 bits", Malformed, func(_ *world, c *tokenClaims) { c.IssuedAt, c.NotBefore, c.Expires = maxNumber, maxNumber, 1<<53 }),
		token("life of 24 hours and a second", Malformed, func(_ *world, c *tokenClaims) { c.Expires = c.IssuedAt + 86401 }),
		token("window ends before it begins", Malformed, func(_ *world, c *tokenClaims) { c.NotBefore = c.Expires + 1 }),
		token("128 doors", OK, func(w *world, c *tokenClaims) { c.Doors = doorsAround(w, 128) }),
		token("129 doors", Malformed, func(w *world, c *tokenClaims) { c.Doors = doorsAround(w, 129) }),
		token("8 operations", OK, func(_ *world, c *tokenClaims) { c.Operations = []Operation{1, 2, 3, 4, 5, 6, 7, 255} }),
		token("9 operations", Malformed, func(_ *world, c *tokenClaims) { c.Operations = []Operation{1, 2, 3, 4, 5, 6, 7, 8, 9} }),
		token("no operations", Malformed, func(_ *world, c *tokenClaims) { c.Operations = nil }),
		token("operations out of order", Malformed, func(_ *world, c *tokenClaims) { c.Operations = []Operation{Check, Unlock} }),
		token("an operation twice", Malformed, func(_ *world, c *tokenClaims) { c.Operations = []Operation{Unlock, Unlock} }),
		token("operation 256", Malformed, func(_ *world, c *tokenClaims) { c.Operations = []Operation{Unlock, 256} }),
		raw("cti of 15 bytes", func(c members) { c[7] = make([]byte, 15) }),
		raw("cti of 17 bytes", func(c members) { c[7] = make([]byte, 17) }),
		raw("a door of 7 bytes", func(c members) { c[-65537] = append([]any{[]byte("\x00short7")}, c[-65537].([]any)...) }),
		raw("a door of 9 bytes", func(c members) { c[-65537] = append([]any{[]byte("\x00too long")}, c[-65537].([]any)...) }),
		raw("an additional member in cnf", func(c members) { c[8].(map[any]any)[2] = []byte{1} }),
		raw("an additional member in status", func(c members) { c[65535].(map[any]any)["x"] = 1 }),
		raw("an additional member in status_list", func(c members) { c[65535].(map[any]any)["status_list"].(map[any]any)["x"] = 1 }),
		raw("negative generation", func(c members) { c[-65539] = -1 }),

		{"index just beyond the list", StaleList, func(w *world) Input {
			w.hold(must(SignList(w.signer, func() ListSpec { s := w.listSpec(2, noon); s.Size = 1232; return s }()))(w.tb))
			return w.with(w.forge(func(c *tokenClaims) { c.Status.List.Index = 1232 }))
		}},
		{"highest index", OK, func(w *world) Input {
			w.hold(must(SignList(w.signer, func() ListSpec { s := w.listSpec(2, noon); s.Size = MaxStatusIndexes; return s }()))(w.tb))
			return w.with(w.forge(func(c *tokenClaims) { c.Status.List.Index = MaxStatusIndexes - 1 }))
		}},
		{"URI of 256 bytes", OK, func(w *world) Input {
			uri := strings.Repeat("!~", 128)
			w.hold(must(SignList(w.signer, func() ListSpec { s := w.listSpec(2, noon); s.URI = uri; return s }()))(w.tb))
			return w.with(w.forge(func(c *tokenClaims) { c.Status.List.URI = uri }))
		}},
		{"audience of 64 bytes", OK, func(w *world) Input {
			w.trust.Site = long
			return w.with(w.forge(func(c *tokenClaims) { c.Audience = long }))
		}},
		proof("nonce of 16 bytes that was not issued", UnknownNonce, func(c *proofClaims) { c.Nonce = make([]byte, 16) }),
		proof("nonce of 33 bytes", Malformed, func(c *proofClaims) { c.Nonce = append(c.Nonce, 0) }),
		proof("proof with operation 0", Malformed, func(c *proofClaims) { c.Operation = 0 }),
		proof("proof with operation 255", WrongOperation, func(c *proofClaims) { c.Operation = 255 }),
		proof("proof with operation 256", Malformed, func(c *proofClaims) { c.Operation = 256 }),
		proof("proof for a bridge of 64 bytes", WrongBridge, func(c *proofClaims) { c.Bridge = long }),
		proof("proof for a bridge of 65 bytes", Malformed, func(c *proofClaims) { c.Bridge = long + "x" }),
		proof("proof for no bridge", Malformed, func(c *proofClaims) { c.Bridge = "" }),
		proof("proof of a phone whose clock is years behind", OK, func(c *proofClaims) { c.SignedAt = 0 }),
		proof("proof of a phone whose clock is far ahead", OK, func(c *proofClaims) { c.SignedAt = maxNumber }),
		{"used at the moment when the nonce was issued", OK, func(w *world) Input { in := w.use(); in.Elapsed = time.Hour; return in }},
		{"token's signature with a zero before s", Malformed, func(w *world) Input { return w.with(padded(w.phone.token)) }},
		{"proof's signature with a zero before s", Malformed, func(w *world) Input { in := w.use(); in.Proof = padded(in.Proof); return in }},
	}
	for name, size := range map[string]int{"a door of 7 bytes": 7, "a door of 9 bytes": 9} {
		rows = append(rows, row{"proof for " + name, Malformed, func(w *world) Input {
			in := w.use()
			in.Proof = w.remake(in.Proof, w.phone.key, func(_, c members) { c[-65543] = bytes.Clone(append(w.room[:7:7], w.room[7], 0)[:size]) })
			return in
		}})
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	return rows
}

// padded is a document with a signature of 65 bytes: a zero before s does not change either number.
func padded(raw []byte) []byte {
	body, signature := raw[:len(raw)-signatureSize-1], raw[len(raw)-signatureSize:]
	return slices.Concat(body, []byte{signatureSize + 1}, signature[:signatureSize/2], []byte{0}, signature[signatureSize/2:])
}

// doorsAround is a token's list of so many doors, the room among them.
func doorsAround(w *world, n int) []Door {
	doors := []Door{w.room}
	for i := 1; i < n; i++ {
		doors = append(doors, Door{0: byte(i), 7: 1})
	}
	slices.SortFunc(doors, compareDoors)
	return doors
}
