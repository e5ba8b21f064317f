package smartkey

import (
	"bytes"
	"crypto/elliptic"
	"encoding/hex"
	"math/big"
	"slices"
	"testing"

	"github.com/veraison/go-cose"
)

// highS turns a signature's s into order - s: it verifies under plain ECDSA.
func highS(raw []byte) []byte {
	out := slices.Clone(raw)
	s := out[len(out)-32:]
	new(big.Int).Sub(elliptic.P256().Params().N, new(big.Int).SetBytes(s)).FillBytes(s)
	return out
}

// TestAnyCOSEReader shows that what we sign is plain COSE, and that the high s
// we refuse is a valid signature to a reader that does not look.
func TestAnyCOSEReader(t *testing.T) {
	w := newWorld(t, 1)
	verifier := must(cose.NewVerifier(cose.AlgorithmES256, w.signer.Public()))(t)
	for name, raw := range map[string][]byte{"as signed": w.phone.token, "high s": highS(w.phone.token)} {
		var msg cose.Sign1Message
		if err := msg.UnmarshalCBOR(raw); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := msg.Verify(nil, verifier); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if typ := msg.Headers.Protected[cose.HeaderLabelType]; typ != typeToken {
			t.Errorf("%s: typ %v", name, typ)
		}
	}
}

// TestStatusBits reads the examples of the Token Status List's own text, section 4.1.
func TestStatusBits(t *testing.T) {
	published := must(hex.DecodeString("78dadbb918000217015d"))(t)
	bits := must(decompress(published))(t)
	if !bytes.Equal(bits, []byte{0xb9, 0xa3}) {
		t.Fatalf("bits %x", bits)
	}
	list := List{bits: bits, number: 1}
	for index, want := range []int{1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1} {
		if revoked, known := list.Revoked(uint32(index)); !known || revoked != (want == 1) {
			t.Errorf("index %d: revoked %v, known %v", index, revoked, known)
		}
	}
	if _, known := list.Revoked(16); known {
		t.Error("an index beyond the list is known")
	}
	for name, in := range map[string][]byte{
		"empty": {}, "no zlib": {1, 2, 3}, "cut": published[:9], "checksum": append(slices.Clone(published[:9]), 0),
		"more after it": append(slices.Clone(published), 0), "no bits": must(compress(nil))(t),
		"a bomb": must(compress(make([]byte, 4<<20)))(t),
	} {
		if _, err := decompress(in); ReasonOf(err) != Malformed {
			t.Errorf("%s: %v", name, err)
		}
	}
}
