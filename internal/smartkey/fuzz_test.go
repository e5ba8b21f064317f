package smartkey

import (
	"bytes"
	"slices"
	"testing"
	"time"
)

// mutate changes raw at an offset: patch overwrites, is inserted, replaces the rest, or its length is deleted.
func mutate(raw []byte, offset uint16, how uint8, patch []byte) []byte {
	at := int(offset) % (len(raw) + 1)
	out := slices.Clone(raw)
	switch how % 4 {
	case 0:
		return append(out[:at:at], append(patch, raw[min(len(raw), at+len(patch)):]...)...)
	case 1:
		return slices.Insert(out, at, patch...)
	case 2:
		return append(out[:at:at], patch...)
	default:
		return slices.Delete(out, at, min(len(out), at+len(patch)))
	}
}

// seeds adds whole documents and likely changes of them.
func seeds(f *testing.F, raws ...[]byte) {
	for _, raw := range raws {
		f.Add(uint16(0), uint8(0), raw)
		f.Add(uint16(0), uint8(0), highS(raw))
		f.Add(uint16(0), uint8(2), raw)
		f.Add(uint16(1), uint8(0), []byte{0x98, 4})
		f.Add(uint16(len(raw)-32), uint8(0), highS(raw)[len(raw)-32:])
		f.Add(uint16(len(raw)), uint8(1), []byte{0})
		f.Add(uint16(40), uint8(1), []byte{0xa0})
		f.Add(uint16(5), uint8(3), []byte{1, 2})
	}
}

// FuzzToken: no mutation of a valid token is accepted.
func FuzzToken(f *testing.F) {
	w := newWorld(f, 21)
	good := w.phone.token
	seeds(f, good)
	for _, raw := range otherEncodings(w) {
		f.Add(uint16(0), uint8(2), raw)
	}
	f.Fuzz(func(t *testing.T, offset uint16, how uint8, patch []byte) {
		raw := mutate(good, offset, how, patch)
		token, err := w.trust.Keys.OpenToken(raw)
		if (err == nil) != bytes.Equal(raw, good) {
			t.Fatalf("%x: %v", raw, err)
		}
		if err == nil && !bytes.Equal(token.Raw, good) {
			t.Fatal("read as another token")
		}
	})
}

// FuzzProof: the same of a proof, through the whole verification.
func FuzzProof(f *testing.F) {
	w := newWorld(f, 22)
	in := w.use()
	good := in.Proof
	seeds(f, good)
	f.Fuzz(func(t *testing.T, offset uint16, how uint8, patch []byte) {
		in := in
		in.Proof = mutate(good, offset, how, patch)
		if v := Verify(in); v.Accepted() != bytes.Equal(in.Proof, good) {
			t.Fatalf("%x: %s", in.Proof, v.Reason)
		}
	})
}

// FuzzKeySet: the same of a key set.
func FuzzKeySet(f *testing.F) {
	r := newRotation(f)
	seeds(f, r.v2)
	f.Fuzz(func(t *testing.T, offset uint16, how uint8, patch []byte) {
		raw := mutate(r.v2, offset, how, patch)
		next, err := r.trust.Keys.Advance(raw)
		if (err == nil) != bytes.Equal(raw, r.v2) || (err == nil) != (next.Version() == 2) {
			t.Fatalf("%x: %v", raw, err)
		}
	})
}

// FuzzList: the same of a status list.
func FuzzList(f *testing.F) {
	w := newWorld(f, 23)
	spec := w.listSpec(2, noon, 1, 5, 99)
	spec.Floors = []Floor{{Door: w.room, Generation: 3}, {Door: w.gate, Generation: 4}}
	good := must(SignList(w.signer, spec))(f)
	seeds(f, good)
	f.Fuzz(func(t *testing.T, offset uint16, how uint8, patch []byte) {
		raw := mutate(good, offset, how, patch)
		next, err := w.trust.Keys.AdvanceList(w.trust.List, raw)
		if (err == nil) != bytes.Equal(raw, good) || (err == nil) != (next.Number() == 2) {
			t.Fatalf("%x: %v", raw, err)
		}
	})
}

// FuzzPossession: the same of an enrolment.
func FuzzPossession(f *testing.F) {
	w := newWorld(f, 24)
	q, offers := answers(w)
	good := offers[0].raw
	seeds(f, good)
	f.Fuzz(func(t *testing.T, offset uint16, how uint8, patch []byte) {
		raw := mutate(good, offset, how, patch)
		if _, err := VerifyPossession(raw, q); (err == nil) != bytes.Equal(raw, good) {
			t.Fatalf("%x: %v", raw, err)
		}
	})
}

