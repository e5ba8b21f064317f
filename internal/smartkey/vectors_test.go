package smartkey

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"
)

// vectorsPath is the published file. It is the authority: the tests run what it
// holds, and rewrite it only when told to.
const vectorsPath = "../../docs/smartkey-vectors.json"

var writeVectors = flag.Bool("write-vectors", false, "write docs/smartkey-vectors.json anew")

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
	KeySetSteps []stepVector       `json:"keySetSteps"`
	ListSteps   []stepVector       `json:"listSteps"`
	Possessions []possessionVector `json:"possessions"`
	Courier     []courierVector    `json:"courier"`
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
	// First is presented before, with the same nonce, to the same bridge at the same time.
	First *firstVector `json:"first,omitempty"`
}

type firstVector struct {
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

type courierVector struct {
	Kind string `json:"kind"` // greeting, presentation or answer
	Want Reason `json:"want"` // ok: it is taken, and its members encode to the same bytes
	Raw  string `json:"bytes"`
}

func TestVectors(t *testing.T) {
	if *writeVectors {
		out := must(json.MarshalIndent(makeVectors(t), "", " "))(t)
		must(0, os.WriteFile(vectorsPath, append(out, '\n'), 0o644))(t)
	}
	var v vectors
	must(0, json.Unmarshal(must(os.ReadFile(vectorsPath))(t), &v))(t)
	if len(v.Uses) < 290 || len(v.KeySetSteps) < 75 || len(v.ListSteps) < 85 || len(v.Possessions) < 55 || len(v.Courier) < 35 {
		t.Fatalf("only %d uses, %d key sets, %d lists, %d possessions", len(v.Uses), len(v.KeySetSteps), len(v.ListSteps), len(v.Possessions))
	}
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
			if u.First != nil {
				in.Nonces = v.first(t, in, *u.First)
			}
			if got := Verify(in); got.Reason != u.Want {
				t.Errorf("%s (%s), want %s", got.Reason, got.Detail, u.Want)
			}
		})
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
		q := Question{Property: v.Property, Purpose: p.Purpose, Challenge: unhex(t, p.Challenge)}
		if _, err := VerifyPossession(unhex(t, p.Statement), q); ReasonOf(err) != p.Want {
			t.Errorf("possession %s: %v, want %s", p.Name, err, p.Want)
		}
	}
	for _, c := range v.Courier {
		if got := readCourier(c.Kind, unhex(t, c.Raw)); got != c.Want {
			t.Errorf("%s %s: %s, want %s", c.Kind, c.Raw, got, c.Want)
		}
	}
}

// first presents what comes before a use, and returns the bridge's memory after it.
func (v vectors) first(t *testing.T, in Input, f firstVector) Nonces {
	t.Helper()
	in.Token, in.Proof, in.Door, in.Operation = unhex(t, f.Token), unhex(t, f.Proof), Door(unhex(t, f.Door)), f.Operation
	got := Verify(in)
	if got.Reason != f.Want {
		t.Errorf("first: %s (%s), want %s", got.Reason, got.Detail, f.Want)
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
// another make: they take the proof's nonce as one of theirs, of the age given.
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
	proof, err := ReadProof(in.Proof)
	if err != nil || u.NonceAge == nil {
		return in
	}
	issued := time.Hour
	in.Elapsed = issued + time.Duration(*u.NonceAge)*time.Millisecond
	in.Nonces = vectorNonces()
	if u.NonceSpent {
		in.Nonces.spent = []spentNonce{{nonce: [maxNonce]byte(proof.Nonce), issued: issued}}
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
