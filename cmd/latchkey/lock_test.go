package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// The history of a lock is sorted by time and shows the end of each gap.
func TestHistoryRows(t *testing.T) {
	at := func(hour int) *timestamppb.Timestamp {
		return timestamppb.New(time.Date(2026, 7, 1, hour, 0, 0, 0, time.UTC))
	}
	rows := historyRows(&propertyv1.LockHistory{
		Battery: []*propertyv1.LockReading{{At: at(1), Value: 90}, {At: at(6), Value: 80}},
		Clock:   []*propertyv1.LockReading{{At: at(2), Value: 300}, {At: at(5), Value: -300}},
		Gaps:    []*propertyv1.LockGap{{From: at(3), Until: at(4)}, {From: at(7)}},
		Events:  []*propertyv1.LockHistoryEvent{{At: at(8), Kind: "lock.jammed", Reason: "bolt"}, {At: at(4), Kind: "lock.online"}},
	})
	var got []string
	for _, row := range rows {
		got = append(got, strings.Join(row[1:], " "))
	}
	want := []string{
		"battery 90 %", "clock 300 ms ahead", "not reachable until " + formatTime(at(4)), "event lock.online", "clock 300 ms behind", "battery 80 %",
		"not reachable until now", "event lock.jammed bolt",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the rows are %q, want %q", got, want)
	}
}

// Staff read the history of a lock, and watch what changes.
func TestLockHistoryAndWatch(t *testing.T) {
	s, _ := newWorld(t)
	lock := s.first(`lck_\w+`, s.ok("lock list"))
	s.ok("lock history "+lock, "AT", "WHAT", "lock.moved")
	s.fails(1, "lock history lck_none", "lock")
	s.fails(2, "watch doors", "reservations")

	code, lines, stop := s.follow("watch", "locks", "kiosks")
	for _, want := range []string{"locks         all", "kiosks        all"} {
		if got := <-lines; got != want {
			t.Errorf("watch prints %q, want %q", got, want)
		}
	}
	s.ok("kiosk create Lobby")
	if got := <-lines; !strings.HasPrefix(got, "kiosks        ksk_") {
		t.Errorf("after a change watch prints %q", got)
	}
	stop()
	if got := <-code; got != 0 {
		t.Errorf("watch ends with %d", got)
	}
}

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