// FuzzSignedClaims: whatever an issuer signs, what is taken is within the limits
// and has one encoding.
func FuzzSignedClaims(f *testing.F) {
	w := newWorld(f, 25)
	good := must(readSign1(w.phone.token, typeToken, MaxTokenSize))(f)
	seeds(f, good.Payload)
	f.Fuzz(func(t *testing.T, offset uint16, how uint8, patch []byte) {
		payload := mutate(good.Payload, offset, how, patch)
		env := envelope{Protected: good.Protected, Payload: payload}
		env.Signature = must(es256Signer{w.signer}.Sign(nil, mustEncode([]any{"Signature1", env.Protected, []byte{}, payload})))(t)
		token, err := w.trust.Keys.OpenToken(append([]byte{tagSign1}, mustEncode(env)...))
		if err != nil {
			return
		}
		claims, ok := decodeExact[tokenClaims](payload)
		if !ok || !bytes.Equal(mustEncode(claims), payload) {
			t.Fatalf("%x: a second encoding", payload)
		}
		if token.Expires.Sub(token.IssuedAt) > MaxLife || token.IssuedAt.Sub(token.NotBefore) > MaxBackdate ||
			len(token.Doors) == 0 || len(token.Doors) > MaxDoors || !token.NotBefore.Before(token.Expires) || token.Property != testProperty {
			t.Fatalf("%x: taken out of bounds", payload)
		}
	})
}

// FuzzSignedList: whatever an issuer signs as a list costs bounded memory.
func FuzzSignedList(f *testing.F) {
	w := newWorld(f, 26)
	good := must(readSign1(w.list(2, noon, 1, 5, 99), typeList, MaxListSize))(f)
	seeds(f, good.Payload)
	f.Fuzz(func(t *testing.T, offset uint16, how uint8, patch []byte) {
		env := envelope{Protected: good.Protected, Payload: mutate(good.Payload, offset, how, patch)}
		env.Signature = must(es256Signer{w.signer}.Sign(nil, mustEncode([]any{"Signature1", env.Protected, []byte{}, env.Payload})))(t)
		list, err := w.trust.Keys.OpenList(append([]byte{tagSign1}, mustEncode(env)...))
		if err == nil && (list.Size() == 0 || list.Size() > MaxStatusIndexes || list.Number() == 0 || len(list.floors) > MaxFloors) {
			t.Fatalf("%x: taken out of bounds", env.Payload)
		}
	})
}

// FuzzCourier: the unsigned messages read back as they were written, or not at all.
func FuzzCourier(f *testing.F) {
	w := newWorld(f, 27)
	g := Greeting{Bridge: testBridge, Nonce: make([]byte, 32), KeySetVersion: 3, ListNumber: 9}
	p := must(w.phone.Present(g, w.room, Unlock, noon))(f)
	f.Add(g.Encode())
	f.Add(must(p.Encode())(f))
	p.List, p.KeySets = w.list(2, noon), [][]byte{w.keySet(w.signer, 2, w.signer)}
	f.Add(must(p.Encode())(f))
	f.Add(Answer{Reason: Revoked, Detail: "x"}.Encode())
	f.Fuzz(func(t *testing.T, raw []byte) {
		if g, err := DecodeGreeting(raw); err == nil && !bytes.Equal(g.Encode(), raw) {
			t.Fatal("a greeting has two encodings")
		}
		if a, err := DecodeAnswer(raw); err == nil && !bytes.Equal(a.Encode(), raw) {
			t.Fatal("an answer has two encodings")
		}
		p, err := DecodePresentation(raw)
		if err != nil {
			return
		}
		if again, err := p.Encode(); err != nil || !bytes.Equal(again, raw) {
			t.Fatal("a presentation has two encodings")
		}
		in := Input{Trust: w.trust.Refresh(p), Token: p.Token, Proof: p.Proof, Door: w.room, Operation: Unlock, Nonces: w.nonces}
		in.Clock = Clock{Now: noon, Quality: Synchronized}
		in.Elapsed = 2 * time.Hour
		if Verify(in).Accepted() {
			t.Fatal("accepted without a nonce of its own")
		}
	})
}

// BenchmarkVerify is the whole of one accepted use, with a memory half full; at most 1 ms.
func BenchmarkVerify(b *testing.B) {
	w := newWorld(b, 31)
	in := w.use()
	for i := range MaxSpent / 2 {
		in.Nonces.spent = append(in.Nonces.spent, spentNonce{nonce: [32]byte{byte(i), byte(i >> 8)}, issued: time.Hour})
	}
	b.ReportAllocs()
	for b.Loop() {
		if v := Verify(in); !v.Accepted() {
			b.Fatal(v.Reason)
		}
	}
}

// BenchmarkRefuseForged is what a stranger's token costs.
func BenchmarkRefuseForged(b *testing.B) {
	w := newWorld(b, 32)
	in := w.use()
	in.Token = w.strangersToken()
	for b.Loop() {
		if v := Verify(in); v.Reason != BadSignature {
			b.Fatal(v.Reason)
		}
	}
}

// BenchmarkMint is one token.
func BenchmarkMint(b *testing.B) {
	w := newWorld(b, 33)
	for b.Loop() {
		must(w.issuer.Mint(w.grant, noon))(b)
	}
}

// BenchmarkOpenLargestList is what a pushed list costs at most.
func BenchmarkOpenLargestList(b *testing.B) {
	w := newWorld(b, 34)
	spec := w.listSpec(2, noon)
	spec.Size = MaxStatusIndexes
	for _, d := range manyDoors(MaxFloors) {
		spec.Floors = append(spec.Floors, Floor{Door: d, Generation: 1})
	}
	raw := must(SignList(w.signer, spec))(b)
	for b.Loop() {
		must(w.trust.Keys.OpenList(raw))(b)
	}
}
