package smartkey

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// step is a key set or status list that is offered to a verifier.
type step struct {
	name string
	want Reason
	raw  []byte
}

// rotation is a property's keys over time: a, then a and b, then b alone.
type rotation struct {
	*world
	a, b, stranger *ecdsa.PrivateKey
	v1, v2, v3, v4 []byte
}

func newRotation(tb failer) rotation {
	w := newWorld(tb, 77)
	r := rotation{world: w, a: w.signer, b: must(GenerateKey(w.random))(tb), stranger: must(GenerateKey(w.random))(tb)}
	r.v1 = w.trust.Keys.Raw()
	r.v2 = w.keySet(r.a, 2, r.a, r.b) // b announced
	r.v3 = w.keySet(r.a, 3, r.b, r.a) // b current, a overlaps
	r.v4 = w.keySet(r.b, 4, r.b)      // a gone
	return r
}

// offers are key sets for a verifier that pinned version 1.
func (r rotation) offers() []step {
	spec := KeySetSpec{Property: "prp_other", Version: 9, IssuedAt: noon, Keys: r.trust.Keys.keys}
	foreign := must(SignKeySet(r.a, spec))(r.tb)
	return []step{
		{"the next version", OK, r.v2},
		{"a version skipped", OK, r.v3},
		{"signed by the current key of a skipped version", UnknownIssuer, r.v4},
		{"the pinned version", NotNewer, r.v1},
		{"signed by a stranger", UnknownIssuer, r.keySet(r.stranger, 9, r.stranger)},
		{"signed by a stranger under the current key's id", BadSignature, r.resign(r.v2)},
		{"of another property", WrongProperty, foreign},
		{"high s", BadSignature, highS(r.v2)},
		{"a token", Malformed, r.phone.token},
		{"a trailing byte", Malformed, append(bytes.Clone(r.v2), 0)},
		{"empty", Malformed, nil},
	}
}

func TestKeySetOffers(t *testing.T) {
	r := newRotation(t)
	for _, s := range r.offers() {
		next, err := r.trust.Keys.Advance(s.raw)
		if got := ReasonOf(err); got != s.want {
			t.Errorf("%s: %v, want %s", s.name, err, s.want)
		}
		if err != nil && next.Version() != 1 {
			t.Errorf("%s: refused, and yet version %d is pinned", s.name, next.Version())
		}
	}
	if _, err := (KeySet{}).Advance(r.v1); ReasonOf(err) != UnknownIssuer {
		t.Errorf("a verifier without keys took a set: %v", err)
	}
	if _, err := PinKeySet(r.v1, "prp_other"); ReasonOf(err) != WrongProperty {
		t.Errorf("pinned for another property: %v", err)
	}
	if _, err := PinKeySet(r.resign(r.v1), testProperty); ReasonOf(err) != BadSignature {
		t.Errorf("pinned with a signature that does not hold: %v", err)
	}
}

// TestRotation: tokens of the old key are valid through the overlap and not after it. The old key cannot bring itself back.
func TestRotation(t *testing.T) {
	r := newRotation(t)
	old := r.phone.token
	keys := r.trust.Keys
	for i, raw := range [][]byte{r.v2, r.v3} {
		keys = must(keys.Advance(raw))(t)
		if _, err := keys.OpenToken(old); err != nil {
			t.Errorf("version %d: the old key's token: %v", i+2, err)
		}
	}
	if _, err := keys.Advance(r.keySet(r.a, 9, r.a)); ReasonOf(err) != UnknownIssuer {
		t.Errorf("the key before made a key set: %v", err)
	}
	keys = must(keys.Advance(r.v4))(t)
	if _, err := keys.OpenToken(old); ReasonOf(err) != UnknownIssuer {
		t.Errorf("after the overlap the old key's token: %v", err)
	}
	again := must(PinKeySet(keys.Raw(), testProperty))(t)
	if again.Version() != 4 || len(again.Keys()) != 1 {
		t.Errorf("from the store: version %d with %d keys", again.Version(), len(again.Keys()))
	}
	in := r.use()
	in.Trust.Keys = must(must(r.trust.Keys.Advance(r.v3))(t).Advance(r.v4))(t)
	if got := Verify(in).Reason; got != UnknownIssuer {
		t.Errorf("old token after the overlap: %s", got)
	}
}

