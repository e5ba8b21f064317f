package event_test

import (
	"slices"
	"testing"

	"latchkey.dev/internal/event"
	"latchkey.dev/internal/test/sourcetest"
)

// declaredKinds returns the kinds that the package declares.
func declaredKinds(t *testing.T) (kinds []event.Kind) {
	t.Helper()
	for _, kind := range sourcetest.Constants(t, "kind.go", "Kind") {
		kinds = append(kinds, event.Kind(kind))
	}
	return kinds
}

// Every kind is either delivered to subscribers or internal.
func TestKindsAreComplete(t *testing.T) {
	declared := declaredKinds(t)
	if len(declared) < 20 {
		t.Fatalf("only %d kinds found in the source", len(declared))
	}
	for _, k := range declared {
		if slices.Contains(event.Kinds, k) == k.Internal() {
			t.Errorf("%s: in Kinds %t, internal %t: want exactly one", k, slices.Contains(event.Kinds, k), k.Internal())
		}
	}
	for _, k := range event.Kinds {
		if !slices.Contains(declared, k) {
			t.Errorf("%s is in Kinds and not declared", k)
		}
	}
}
