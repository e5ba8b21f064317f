package smartkey

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"
)

// vectorsPath is the published file.
const vectorsPath = "../../docs/smartkey-vectors.json"

var writeVectors = flag.Bool("write-vectors", false, "generate docs/smartkey-vectors.json")

// vectors is the published file. Bytes are in hexadecimal, times in seconds since 1970.
type vectors struct {
	Format      string             `json:"format"`
	About       []string           `json:"about"`
	Property    string             `json:"property"`
	Keys        []keyVector        `json:"keys"`
	Doors       []doorVector       `json:"doors"`
	KeySets     map[string]string  `json:"keySets"`
	Lists       map[string]string  `json:"lists"`
	Uses        []useVector        `json:"uses"`
	Pins        []pinVector        `json:"pins"`
	KeySetSteps []stepVector       `json:"keySetSteps"`
	ListSteps   []stepVector       `json:"listSteps"`
	Possessions []possessionVector `json:"possessions"`
	Courier     []courierVector    `json:"courier"`
	Carried     []carriedVector    `json:"carried"`
}

type keyVector struct {
	Name       string `json:"name"`
	Private    string `json:"privateScalar"`
	Public     string `json:"coseKey"`
	Thumbprint string `json:"thumbprint"`
	KeyID      string `json:"keyId"`
}

type doorVector struct {
	Bridge  string `json:"bridge"`
	Address string `json:"address"`
	Door    string `json:"door"`
}

type useVector struct {
	Name   string `json:"name"`
	Want   Reason `json:"want"`
	Token  string `json:"token"`
	Proof  string `json:"proof"`
	KeySet string `json:"keySet"` // of keySets; empty: none is pinned
	List   string `json:"list"`   // of lists; empty: none is held
	// ListKeySet is the key set that was pinned when the list was taken, where it is another.
	ListKeySet string         `json:"listKeySet,omitempty"`
	Bridge     string         `json:"bridge"`
	Site       string         `json:"site"`
	MaxListAge map[string]int `json:"maxListAgeSeconds"` // of every door the bridge drives
	Door       string         `json:"door"`
	Operation  Operation      `json:"operation"`
	Clock      clockVector    `json:"clock"`
	// NonceAge is how long ago the proof's nonce was given out; null: it was not, or by an earlier start.
	NonceAge   *int64 `json:"nonceAgeMilliseconds"`
	NonceSpent bool   `json:"nonceSpent"`
	// NoncesFull says that other nonces fill the memory for spent ones.
	NoncesFull bool `json:"nonceMemoryFull,omitempty"`
	// Before is presented first, in order, to the same bridge at the same time. Its nonces are as old as the use's.
	Before []beforeVector `json:"before,omitempty"`
}

type beforeVector struct {
	Want      Reason    `json:"want"`
	Token     string    `json:"token"`
	Proof     string    `json:"proof"`
	Door      string    `json:"door"`
	Operation Operation `json:"operation"`
}

type clockVector struct {
	Now     int64   `json:"now"`
	Error   int64   `json:"errorSeconds"` // negative: no bound is known
	Quality Quality `json:"quality"`
}

type stepVector struct {
	Name   string `json:"name"`
	Want   Reason `json:"want"`
	KeySet string `json:"keySet"`
	Held   string `json:"held,omitempty"` // of lists; empty: none is held
	// HeldKeySet is the key set that was pinned when the list was taken, where it is another.
	HeldKeySet string `json:"heldKeySet,omitempty"`
	Next       string `json:"next"`
}

type possessionVector struct {
	Name      string  `json:"name"`
	Want      Reason  `json:"want"`
	Purpose   Purpose `json:"purpose"`
	Challenge string  `json:"challenge"`
	Statement string  `json:"statement"`
}

type pinVector struct {
	Name   string `json:"name"`
	Want   Reason `json:"want"`
	KeySet string `json:"bytes"`
}

type carriedVector struct {
	Name         string `json:"name"`
	KeySet       string `json:"keySet"` // pinned before
	List         string `json:"list"`   // held before
	Presentation string `json:"presentation"`
	Version      uint64 `json:"keySetVersion"` // pinned after
	Number       uint64 `json:"listNumber"`    // held after
}