// TestListOfARemovedKey: a list whose signer was removed counts as none, so that a stolen key's list with the greatest number does
// not block later lists.
func TestListOfARemovedKey(t *testing.T) {
	r := newRotation(t)
	keys := must(must(r.trust.Keys.Advance(r.v3))(t).Advance(r.v4))(t)
	stuck := must(r.trust.Keys.OpenList(r.list(maxNumber, noon)))(t)
	r.signer = r.b
	fresh := r.list(2, noon)
	if _, err := r.trust.Keys.AdvanceList(stuck, fresh); ReasonOf(err) != UnknownIssuer {
		t.Errorf("a list by a key that is not pinned: %v", err)
	}
	if got := must(keys.AdvanceList(stuck, fresh))(t).Number(); got != 2 {
		t.Errorf("list %d is held, want 2", got)
	}
	r.issuer = must(NewIssuer(r.b, keys, testURI, r.random))(t)
	r.phone.SetToken(r.mint(noon).Raw)
	in := r.use()
	in.Trust.Keys, in.Trust.List = keys, stuck
	if got := Verify(in).Reason; got != StaleList {
		t.Errorf("judged by a list of a removed key: %s", got)
	}
}

// listOffers are lists for a verifier that holds list 5.
func listOffers(w *world) []step {
	stranger := must(GenerateKey(w.random))(w.tb)
	foreign := w.listSpec(9, noon)
	foreign.Property = "prp_other"
	early := w.listSpec(9, noon.Add(-72*time.Hour))
	two := w.listDoc(func(c *listClaims) { c.Status.Bits = 2 })
	return []step{
		{"the next number", OK, w.list(6, noon, 7)},
		{"numbers skipped", OK, w.list(600, noon)},
		{"the same number", NotNewer, w.list(5, noon, 9)},
		{"the previous number", NotNewer, w.list(4, noon)},
		{"of a stranger", UnknownIssuer, must(SignList(stranger, w.listSpec(9, noon)))(w.tb)},
		{"of a stranger under the current key's id", BadSignature, w.resign(w.list(9, noon))},
		{"of another property", UnknownIssuer, must(SignList(w.signer, foreign))(w.tb)},
		{"issued before its key served", UnknownIssuer, must(SignList(w.signer, early))(w.tb)},
		{"two bits per index", Malformed, two},
		{"number 0", Malformed, w.listDoc(func(c *listClaims) { c.Number = 0 })},
		{"ends at its issue", Malformed, w.listDoc(func(c *listClaims) { c.Expires = c.IssuedAt })},
		{"a door's floor twice", Malformed, w.listDoc(func(c *listClaims) { c.Floors = []Floor{{Door: w.room}, {Door: w.room}} })},
		{"broken zlib", Malformed, w.listDoc(func(c *listClaims) { c.Status.Compressed = c.Status.Compressed[1:] })},
		{"bytes after zlib", Malformed, w.listDoc(func(c *listClaims) { c.Status.Compressed = append(c.Status.Compressed, 0) })},
		{"lst that expands to 8 MiB", Malformed, w.listDoc(func(c *listClaims) { c.Status.Compressed = must(compress(make([]byte, 8<<20)))(w.tb) })},
		{"high s", BadSignature, highS(w.list(9, noon))},
		{"a trailing byte", Malformed, append(w.list(9, noon), 0)},
	}
}

// listDoc signs the claims of a list that were changed.
func (w *world) listDoc(change func(*listClaims)) []byte {
	doc := must(readSign1(w.list(9, noon), typeList, MaxListSize))(w.tb)
	claims, _ := decodeExact[listClaims](doc.Payload)
	change(&claims)
	return must(sign1(w.signer, typeList, claims))(w.tb)
}

func TestListOffers(t *testing.T) {
	w := newWorld(t, 5)
	held := must(w.trust.Keys.OpenList(w.list(5, noon.Add(-time.Minute))))(t)
	for _, s := range listOffers(w) {
		next, err := w.trust.Keys.AdvanceList(held, s.raw)
		if got := ReasonOf(err); got != s.want {
			t.Errorf("%s: %v, want %s", s.name, err, s.want)
		}
		if err != nil && next.Number() != 5 {
			t.Errorf("%s: refused, and yet list %d is held", s.name, next.Number())
		}
	}
}

