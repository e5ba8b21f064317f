package smartkey

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// makeVectors generates the published file.
func makeVectors(t *testing.T) vectors {
	v := vectors{
		Format: "smartkey vectors/1",
		About: []string{
			"Test vectors of docs/smartkey.md. Bytes are hexadecimal, times are seconds since 1970, UTC.",
			"uses: set a verifier up with keySet and list, as bridge and site, driving the doors of maxListAgeSeconds (0: 96 hours).",
			"An empty keySet, list or site means that there is none. listKeySet is the key set that was pinned when the list was taken, if it is another.",
			"clock is what the verifier knows of its time. errorSeconds is the bound e of section 11; -1 means that no bound is known.",
			"quality is synchronized, drifting or untrusted; a clock that is drifting or untrusted is not synchronized.",
			"The verifier issued the proof's nonce nonceAgeMilliseconds ago (null: never) and accepted it before if nonceSpent.",
			"nonceMemoryFull: its memory for spent nonces is full. Leave the case out if your verifier refuses greetings instead.",
			"If there is before: present each token and proof of it first, in order and at the same time; the answers must be their wants.",
			"The nonces of before were issued at the same time as the proof's.",
			"Then token and proof are presented for door and operation; the answer must be want.",
			"pins: bytes are offered as the first key set, over a trusted channel, to a verifier of property.",
			"keySetSteps: keySet is pinned (empty: none) and next is offered.",
			"listSteps: held is held (empty: none) and next is offered. heldKeySet is the key set that was pinned when held was taken, if it is another.",
			"possessions: statement answers the server's challenge for purpose, at property.",
			"courier: bytes are read as kind.",
			"carried: keySet is pinned and list is held. The presentation brings key sets and a list.",
			"Afterwards the verifier has the key set of keySetVersion and the list of listNumber.",
			"A case is identified by its section and its name; the name says what the case proves.",
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
	for _, s := range r.pinSteps() {
		v.Pins = append(v.Pins, pinVector{Name: s.name, Want: s.want, KeySet: hex.EncodeToString(s.raw)})
	}
	pinned := v.keySet(r.trust.Keys)
	for _, s := range r.offers() {
		v.KeySetSteps = append(v.KeySetSteps, stepVector{Name: s.name, Want: s.want, KeySet: pinned, Next: hex.EncodeToString(s.raw)})
	}
	for _, s := range r.keySteps() {
		v.KeySetSteps = append(v.KeySetSteps, stepVector{Name: s.name, Want: s.want, KeySet: v.keySet(s.pinned), Next: hex.EncodeToString(s.raw)})
	}
	w := vectorWorld(t)
	keys, held := v.keySet(w.trust.Keys), v.list(must(w.trust.Keys.OpenList(w.list(5, noon.Add(-time.Minute))))(t))
	for _, s := range listOffers(w) {
		v.ListSteps = append(v.ListSteps, stepVector{Name: s.name, Want: s.want, KeySet: keys, Held: held, Next: hex.EncodeToString(s.raw)})
	}
	for _, s := range newRotation(t).listSteps() {
		step := stepVector{Name: s.name, Want: s.want, KeySet: v.keySet(s.keys), Held: v.list(s.held), Next: hex.EncodeToString(s.raw)}
		if then := v.keySet(s.heldKeys); then != step.KeySet {
			step.HeldKeySet = then
		}
		v.ListSteps = append(v.ListSteps, step)
	}
	q, offers := answers(w)
	for _, s := range offers {
		v.Possessions = append(v.Possessions, possessionVector{
			Name: s.name, Want: s.want, Purpose: q.Purpose, Challenge: hex.EncodeToString(q.Challenge), Statement: hex.EncodeToString(s.raw),
		})
	}
	questions, more := vectorWorld(t).possessionSteps()
	for i, s := range more {
		v.Possessions = append(v.Possessions, possessionVector{
			Name: s.name, Want: s.want, Purpose: questions[i].Purpose, Challenge: hex.EncodeToString(questions[i].Challenge), Statement: hex.EncodeToString(s.raw),
		})
	}
	for _, c := range courierSteps(w) {
		v.Courier = append(v.Courier, courierVector{Name: c.name, Kind: c.kind, Want: c.want, Raw: hex.EncodeToString(c.raw)})
	}
	for _, s := range newRotation(t).carriedSteps() {
		c := carriedVector{
			Name: s.name, KeySet: v.keySet(s.before.Keys), List: v.list(s.before.List), Version: s.after.Keys.version, Number: s.after.List.number,
			Presentation: hex.EncodeToString(must(s.presentation.Encode())(t)),
		}
		v.Carried = append(v.Carried, c)
	}
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
	for _, row := range allRows() {
		if !slices.Contains(own, row.name) {
			w := vectorWorld(t)
			v.addUse(row.name, row.want, row.in(w))
		}
	}
	v.addSequences(t)
	v.addOddities(t)
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
		u.NonceAge = in.Nonces.age(proof.Nonce, in.Elapsed)
		u.NonceSpent = u.NonceAge != nil && slices.ContainsFunc(in.Nonces.spent, func(s spentNonce) bool { return bytes.Equal(s.nonce[:], proof.Nonce) })
		u.NoncesFull = len(in.Nonces.spent) == MaxSpent
	}
	v.Uses = append(v.Uses, u)
}

// age is how long ago, in milliseconds, a nonce was given out here; nil: it was not.
func (n Nonces) age(nonce []byte, elapsed time.Duration) *int64 {
	if len(nonce) != maxNonce || !bytes.Equal(nonce[nonceBody:], n.mac(nonce[:nonceBody])) {
		return nil
	}
	age := elapsed.Milliseconds() - int64(binary.BigEndian.Uint64(nonce))
	return &age
}

func (v *vectors) addSequences(t failer) {
	for _, row := range sequenceRows() {
		uses, last := row.in(vectorWorld(t)), len(row.wants)-1
		v.addUse(row.name, row.wants[last], uses[last])
		for i, in := range uses[:last] {
			u := &v.Uses[len(v.Uses)-1]
			u.Before = append(u.Before, beforeVector{
				Want: row.wants[i], Token: hex.EncodeToString(in.Token), Proof: hex.EncodeToString(in.Proof),
				Door: in.Door.String(), Operation: in.Operation,
			})
		}
	}
}

// addOddities adds tokens and proofs with one thing wrong each, signed by the right key.
func (v *vectors) addOddities(t failer) {
	w := vectorWorld(t)
	for _, s := range w.oddities(w.phone.token, w.signer, MaxTokenSize) {
		v.addUse("token: "+s.name, s.want, w.proofFor(s.raw))
	}
	in := w.use()
	for _, s := range w.oddities(in.Proof, w.phone.key, MaxProofSize) {
		odd := in
		odd.Proof = s.raw
		v.addUse("proof: "+s.name, s.want, odd)
	}
	odd := oddKeys(w.grant.Phone)
	for _, name := range sortedNames(odd) {
		v.addUse("token: cnf with "+name, Malformed, w.proofFor(w.remake(w.phone.token, w.signer, func(_, c members) { c[8] = members{1: odd[name]} })))
	}
	left := newRotation(t)
	after := must(PinKeySet(left.v4, testProperty))(t)
	for _, at := range []time.Time{noon, noon.Add(time.Hour)} {
		left.issuer = must(NewIssuer(left.b, after, testURI, left.random))(t)
		left.nonces = vectorNonces()
		in := left.with(left.mint(noon).Raw)
		old := left.trust.Keys
		in.Trust.Keys, in.Trust.List = after, must(old.OpenList(left.list(9, at)))(t)
		v.addUse("list whose signer left the key set, issued "+at.Format("15:04"), StaleList, in)
		v.Uses[len(v.Uses)-1].ListKeySet = v.keySet(old)
	}
	second := newRotation(t)
	second.nonces = vectorNonces()
	in = second.use()
	in.Trust.Keys = must(PinKeySet(second.v3, testProperty))(t)
	v.addUse("token and list of a key that is not the current one", OK, in)
}

// proofFor has the phone use an odd token, and keeps the good one.
func (w *world) proofFor(token []byte) Input {
	good := w.phone.token
	defer w.phone.SetToken(good)
	return w.with(token)
}

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