type courierVector struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // greeting, presentation or answer
	Want Reason `json:"want"` // ok: it is taken, and its members encode to the same bytes
	Raw  string `json:"bytes"`
}

// TestVectorsAreCurrent compares the published file with what the generator makes.
func TestVectorsAreCurrent(t *testing.T) {
	want := append(must(json.MarshalIndent(makeVectors(t), "", " "))(t), '\n')
	if *writeVectors {
		must(0, os.WriteFile(vectorsPath, want, 0o644))(t)
	}
	if !bytes.Equal(must(os.ReadFile(vectorsPath))(t), want) {
		t.Error("docs/smartkey-vectors.json is not current: run go test ./internal/smartkey -run TestVectorsAreCurrent -write-vectors")
	}
}

// TestVectorNames: the name of a case identifies it within its section.
func TestVectorNames(t *testing.T) {
	var sections map[string]json.RawMessage
	must(0, json.Unmarshal(must(os.ReadFile(vectorsPath))(t), &sections))(t)
	for _, section := range []string{"uses", "pins", "keySetSteps", "listSteps", "possessions", "courier", "carried"} {
		var cases []struct{ Name string }
		must(0, json.Unmarshal(sections[section], &cases))(t)
		seen := map[string]bool{}
		for _, c := range cases {
			if c.Name == "" || seen[c.Name] {
				t.Errorf("%s: the name %q is empty or not unique", section, c.Name)
			}
			seen[c.Name] = true
		}
		if len(seen) == 0 {
			t.Errorf("no %s", section)
		}
	}
}

func TestVectors(t *testing.T) {
	var v vectors
	must(0, json.Unmarshal(must(os.ReadFile(vectorsPath))(t), &v))(t)
	for _, k := range v.Keys {
		checkKey(t, k)
	}
	for _, d := range v.Doors {
		if got := DoorID(d.Bridge, d.Address).String(); got != d.Door {
			t.Errorf("door %s of %s: %s, want %s", d.Address, d.Bridge, got, d.Door)
		}
	}
	for _, u := range v.Uses {
		t.Run("use: "+u.Name, func(t *testing.T) {
			in := v.input(t, u)
			for _, b := range u.Before {
				in.Nonces = v.before(t, in, b)
			}
			if got := Verify(in); got.Reason != u.Want {
				t.Errorf("%s (%s), want %s", got.Reason, got.Detail, u.Want)
			}
		})
	}
	for _, p := range v.Pins {
		if _, err := PinKeySet(unhex(t, p.KeySet), v.Property); ReasonOf(err) != p.Want {
			t.Errorf("pin %s: %v, want %s", p.Name, err, p.Want)
		}
	}
	for _, s := range v.KeySetSteps {
		if _, err := v.keys(t, s.KeySet).Advance(unhex(t, s.Next)); ReasonOf(err) != s.Want {
			t.Errorf("key set %s: %v, want %s", s.Name, err, s.Want)
		}
	}
	for _, s := range v.ListSteps {
		keys := v.keys(t, s.KeySet)
		held := v.held(t, s.KeySet, s.HeldKeySet, s.Held)
		if _, err := keys.AdvanceList(held, unhex(t, s.Next)); ReasonOf(err) != s.Want {
			t.Errorf("list %s: %v, want %s", s.Name, err, s.Want)
		}
	}
	for _, p := range v.Possessions {
		q := PossessionSpec{Property: v.Property, Purpose: p.Purpose, Challenge: unhex(t, p.Challenge)}
		if _, err := VerifyPossession(unhex(t, p.Statement), q); ReasonOf(err) != p.Want {
			t.Errorf("possession %s: %v, want %s", p.Name, err, p.Want)
		}
	}
	for _, c := range v.Courier {
		if got := readCourier(c.Kind, unhex(t, c.Raw)); got != c.Want {
			t.Errorf("%s %s: %s, want %s", c.Kind, c.Name, got, c.Want)
		}
	}
	for _, c := range v.Carried {
		trust := Trust{Keys: v.keys(t, c.KeySet), List: v.held(t, c.KeySet, "", c.List)}
		got := trust.Refresh(must(DecodePresentation(unhex(t, c.Presentation)))(t))
		if got.Keys.Version() != c.Version || got.List.Number() != c.Number {
			t.Errorf("carried %s: key set %d and list %d, want %d and %d", c.Name, got.Keys.Version(), got.List.Number(), c.Version, c.Number)
		}
	}
}