// answers are possessions that phones send in answer to a server's challenge.
func answers(w *world) (PossessionSpec, []step) {
	q := PossessionSpec{Property: testProperty, Purpose: Enrol, Challenge: bytes.Repeat([]byte{7}, 32)}
	say := func(change func(*PossessionSpec)) []byte {
		other := q
		change(&other)
		return must(w.phone.SignPossession(other, noon))(w.tb)
	}
	thief := must(NewPhone(w.random))(w.tb)
	swapped := must(readSign1(say(func(*PossessionSpec) {}), typePossession, MaxPossessionSize))(w.tb)
	claims, _ := decodeExact[possessionClaims](swapped.Payload)
	claims.Confirm.Key = must(thief.Key())(w.tb).cose()
	mislabelled := must(readSign1(say(func(*PossessionSpec) {}), typePossession, MaxPossessionSize))(w.tb)
	mislabelled.KeyID[0] ^= 1
	return q, []step{
		{"the phone's answer", OK, say(func(*PossessionSpec) {})},
		{"signed under another key's id", BadSignature, w.signedAs(mislabelled, w.phone.key)},
		{"to another challenge", WrongChallenge, say(func(q *PossessionSpec) { q.Challenge = bytes.Repeat([]byte{8}, 32) })},
		{"to the challenge cut short", WrongChallenge, say(func(q *PossessionSpec) { q.Challenge = q.Challenge[:31] })},
		{"for another purpose", WrongChallenge, say(func(q *PossessionSpec) { q.Purpose = Renew })},
		{"for another property", WrongProperty, say(func(q *PossessionSpec) { q.Property = "prp_other" })},
		{"cnf with another phone's key", BadSignature, must(sign1(w.phone.key, typePossession, claims))(w.tb)},
		{"signed by another key", BadSignature, w.resign(say(func(*PossessionSpec) {}))},
		{"high s", BadSignature, highS(say(func(*PossessionSpec) {}))},
		{"a proof", Malformed, w.prove(func(*ProofSpec) {})},
		{"empty", Malformed, nil},
	}
}

func TestPossession(t *testing.T) {
	w := newWorld(t, 6)
	q, offers := answers(w)
	for _, s := range offers {
		key, err := VerifyPossession(s.raw, q)
		if ReasonOf(err) != s.want {
			t.Errorf("%s: %v, want %s", s.name, err, s.want)
		}
		if (err == nil) != (key == w.grant.Phone) {
			t.Errorf("%s: another key than the phone's", s.name)
		}
	}
	for _, q := range []PossessionSpec{
		{Purpose: Enrol, Challenge: make([]byte, 16)},
		{Property: "p", Purpose: 3, Challenge: make([]byte, 16)},
		{Property: "p", Purpose: Renew, Challenge: make([]byte, 33)},
	} {
		if _, err := w.phone.SignPossession(q, noon); err == nil {
			t.Errorf("answered a question out of bounds: %+v", q)
		}
	}
}

func TestKeys(t *testing.T) {
	w := newWorld(t, 8)
	key := w.grant.Phone
	if got := must(readKey(t, key.Encode()))(t); got != key || len(key.Encode()) != 75 {
		t.Errorf("COSE_Key of %d bytes reads as another", len(key.Encode()))
	}
	if got := must(NewPublicKey(key.Uncompressed()))(t); got != key {
		t.Error("the point reads as another")
	}
	off := key.Uncompressed()
	off[64] ^= 1
	p384 := must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))(t)
	for name, err := range map[string]error{
		"a point off the curve": second(NewPublicKey(off)),
		"compressed":            second(NewPublicKey(append([]byte{2}, off[1:33]...))),
		"no bytes":              second(NewPublicKey(nil)),
		"P-384":                 second(PublicKeyOf(p384.Public())),
		"no key":                second(PublicKeyOf(nil)),
		"infinity":              second(coseKey{Type: 2, Curve: 1}.public()),
		"P-384's curve":         second(coseKey{Type: 2, Curve: 2, X: [32]byte(off[1:33]), Y: [32]byte(off[33:])}.public()),
	} {
		if err == nil {
			t.Errorf("%s: taken for a key", name)
		}
	}
	if _, err := GenerateKey(bytes.NewReader(make([]byte, 1000))); err == nil {
		t.Error("a generator of zeros yields a key")
	}
	if _, err := GenerateKey(strings.NewReader("short")); err == nil {
		t.Error("a generator that ends yields a key")
	}
}

