package smartkey

import (
	"crypto/ecdsa"
	"io"
	"math/rand/v2"
	"time"
)

// noon is the middle of the stay that most tests use.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const (
	testProperty = "prp_01kaz3v7c2m8q4w6z7c1b0nfe5"
	testBridge   = "brg_01kaz3v7c2m8q4w6z7c1b0nfe6"
	testSite     = "site-main"
	testURI      = "https://keys.example/v1/status/1"
)

// chance is a random generator that is determined by a seed.
func chance(seed uint64) io.Reader {
	var s [32]byte
	s[0], s[1], s[2] = byte(seed), byte(seed>>8), byte(seed>>16)
	return rand.NewChaCha8(s)
}

// failer is the part of *testing.T that the helpers need. rapid's tests implement it too.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// world is one property with a bridge, two doors, an issuer and a phone with a token.
type world struct {
	tb      failer
	random  io.Reader
	signer  *ecdsa.PrivateKey
	issuer  Issuer
	trust   Trust
	nonces  Nonces
	phone   *Phone
	grant   Grant
	room    Door
	gate    Door
	foreign Door
}

func newWorld(tb failer, seed uint64) *world {
	tb.Helper()
	w := &world{tb: tb, random: chance(seed)}
	w.room, w.gate, w.foreign = DoorID(testBridge, "0x00158d0001a2b3c4"), DoorID(testBridge, "gate"), DoorID("brg_other", "gate")
	w.signer = must(GenerateKey(w.random))(tb)
	keys := must(PinKeySet(w.keySet(w.signer, 1, w.signer), testProperty))(tb)
	list := must(keys.OpenList(w.list(1, noon.Add(-time.Hour))))(tb)
	w.issuer = must(NewIssuer(w.signer, keys, testURI, w.random))(tb)
	w.trust = Trust{
		Bridge: testBridge, Site: testSite, Keys: keys, List: list,
		Doors: map[Door]DoorRule{w.room: {}, w.gate: {MaxListAge: 15 * time.Minute}},
	}
	w.nonces = must(NewNonces(w.random, testBridge))(tb)
	w.phone = must(NewPhone(w.random))(tb)
	w.grant = Grant{
		Subject: must(NewSubject(w.random))(tb), Audience: testBridge,
		Doors: []Door{w.room, w.gate}, Operations: []Operation{Unlock, Check},
		Start: noon.Add(-20 * time.Hour), End: noon.Add(46 * time.Hour),
		Generation: 7, StatusIndex: 1234, Phone: must(w.phone.Key())(tb),
	}
	w.phone.SetToken(w.mint(noon).Raw)
	return w
}

func (w *world) mint(now time.Time) Token {
	w.tb.Helper()
	return must(w.issuer.Mint(w.grant, now))(w.tb)
}

// keySet signs a set of keys that are valid for a year. The first key is the current one.
func (w *world) keySet(signer *ecdsa.PrivateKey, version uint64, keys ...*ecdsa.PrivateKey) []byte {
	w.tb.Helper()
	spec := KeySetSpec{Property: testProperty, Version: version, IssuedAt: noon.Add(-48 * time.Hour)}
	for _, k := range keys {
		spec.Keys = append(spec.Keys, IssuerKey{
			Key: must(PublicKeyOf(k.Public()))(w.tb), NotBefore: noon.Add(-48 * time.Hour), NotAfter: noon.AddDate(1, 0, 0),
		})
	}
	return must(SignKeySet(signer, spec))(w.tb)
}

// list signs a status list that revokes indexes and knows 4,096.
func (w *world) list(number uint64, issued time.Time, revoked ...uint32) []byte {
	w.tb.Helper()
	return must(SignList(w.signer, w.listSpec(number, issued, revoked...)))(w.tb)
}

func (w *world) listSpec(number uint64, issued time.Time, revoked ...uint32) ListSpec {
	return ListSpec{
		Property: testProperty, URI: testURI, Number: number, IssuedAt: issued,
		Expires: issued.Add(DefaultMaxListAge), Size: 4096, Revoked: revoked,
	}
}

// hold gives the bridge a list.
func (w *world) hold(raw []byte) {
	w.tb.Helper()
	w.trust.List = must(w.trust.Keys.OpenList(raw))(w.tb)
}

// use has the phone present its token at the room, at noon, an hour after the bridge's start.
func (w *world) use() Input {
	w.tb.Helper()
	return w.useAt(w.room, Unlock)
}

func (w *world) useAt(door Door, op Operation) Input {
	w.tb.Helper()
	elapsed := time.Hour
	nonce := must(w.nonces.Issue(w.random, elapsed))(w.tb)
	p := must(w.phone.Present(Greeting{Bridge: testBridge, Nonce: nonce}, door, op, noon))(w.tb)
	return Input{
		Trust: w.trust, Token: p.Token, Proof: p.Proof, Door: door, Operation: op,
		Clock:   Clock{Now: noon, Error: time.Second, Quality: Synchronized},
		Elapsed: elapsed + 2*time.Second, Nonces: w.nonces,
	}
}

// prove makes a proof for the phone's token with changes.
func (w *world) prove(change func(*ProofSpec)) []byte {
	w.tb.Helper()
	spec := ProofSpec{Bridge: testBridge, Nonce: must(w.nonces.Issue(w.random, time.Hour))(w.tb), Door: w.room, Operation: Unlock}
	change(&spec)
	return must(SignProof(w.phone.key, w.phone.token, spec, noon))(w.tb)
}

// forge signs changed claims of the token with the issuer key.
func (w *world) forge(change func(*tokenClaims)) []byte {
	w.tb.Helper()
	doc := must(readSign1(w.phone.token, typeToken, MaxTokenSize))(w.tb)
	claims, _ := decodeExact[tokenClaims](doc.Payload)
	change(&claims)
	return must(sign1(w.signer, typeToken, claims))(w.tb)
}

func must[T any](v T, err error) func(failer) T {
	return func(tb failer) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}