// before presents what comes before a use, and returns the bridge's memory after it.
func (v vectors) before(t *testing.T, in Input, b beforeVector) Nonces {
	t.Helper()
	in.Token, in.Proof, in.Door, in.Operation = unhex(t, b.Token), unhex(t, b.Proof), Door(unhex(t, b.Door)), b.Operation
	got := Verify(in)
	if got.Reason != b.Want {
		t.Errorf("before: %s (%s), want %s", got.Reason, got.Detail, b.Want)
	}
	return got.Nonces
}

// held is a list as a verifier took it, under the key set of that time.
func (v vectors) held(t *testing.T, now, then, list string) List {
	t.Helper()
	if list == "" {
		return List{}
	}
	return must(v.keys(t, cmp.Or(then, now)).OpenList(unhex(t, v.Lists[list])))(t)
}

func checkKey(t *testing.T, v keyVector) {
	t.Helper()
	key := must(readKey(t, unhex(t, v.Public)))(t)
	thumb := key.Thumbprint()
	if hex.EncodeToString(thumb[:]) != v.Thumbprint || key.KeyID().String() != v.KeyID {
		t.Errorf("key %s: thumbprint %x", v.Name, thumb)
	}
}

// readKey reads a COSE_Key as Encode writes it.
func readKey(t *testing.T, encoded []byte) (PublicKey, error) {
	t.Helper()
	key, ok := decodeExact[coseKey](encoded)
	if !ok {
		t.Fatalf("%x is no COSE_Key in deterministic encoding", encoded)
	}
	return key.public()
}

func readCourier(kind string, raw []byte) Reason {
	var err error
	switch kind {
	case "greeting":
		_, err = DecodeGreeting(raw)
	case "presentation":
		_, err = DecodePresentation(raw)
	case "answer":
		_, err = DecodeAnswer(raw)
	}
	return ReasonOf(err)
}

func (v vectors) keys(t *testing.T, name string) KeySet {
	t.Helper()
	if name == "" {
		return KeySet{}
	}
	return must(PinKeySet(unhex(t, v.KeySets[name]), v.Property))(t)
}

// input sets a bridge up as a vector says. Other implementations have nonces of
// another make: they treat the proof's nonce as a nonce of their own, of the given age.
func (v vectors) input(t *testing.T, u useVector) Input {
	t.Helper()
	in := Input{
		Trust: Trust{Bridge: u.Bridge, Site: u.Site, Keys: v.keys(t, u.KeySet), Doors: map[Door]DoorRule{}},
		Token: unhex(t, u.Token), Proof: unhex(t, u.Proof),
		Door: Door(unhex(t, u.Door)), Operation: u.Operation,
		Clock: Clock{Now: time.Unix(u.Clock.Now, 0), Error: time.Duration(u.Clock.Error) * time.Second, Quality: u.Clock.Quality},
	}
	in.Trust.List = v.held(t, u.KeySet, u.ListKeySet, u.List)
	for door, age := range u.MaxListAge {
		in.Trust.Doors[Door(unhex(t, door))] = DoorRule{MaxListAge: time.Duration(age) * time.Second}
	}
	issued := time.Hour
	in.Nonces = vectorNonces()
	if u.NonceAge == nil {
		in.Elapsed = issued
		in.Nonces.key[0] ^= 1 // another start gave the nonce out, if any did
		return in
	}
	in.Elapsed = issued + time.Duration(*u.NonceAge)*time.Millisecond
	if u.NonceSpent {
		in.Nonces.spent = []spentNonce{{nonce: [maxNonce]byte(must(ReadProof(in.Proof))(t).Nonce), issued: issued}}
	}
	if u.NoncesFull {
		in.Nonces = in.Nonces.full()
	}
	return in
}

// vectorNonces is the memory under whose key the nonces of the vectors were made.
func vectorNonces() Nonces {
	n := Nonces{bridge: testBridge}
	for i := range n.key {
		n.key[i] = byte(i)
	}
	return n
}

func unhex(t failer, s string) []byte {
	t.Helper()
	return must(hex.DecodeString(s))(t)
}
