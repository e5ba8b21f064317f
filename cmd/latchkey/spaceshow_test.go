package main

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// The server returns the latest uses only: where all of them are recent, older recent ones may be missing.
func TestUsesSinceSaysWhenSomeMayBeMissing(t *testing.T) {
	since := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	use := func(at time.Time) *propertyv1.CodeUse { return &propertyv1.CodeUse{At: timestamppb.New(at)} }
	var uses []*propertyv1.CodeUse
	for range maxCodeUses - 1 {
		uses = append(uses, use(since))
	}
	if recent, more := usesSince(append(uses, use(since.Add(-time.Second))), since); len(recent) != maxCodeUses-1 || more {
		t.Errorf("with an older use: %d are recent, more: %v", len(recent), more)
	}
	if recent, more := usesSince(append(uses, use(since)), since); len(recent) != maxCodeUses || !more {
		t.Errorf("with recent uses alone: %d are recent, more: %v", len(recent), more)
	}
}
