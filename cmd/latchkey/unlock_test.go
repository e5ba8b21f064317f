package main

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock/slot"
)

func TestFailedUnlockExplainsTheResult(t *testing.T) {
	jammed, silent := "jammed", "timeout"
	until := timestamppb.New(time.Date(2026, 11, 22, 9, 30, 15, 0, time.UTC))
	for _, tt := range []struct {
		act  *propertyv1.Act
		want string
	}{
		{&propertyv1.Act{Result: "refused", Reason: &jammed, Deadline: until}, "the door did not open: the bolt is jammed"},
		{&propertyv1.Act{Result: "refused"}, "the door did not open"},
		{&propertyv1.Act{Result: "expired", Deadline: until}, "the door did not open: the command did not reach the lock in time"},
		{&propertyv1.Act{Result: "unknown", Reason: &silent}, "the door may have opened: the lock did not answer"},
		{&propertyv1.Act{Result: "unknown", Deadline: until}, "the door may have opened, or may open until 09:30:15 UTC: no answer came"},
	} {
		f, ok := fault.Of(unopenedError(tt.act))
		if !ok || f.Message != tt.want {
			t.Errorf("%v: %v, want %q", tt.act, f, tt.want)
		}
	}
	for word := range whyNot {
		known := false
		for _, r := range slot.Results() {
			known = known || string(r) == word
		}
		if !known {
			t.Errorf("no lock ever answers %q", word)
		}
	}
}