func second[T any](_ T, err error) error { return err }

// TestNothingSecretPrints: a value that contains a key does not print it, in any format.
func TestNothingSecretPrints(t *testing.T) {
	w := newWorld(t, 9)
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	for _, v := range []any{w.nonces, w.phone, w.issuer, struct{ P *Phone }{w.phone}, struct{ N Nonces }{w.nonces}} {
		fmt.Fprintf(&out, "%v %+v %#v %s\n", v, v, v, v)
		log.Info("it", "value", v)
	}
	scalar := must(w.phone.key.Bytes())(t)
	issuer := must(w.signer.Bytes())(t)
	for name, secret := range map[string][]byte{"nonce key": w.nonces.key[:], "phone key": scalar, "issuer key": issuer} {
		for _, form := range []string{fmt.Sprint(secret), fmt.Sprintf("%x", secret), fmt.Sprintf("%#v", secret), string(secret)} {
			if strings.Contains(out.String(), strings.Trim(form, "[]")) {
				t.Errorf("the %s was printed", name)
			}
		}
	}
}

func TestCourier(t *testing.T) {
	w := newWorld(t, 10)
	g := Greeting{Bridge: testBridge, Nonce: make([]byte, 32), KeySetVersion: 3, ListNumber: 9}
	if diff := cmp.Diff(g, must(DecodeGreeting(g.Encode()))(t)); diff != "" {
		t.Error(diff)
	}
	p := must(w.phone.Present(g, w.room, Unlock, noon))(t)
	p.List, p.KeySets = w.list(2, noon), [][]byte{w.keySet(w.signer, 2, w.signer)}
	raw := must(p.Encode())(t)
	if diff := cmp.Diff(p, must(DecodePresentation(raw))(t)); diff != "" {
		t.Error(diff)
	}
	if a := must(DecodeAnswer(Answer{Reason: Revoked, Detail: "x"}.Encode()))(t); a.Reason != Revoked {
		t.Errorf("answer %+v", a)
	}
	fresh := w.trust.Refresh(p)
	if fresh.Keys.Version() != 2 || fresh.List.Number() != 2 {
		t.Errorf("after a presentation: key set %d, list %d", fresh.Keys.Version(), fresh.List.Number())
	}
	p.List, p.KeySets = w.resign(w.list(3, noon)), [][]byte{w.resign(w.keySet(w.signer, 3, w.signer)), {1}}
	same := fresh.Refresh(p)
	if same.Keys.Version() != 2 || same.List.Number() != 2 {
		t.Error("a stranger's list or key set was taken")
	}
	for name, bad := range map[string]Presentation{
		"no token": {Proof: p.Proof}, "no proof": {Token: p.Token}, "large token": {Token: make([]byte, MaxTokenSize+1), Proof: p.Proof},
		"nine key sets": {Token: p.Token, Proof: p.Proof, KeySets: make([][]byte, 9)}, "empty key set": {Token: p.Token, Proof: p.Proof, KeySets: [][]byte{{}}},
	} {
		if _, err := bad.Encode(); err == nil {
			t.Errorf("%s: encoded", name)
		}
		if _, err := DecodePresentation(mustEncode(bad)); ReasonOf(err) != Malformed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReasonOf(t *testing.T) {
	if got := ReasonOf(fmt.Errorf("around: %w", refuse(Revoked, "x"))); got != Revoked {
		t.Errorf("wrapped: %s", got)
	}
	if got := ReasonOf(errors.New("another")); got != Malformed {
		t.Errorf("an error without a reason: %s; it must be a refusal", got)
	}
	if DoorID("ba", "c") == DoorID("b", "ac") {
		t.Error("two doors have one id")
	}
}
