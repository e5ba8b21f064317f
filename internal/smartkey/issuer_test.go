package smartkey

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestMintWindow(t *testing.T) {
	tests := []struct {
		name        string
		start, end  time.Time
		from, until time.Time
		want        error
	}{
		{"in the middle of a stay", noon.Add(-24 * time.Hour), noon.Add(48 * time.Hour), noon.Add(-5 * time.Minute), noon.Add(24 * time.Hour), nil},
		{"the last hours", noon.Add(-24 * time.Hour), noon.Add(3 * time.Hour), noon.Add(-5 * time.Minute), noon.Add(3 * time.Hour), nil},
		{"tomorrow's arrival", noon.Add(20 * time.Hour), noon.Add(90 * time.Hour), noon.Add(20 * time.Hour), noon.Add(24 * time.Hour), nil},
		{"began a minute ago", noon.Add(-time.Minute), noon.Add(time.Hour), noon.Add(-time.Minute), noon.Add(time.Hour), nil},
		{"odd milliseconds", noon.Add(time.Hour + time.Millisecond), noon.Add(2*time.Hour - time.Millisecond), noon.Add(time.Hour + time.Second), noon.Add(2*time.Hour - time.Second), nil},
		{"over", noon.Add(-2 * time.Hour), noon, time.Time{}, time.Time{}, ErrGrantOver},
		{"too early", noon.Add(24 * time.Hour), noon.Add(30 * time.Hour), time.Time{}, time.Time{}, ErrGrantEarly},
		{"inside out", noon.Add(2 * time.Hour), noon.Add(time.Hour), time.Time{}, time.Time{}, ErrGrantEarly},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.grant.Start, w.grant.End = tt.start, tt.end
			token, err := w.issuer.Mint(w.grant, noon.Add(300*time.Millisecond))
			if !errors.Is(err, tt.want) {
				t.Fatalf("%v, want %v", err, tt.want)
			}
			if err == nil && (!token.NotBefore.Equal(tt.from) || !token.Expires.Equal(tt.until)) {
				t.Errorf("from %v until %v, want %v until %v", token.NotBefore, token.Expires, tt.from, tt.until)
			}
		})
	}
}

func TestMintWithinItsKey(t *testing.T) {
	w := newWorld(t, 2)
	end := w.trust.Keys.keys[0].NotAfter
	w.grant.End = end.Add(48 * time.Hour)
	if got := w.mint(end.Add(-time.Hour)).Expires; !got.Equal(end) {
		t.Errorf("ends %v, after its key at %v", got, end)
	}
	for name, now := range map[string]time.Time{"after": end, "before": w.trust.Keys.keys[0].NotBefore.Add(-time.Second)} {
		if _, err := w.issuer.Mint(w.grant, now); !errors.Is(err, ErrKeyOver) {
			t.Errorf("%s the key's time: %v", name, err)
		}
	}
	other := must(GenerateKey(w.random))(t)
	if _, err := NewIssuer(other, w.trust.Keys, testURI, w.random); err == nil {
		t.Error("an issuer with a key that is not current")
	}
	if _, err := NewIssuer(w.signer, KeySet{}, testURI, w.random); err == nil {
		t.Error("an issuer without keys")
	}
	if _, err := NewIssuer(w.signer, w.trust.Keys, "", w.random); err == nil {
		t.Error("an issuer without a status list")
	}
}

func TestMintRefusesItsCallersMistakes(t *testing.T) {
	for name, change := range map[string]func(*Grant){
		"no phone":           func(g *Grant) { g.Phone = PublicKey{} },
		"no doors":           func(g *Grant) { g.Doors = nil },
		"a door twice":       func(g *Grant) { g.Doors = append(g.Doors, g.Doors[0]) },
		"129 doors":          func(g *Grant) { g.Doors = manyDoors(MaxDoors + 1) },
		"no operations":      func(g *Grant) { g.Operations = nil },
		"a name as subject":  func(g *Grant) { g.Subject = "Grace Hopper" },
		"no audience":        func(g *Grant) { g.Audience = "" },
		"index out of range": func(g *Grant) { g.StatusIndex = MaxStatusIndexes },
	} {
		w := newWorld(t, 3)
		change(&w.grant)
		if _, err := w.issuer.Mint(w.grant, noon); err == nil {
			t.Errorf("%s: minted", name)
		}
	}
	w := newWorld(t, 3)
	w.issuer.random = strings.NewReader("")
	if _, err := w.issuer.Mint(w.grant, noon); err == nil {
		t.Error("minted without randomness")
	}
}

// TestLargestToken: what the limits allow fits the size that verifiers accept.
func TestLargestToken(t *testing.T) {
	w := newWorld(t, 4)
	w.grant.Doors = manyDoors(MaxDoors)
	w.grant.Operations = []Operation{1, 2, 250, 251, 252, 253, 254, 255}
	w.grant.Generation, w.grant.StatusIndex = maxNumber, MaxStatusIndexes-1
	w.grant.Subject, w.grant.Audience = strings.Repeat("s", maxName), strings.Repeat("a", maxName)
	w.issuer.statusURI = strings.Repeat("u", maxURI)
	token := w.mint(noon)
	if _, err := w.trust.Keys.OpenToken(token.Raw); err != nil {
		t.Errorf("%d bytes: %v", len(token.Raw), err)
	}
	t.Logf("largest token %d bytes, a usual one %d", len(token.Raw), len(w.phone.token))
}

