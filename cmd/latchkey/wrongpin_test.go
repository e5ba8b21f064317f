package main

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

func TestLockShowsGuessingProtection(t *testing.T) {
	until := timestamppb.New(time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC))
	for want, c := range map[string]struct {
		can *propertyv1.LockAbilities
		is  *propertyv1.LockStatus
	}{
		"paused until":        {&propertyv1.LockAbilities{KeypadPause: true}, &propertyv1.LockStatus{KeypadPausedUntil: until}},
		"the bridge pauses":   {&propertyv1.LockAbilities{KeypadPause: true, Lockout: "none"}, nil},
		"5 in a row":          {&propertyv1.LockAbilities{Lockout: "verified", LockoutAttempts: 5, LockoutSeconds: 240}, nil},
		"cannot be read":      {&propertyv1.LockAbilities{Lockout: "unverified"}, nil},
		"PINs can be guessed": {&propertyv1.LockAbilities{Lockout: "none", Guessable: true}, nil},
		"-":                   {&propertyv1.LockAbilities{Lockout: "none"}, nil},
	} {
		if got := wrongPINText(c.can, c.is); !strings.Contains(got, want) {
			t.Errorf("%q, want %q in it", got, want)
		}
	}
}
