package pinseal_test

import (
	"bytes"
	"strings"
	"testing"

	"latchkey.dev/internal/keyring/pinseal"
)

func TestPINOpensOnlyInItsPlace(t *testing.T) {
	private, public, err := pinseal.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	otherPrivate, _, err := pinseal.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	at := pinseal.Target{Address: "lck_1", Slot: 3, Generation: 7}
	sealer, err := pinseal.NewSealer(public)
	if err != nil {
		t.Fatal(err)
	}
	sealed := seal(t, sealer, at, "004711")
	if bytes.Equal(sealed, seal(t, sealer, at, "004711")) {
		t.Error("sealed the same way twice")
	}
	own, other := pinseal.Opener{Private: private}, pinseal.Opener{Private: otherPrivate}
	if bytes.Contains(sealed, []byte("004711")) {
		t.Error("not sealed")
	}
	if pin, err := own.Open(at, sealed); err != nil || pin != "004711" {
		t.Errorf("Open = %q, %v", pin, err)
	}
	for name, target := range map[string]pinseal.Target{
		"another lock":       {Address: "lck_2", Slot: 3, Generation: 7},
		"another slot":       {Address: "lck_1", Slot: 4, Generation: 7},
		"another generation": {Address: "lck_1", Slot: 3, Generation: 8},
	} {
		if pin, err := own.Open(target, sealed); err == nil {
			t.Errorf("%s: opened %q", name, pin)
		}
	}
	if _, err := other.Open(at, sealed); err == nil {
		t.Error("another bridge opened it")
	}
	for i := range sealed {
		sealed[i] ^= 1
		if _, err := own.Open(at, sealed); err == nil {
			t.Errorf("opened with byte %d changed", i)
		}
		sealed[i] ^= 1
	}
	for n := range sealed {
		if _, err := own.Open(at, sealed[:n]); err == nil {
			t.Errorf("opened %d of %d bytes", n, len(sealed))
		}
	}
}

func seal(t *testing.T, s *pinseal.Sealer, at pinseal.Target, pin string) []byte {
	t.Helper()
	sealed, err := s.Seal(at, pin)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// A new session uses another key. PINs sealed in the previous session may arrive after it began.
func TestKeysOfSeveralSessionsOpen(t *testing.T) {
	private, public, err := pinseal.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	opener := pinseal.Opener{Private: private}
	var sealers [2]*pinseal.Sealer
	for i := range sealers {
		if sealers[i], err = pinseal.NewSealer(public); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 4 {
		at := pinseal.Target{Address: "front", Slot: 1, Generation: int64(n)}
		if pin, err := opener.Open(at, seal(t, sealers[n%2], at, "004711")); err != nil || pin != "004711" {
			t.Errorf("%d: %q, %v", n, pin, err)
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	_, public, err := pinseal.GenerateKey()
	if err != nil {
		b.Fatal(err)
	}
	s, err := pinseal.NewSealer(public)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Seal(pinseal.Target{Address: "front", Slot: 1, Generation: 1}, "004711"); err != nil {
			b.Fatal(err)
		}
	}
}

func TestBadInput(t *testing.T) {
	_, public, err := pinseal.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	if pinseal.CheckPublicKey(public) != nil || pinseal.CheckPublicKey(public[1:]) == nil || pinseal.CheckPublicKey(nil) == nil || pinseal.CheckPublicKey(make([]byte, 32)) == nil {
		t.Error("CheckPublicKey is wrong")
	}
	if _, err := pinseal.NewSealer(nil); err == nil {
		t.Error("a sealer for no key")
	}
	s, err := pinseal.NewSealer(public)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Seal(pinseal.Target{}, strings.Repeat("1", 65)); err == nil {
		t.Error("sealed an endless code")
	}
	stranger := pinseal.Opener{Private: []byte("x")}
	if _, err := stranger.Open(pinseal.Target{}, seal(t, s, pinseal.Target{}, "1")); err == nil {
		t.Error("opened with no key")
	}
}
