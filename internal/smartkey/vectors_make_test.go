package smartkey

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// makeVectors writes down the rows that the other tests run.
func makeVectors(t *testing.T) vectors {
	v := vectors{
		Format: "smartkey vectors/1",
		About: []string{
			"Test vectors of docs/smartkey.md. Bytes are hexadecimal, times are seconds since 1970, UTC.",
			"uses: set a verifier up with keySet and list, as bridge and site, driving the doors of maxListAgeSeconds (0: 96 hours).",
			"It gave the proof's nonce out nonceAgeMilliseconds ago (null: never) and has seen it used if nonceSpent.",
			"Then token and proof are presented for door and operation; the answer must be want.",
			"keySetSteps: keySet is pinned and next is offered. listSteps: held is held and next is offered.",
			"possessions: the statement answers the server's question of purpose and challenge, at property.",
			"courier: bytes are read as kind.",
			"The private keys are published here and must be used for nothing else.",
		},
		Property: testProperty, KeySets: map[string]string{}, Lists: map[string]string{},
	}
	r := newRotation(t)
	v.addKey(t, "issuer", r.a)
	v.addKey(t, "issuer, the next", r.b)
	v.addKey(t, "phone", r.phone.key)
	for _, address := range []string{"0x00158d0001a2b3c4", "gate", ""} {
		v.Doors = append(v.Doors, doorVector{Bridge: testBridge, Address: address, Door: DoorID(testBridge, address).String()})
	}
	v.addUses(t)
	pinned := v.keySet(r.trust.Keys)
	for _, s := range r.offers() {
		v.KeySetSteps = append(v.KeySetSteps, stepVector{Name: s.name, Want: s.want, KeySet: pinned, Next: hex.EncodeToString(s.raw)})
	}
	w := vectorWorld(t)
	keys, held := v.keySet(w.trust.Keys), v.list(must(w.trust.Keys.OpenList(w.list(5, noon.Add(-time.Minute))))(t))
	for _, s := range listOffers(w) {
		v.ListSteps = append(v.ListSteps, stepVector{Name: s.name, Want: s.want, KeySet: keys, Held: held, Next: hex.EncodeToString(s.raw)})
	}
	q, offers := answers(w)
	for _, s := range offers {
		v.Possessions = append(v.Possessions, possessionVector{
			Name: s.name, Want: s.want, Purpose: q.Purpose, Challenge: hex.EncodeToString(q.Challenge), Statement: hex.EncodeToString(s.raw),
		})
	}
	v.addCourier(w)
	return v
}

// vectorWorld is the same for every row, so that most share their key set and list.
func vectorWorld(t failer) *world {
	w := newWorld(t, 77)
	w.nonces = vectorNonces()
	return w
}

func (v *vectors) addKey(t failer, name string, key *ecdsa.PrivateKey) {
	pub := must(PublicKeyOf(key.Public()))(t)
	thumb := pub.Thumbprint()
	v.Keys = append(v.Keys, keyVector{
		Name: name, Private: hex.EncodeToString(must(key.Bytes())(t)), Public: hex.EncodeToString(pub.Encode()),
		Thumbprint: hex.EncodeToString(thumb[:]), KeyID: pub.KeyID().String(),
	})
}

func (v *vectors) addUses(t failer) {
	for _, row := range append(acceptedRows(), refusedRows()...) {
		if !slices.Contains(own, row.name) {
			w := vectorWorld(t)
			v.addUse(row.name, row.want, row.in(w))
		}
	}
	w := vectorWorld(t)
	odd := otherEncodings(w)
	maps.Copy(odd, signedOddly(w))
	for _, name := range slices.Sorted(maps.Keys(odd)) {
		in := w.use()
		in.Token = odd[name]
		v.addUse("token, "+name, Malformed, in)
	}
}

func (v *vectors) addUse(name string, want Reason, in Input) {
	u := useVector{
		Name: name, Want: want, Token: hex.EncodeToString(in.Token), Proof: hex.EncodeToString(in.Proof),
		KeySet: v.keySet(in.Trust.Keys), Bridge: in.Trust.Bridge, Site: in.Trust.Site,
		MaxListAge: map[string]int{}, Door: in.Door.String(), Operation: in.Operation,
		Clock: clockVector{Now: in.Clock.Now.Unix(), Error: int64(in.Clock.Error / time.Second), Quality: in.Clock.Quality},
	}
	if in.Clock.Error < 0 {
		u.Clock.Error = -1
	}
	if u.KeySet != "" {
		u.List = v.list(in.Trust.List)
	}
	for door, rule := range in.Trust.Doors {
		u.MaxListAge[door.String()] = int(rule.MaxListAge / time.Second)
	}
	if proof, err := ReadProof(in.Proof); err == nil {
		fresh := in.Nonces
		fresh.spent = nil
		if _, until, err := fresh.spend(proof.Nonce, in.Elapsed); err == nil {
			age := (in.Elapsed - until + NonceLife).Milliseconds()
			u.NonceAge = &age
			u.NonceSpent = len(in.Nonces.spent) > 0
		} else if name == overdue {
			age := NonceLife.Milliseconds()
			u.NonceAge = &age
		}
	}
	v.Uses = append(v.Uses, u)
}

// overdue is the row whose nonce was given out and is too old.
const overdue = "nonce of thirty seconds ago"

func (v *vectors) keySet(s KeySet) string { return name(v.KeySets, "keys", s.raw) }

func (v *vectors) list(l List) string { return name(v.Lists, "list", l.raw) }

// name returns under which name a document is in a map, after it was added if it was not.
func name(docs map[string]string, kind string, raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	text := hex.EncodeToString(raw)
	for name, doc := range docs {
		if doc == text {
			return name
		}
	}
	name := fmt.Sprintf("%s-%d", kind, len(docs)+1)
	docs[name] = text
	return name
}

func (v *vectors) addCourier(w *world) {
	g := Greeting{Bridge: testBridge, Nonce: bytes.Repeat([]byte{5}, 32), KeySetVersion: 3, ListNumber: 9}
	p := must(w.phone.Present(g, w.room, Unlock, noon))(w.tb)
	bare := must(p.Encode())(w.tb)
	p.List, p.KeySets = w.list(2, noon), [][]byte{w.keySet(w.signer, 2, w.signer)}
	add := func(kind string, want Reason, raw []byte) {
		v.Courier = append(v.Courier, courierVector{Kind: kind, Want: want, Raw: hex.EncodeToString(raw)})
	}
	add("greeting", OK, g.Encode())
	add("greeting", Malformed, append(g.Encode(), 0))
	add("greeting", Malformed, mustEncode(Greeting{Bridge: testBridge, Nonce: make([]byte, 15)}))
	add("presentation", OK, bare)
	add("presentation", OK, must(p.Encode())(w.tb))
	add("presentation", Malformed, bare[:len(bare)-1])
	add("presentation", Malformed, mustEncode(Presentation{Token: p.Token}))
	add("answer", OK, Answer{Reason: OK}.Encode())
	add("answer", OK, Answer{Reason: Revoked, Detail: "the token was revoked"}.Encode())
	add("answer", Malformed, mustEncode(map[int]string{1: "two words"}))
}