func TestTokenTellsNothing(t *testing.T) {
	w := newWorld(t, 5)
	a, b := w.mint(noon), w.mint(noon)
	if a.ID == b.ID || bytes.Equal(a.Raw, b.Raw) {
		t.Error("two tokens are alike")
	}
	if again := newWorld(t, 5).phone.token; !bytes.Equal(again, w.phone.token) {
		t.Error("the same draw makes another token: a signature is not deterministic")
	}
	if s := must(NewSubject(w.random))(t); len(s) != 22 || s == w.grant.Subject {
		t.Errorf("subject %q", s)
	}
}

func TestRenewAfter(t *testing.T) {
	w := newWorld(t, 6)
	if got, want := w.mint(noon).RenewAfter(), noon.Add(12*time.Hour); !got.Equal(want) {
		t.Errorf("renewed at %v, want %v", got, want)
	}
	w.grant.Start = noon.Add(20 * time.Hour)
	if got, want := w.mint(noon).RenewAfter(), noon.Add(22*time.Hour); !got.Equal(want) {
		t.Errorf("tomorrow's renewed at %v, want %v", got, want)
	}
}

func TestSignListRefusesItsCallersMistakes(t *testing.T) {
	for name, change := range map[string]func(*ListSpec){
		"size 0":           func(s *ListSpec) { s.Size = 0 },
		"too large":        func(s *ListSpec) { s.Size = MaxStatusIndexes + 1 },
		"outside":          func(s *ListSpec) { s.Revoked = []uint32{4096} },
		"number 0":         func(s *ListSpec) { s.Number = 0 },
		"no URI":           func(s *ListSpec) { s.URI = "" },
		"ends at once":     func(s *ListSpec) { s.Expires = s.IssuedAt },
		"floors too many":  func(s *ListSpec) { s.Floors = make([]Floor, MaxFloors+1) },
		"a floor too high": func(s *ListSpec) { s.Floors = []Floor{{Generation: maxNumber + 1}} },
	} {
		w := newWorld(t, 7)
		spec := w.listSpec(9, noon)
		change(&spec)
		if _, err := SignList(w.signer, spec); err == nil {
			t.Errorf("%s: signed", name)
		}
	}
}

// TestLargestList: chance for every index and a floor for every door still fit.
func TestLargestList(t *testing.T) {
	w := newWorld(t, 8)
	spec := w.listSpec(9, noon)
	spec.Size = MaxStatusIndexes
	coin := make([]byte, MaxStatusIndexes)
	must(io.ReadFull(w.random, coin))(t)
	for i, side := range coin {
		if side&1 == 1 {
			spec.Revoked = append(spec.Revoked, uint32(i))
		}
	}
	for _, d := range manyDoors(MaxFloors) {
		spec.Floors = append(spec.Floors, Floor{Door: d, Generation: maxNumber})
	}
	raw := must(SignList(w.signer, spec))(t)
	list := must(w.trust.Keys.OpenList(raw))(t)
	if list.Size() != MaxStatusIndexes || list.Floor(manyDoors(3)[2]) != maxNumber || list.Floor(w.room) != 0 {
		t.Error("reads as another list")
	}
	t.Logf("largest list %d bytes, the usual one %d", len(raw), len(w.trust.List.raw))
}

func TestSignKeySetRefusesItsCallersMistakes(t *testing.T) {
	w := newWorld(t, 9)
	key := w.trust.Keys.keys[0]
	for name, change := range map[string]func(*KeySetSpec){
		"version 0":   func(s *KeySetSpec) { s.Version = 0 },
		"no keys":     func(s *KeySetSpec) { s.Keys = nil },
		"a key twice": func(s *KeySetSpec) { s.Keys = append(s.Keys, key) },
		"nine keys":   func(s *KeySetSpec) { s.Keys = make([]IssuerKey, 9) },
		"never":       func(s *KeySetSpec) { s.Keys[0].NotAfter = s.Keys[0].NotBefore },
		"no property": func(s *KeySetSpec) { s.Property = "" },
		"before 1970": func(s *KeySetSpec) { s.IssuedAt = time.Time{} },
	} {
		spec := KeySetSpec{Property: testProperty, Version: 2, IssuedAt: noon, Keys: []IssuerKey{key}}
		change(&spec)
		if _, err := SignKeySet(w.signer, spec); err == nil {
			t.Errorf("%s: signed", name)
		}
	}
	spec := KeySetSpec{Property: testProperty, Version: 2, IssuedAt: noon}
	for range MaxIssuerKeys {
		k := must(GenerateKey(w.random))(t)
		spec.Keys = append(spec.Keys, IssuerKey{Key: must(PublicKeyOf(k.Public()))(t), NotBefore: noon, NotAfter: noon.Add(time.Hour)})
	}
	raw := must(SignKeySet(w.signer, spec))(t)
	if len(raw) > MaxKeySetSize {
		t.Errorf("eight keys take %d bytes", len(raw))
	}
}

func manyDoors(n int) []Door {
	doors := make([]Door, n)
	for i := range doors {
		doors[i] = Door{0xff, byte(i >> 8), byte(i)}
	}
	return doors
}
