package smartkey

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
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
			"An empty keySet, list or site means that there is none. listKeySet is the key set that was pinned when the list was taken, if it is another.",
			"clock is what the verifier knows of its time. errorSeconds is the bound e of section 11; -1 means that no bound is known.",
			"quality is synchronized, drifting or untrusted; a clock that is drifting or untrusted is not synchronized.",
			"The verifier gave the proof's nonce out nonceAgeMilliseconds ago (null: never) and has seen it used if nonceSpent.",
			"If there is first: present its token and proof first, at the same time and with the same nonce; the answer must be its want.",
			"Then token and proof are presented for door and operation; the answer must be want.",
			"keySetSteps: keySet is pinned (empty: none) and next is offered.",
			"listSteps: held is held (empty: none) and next is offered. heldKeySet is the key set that was pinned when held was taken, if it is another.",
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
	for _, row := range allRows() {
		if !slices.Contains(own, row.name) {
			w := vectorWorld(t)
			v.addUse(row.name, row.want, row.in(w))
		}
	}
	v.addTwice(t)
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
		u.NonceSpent = u.NonceAge != nil && len(in.Nonces.spent) > 0
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

func (v *vectors) addTwice(t failer) {
	for _, row := range twiceRows() {
		first, then := row.in(vectorWorld(t))
		v.addUse(row.name, row.want, then)
		v.Uses[len(v.Uses)-1].First = &firstVector{
			Want: row.first, Token: hex.EncodeToString(first.Token), Proof: hex.EncodeToString(first.Proof),
			Door: first.Door.String(), Operation: first.Operation,
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
	defer w.phone.Keep(good)
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
	nonce, names := func(n int) []byte { return make([]byte, n) }, strings.Repeat("!~", 32)
	for _, g := range []Greeting{{names, nonce(16), maxNumber, 0}, {names, nonce(32), 0, maxNumber}} {
		add("greeting", OK, g.Encode())
	}
	for _, g := range []Greeting{{names + "x", nonce(16), 0, 0}, {"", nonce(16), 0, 0}, {"a b", nonce(16), 0, 0}, {names, nonce(33), 0, 0},
		{names, nonce(16), maxNumber + 1, 0}, {names, nonce(16), 0, maxNumber + 1}} {
		add("greeting", Malformed, g.Encode())
	}
	add("greeting", Malformed, mustEncode(members{1: names, 2: nonce(16), 3: 0}))
	add("greeting", Malformed, mustEncode(members{1: names, 2: nonce(16), 3: 0, 4: 0, 5: 0}))
	add("greeting", Malformed, w.firstTwice(g.Encode()))
	set := p.KeySets[0]
	for _, n := range []int{8, 9} {
		add("presentation", map[int]Reason{8: OK, 9: Malformed}[n], mustEncode(Presentation{Token: p.Token, Proof: p.Proof, KeySets: slices.Repeat([][]byte{set}, n)}))
	}
	for want, over := range map[Reason]int{OK: 0, Malformed: 1} {
		add("presentation", want, mustEncode(Presentation{Token: nonce(MaxTokenSize + over), Proof: p.Proof}))
		add("presentation", want, mustEncode(Presentation{Token: p.Token, Proof: nonce(MaxProofSize + over)}))
		add("presentation", want, mustEncode(Presentation{Token: p.Token, Proof: p.Proof, KeySets: [][]byte{nonce(MaxKeySetSize + over)}}))
		add("presentation", want, mustEncode(Presentation{Token: p.Token, Proof: p.Proof, List: nonce(MaxListSize + over)}))
	}
	slices.SortStableFunc(v.Courier[len(v.Courier)-8:], func(a, b courierVector) int {
		return cmp.Or(strings.Compare(string(a.Want), string(b.Want)), len(a.Raw)-len(b.Raw))
	})
	for _, m := range []members{{1: p.Token}, {2: p.Proof}, {1: p.Token, 2: p.Proof, 5: 1}, {1: p.Token, 2: p.Proof, 3: []byte{}},
		{1: p.Token, 2: p.Proof, 4: []any{}}, {1: p.Token, 2: p.Proof, 4: []any{[]byte{}}}, {1: []byte{}, 2: p.Proof}, {1: p.Token, 2: []byte{}}} {
		add("presentation", Malformed, mustEncode(m))
	}
	add("presentation", Malformed, w.firstTwice(bare))
	for _, m := range []members{{1: names}, {1: "aWordToCome", 2: strings.Repeat("x", 128)}} {
		add("answer", OK, mustEncode(m))
	}
	for _, m := range []members{{1: names + "x"}, {1: ""}, {1: "ok", 2: strings.Repeat("x", 129)}, {1: "ok", 2: ""}, {1: "ok", 3: 1}, {2: "ok"}} {
		add("answer", Malformed, mustEncode(m))
	}
	add("answer", Malformed, []byte{0xa2, 0x01, 0x62, 'o', 'k', 0x02, 0x61, 0xff})
	add("answer", OK, Answer{Reason: OK}.Encode())
	add("answer", OK, Answer{Reason: Revoked, Detail: "the token was revoked"}.Encode())
	add("answer", Malformed, mustEncode(map[int]string{1: "two words"}))
}
