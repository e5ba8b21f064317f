package smartkey

import (
	"testing"
	"time"
)

func TestAcceptedOnce(t *testing.T) {
	w := newWorld(t, 1)
	in := w.use()
	first := Verify(in)
	if !first.Accepted() {
		t.Fatalf("refused: %s: %s", first.Reason, first.Detail)
	}
	if first.Token.Subject != w.grant.Subject || first.Proof.Door != w.room || first.ListNumber != 1 {
		t.Errorf("the verdict is about another use: %+v", first)
	}
	if want := time.Hour + NonceLife; first.Until != want {
		t.Errorf("valid until %v, want %v", first.Until, want)
	}
	if want := time.Hour + time.Second; first.ListAge != want {
		t.Errorf("list age %v, want %v: the clock's error counts", first.ListAge, want)
	}
	in.Nonces = first.Nonces
	if second := Verify(in); second.Reason != Replayed {
		t.Errorf("the second time: %s, want %s", second.Reason, Replayed)
	}
}

// TestRows runs every row, and wants one for every reason.
func TestRows(t *testing.T) {
	seen := map[Reason]bool{}
	for i, tt := range allRows() {
		seen[tt.want] = true
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, uint64(i))
			in := tt.in(w)
			if v := Verify(in); v.Reason != tt.want || v.Accepted() != (tt.want == OK) || (v.Detail == "") != (tt.want == OK) {
				t.Errorf("%s (%s), want %s", v.Reason, v.Detail, tt.want)
			}
		})
	}
	for _, r := range []Reason{
		OK, Malformed, UnsupportedAlgorithm, UnknownIssuer, BadSignature, Cloned, WrongToken, WrongBridge, UnknownNonce, Replayed, Busy,
		WrongDoor, WrongOperation, ClockUntrusted, NotYetValid, Expired, Superseded, Revoked, StaleList,
	} {
		if !seen[r] {
			t.Errorf("no row ends in %s", r)
		}
	}
}
