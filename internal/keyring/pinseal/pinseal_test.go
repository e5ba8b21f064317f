package pinseal_test

import (
	"bytes"
	"strings"
	"testing"

	"latchkey.dev/internal/keyring/pinseal"
)

func TestACodeOpensOnlyInItsPlace(t *testing.T) {
	private, public, err := pinseal.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	otherPrivate, _, err := pinseal.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	at := pinseal.Place{LockID: "lck_1", Slot: 3, Generation: 7}
	sealed, err := pinseal.Seal(public, at, "004711")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("004711")) {
		t.Error("not sealed")
	}
	if pin, err := pinseal.Open(private, at, sealed); err != nil || pin != "004711" {
		t.Errorf("Open = %q, %v", pin, err)
	}
	for name, place := range map[string]pinseal.Place{
		"another lock":       {LockID: "lck_2", Slot: 3, Generation: 7},
		"another slot":       {LockID: "lck_1", Slot: 4, Generation: 7},
		"another generation": {LockID: "lck_1", Slot: 3, Generation: 8},
	} {
		if pin, err := pinseal.Open(private, place, sealed); err == nil {
			t.Errorf("%s: opened %q", name, pin)
		}
	}
	if _, err := pinseal.Open(otherPrivate, at, sealed); err == nil {
		t.Error("another bridge opened it")
	}
	sealed[len(sealed)-1] ^= 1
	if _, err := pinseal.Open(private, at, sealed); err == nil {
		t.Error("a changed message opened")
	}
}

func TestBadInput(t *testing.T) {
	_, public, err := pinseal.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	if pinseal.CheckPublicKey(public) != nil || pinseal.CheckPublicKey(public[1:]) == nil || pinseal.CheckPublicKey(nil) == nil {
		t.Error("CheckPublicKey is wrong")
	}
	if _, err := pinseal.Seal(nil, pinseal.Place{}, "1"); err == nil {
		t.Error("sealed for no key")
	}
	if _, err := pinseal.Seal(public, pinseal.Place{}, strings.Repeat("1", 65)); err == nil {
		t.Error("sealed an endless code")
	}
	if _, err := pinseal.Open([]byte("x"), pinseal.Place{}, nil); err == nil {
		t.Error("opened with no key")
	}
}
