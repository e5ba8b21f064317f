package actor

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFromReturnsWhatWithPut(t *testing.T) {
	if a, ok := From(context.Background()); ok {
		t.Fatalf("a bare context has the actor %+v", a)
	}
	want := Actor{Kind: Integration, ID: "int_1", PropertyID: "prp_1", Scopes: []string{PINsRead}}
	got, ok := From(With(context.Background(), want))
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("ok %v, diff %s", ok, diff)
	}
}

func TestHas(t *testing.T) {
	a := Actor{Scopes: []string{ReservationsRead}}
	if !a.Has(ReservationsRead) || a.Has(ReservationsWrite) || a.Has("") {
		t.Errorf("scopes of %+v are wrong", a)
	}
}

func TestSubject(t *testing.T) {
	for want, a := range map[string]Actor{
		"int_1":          {Kind: Integration, ID: "tok_9", IntegrationID: "int_1"},
		"staff:stf_1":    {Kind: Staff, ID: "stf_1"},
		"operator":       {Kind: Operator},
		"operator:op_22": {Kind: Operator, ID: "op_22"},
	} {
		if got := a.Subject(); got != want {
			t.Errorf("Subject(%+v) = %q, want %q", a, got, want)
		}
		if got := a.Author(); got != want {
			t.Errorf("Author(%+v) = %q, want %q", a, got, want)
		}
	}
	// Rate limits and Idempotency-Keys remain those of the token.
	a := Actor{Kind: Staff, ID: "tok_1", PropertyID: "prp_1", For: "operator:socket"}
	if a.Author() != "operator:socket" || a.Subject() != "staff:tok_1" {
		t.Errorf("author %q, subject %q", a.Author(), a.Subject())
	}
}
