package sandbox

import (
	"testing"
)

// A guest checks in with a phone by the QR code at the door, without script.
func TestVisitorChecksIn(t *testing.T) {
	w := build(t, Config{Play: true})
	ctx := t.Context()
	v, err := w.VisitByDoor(ctx, "2001", "okafor")
	if err != nil {
		t.Fatal(err)
	}
	if err := v.AnswerName(ctx, "Ngozi", "Okafor"); err != nil {
		t.Fatal(err)
	}
	if err := v.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	pin, err := v.Complete(ctx)
	if err != nil || len(pin) < 6 {
		t.Fatalf("PIN of %d digits, %v", len(pin), err)
	}
}
