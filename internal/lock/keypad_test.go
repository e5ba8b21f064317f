package lock_test

import (
	"strings"
	"testing"
	"time"

	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

func TestWhatSlowsGuessingAtALock(t *testing.T) {
	pin := []slot.CredentialKind{slot.KindPIN}
	for name, c := range map[string]struct {
		caps      slot.Capabilities
		status    lock.Status
		lockout   lock.Lockout
		guessable bool
	}{
		"nothing":                       {slot.Capabilities{Kinds: pin}, lock.Status{}, lock.LockoutNone, true},
		"an older bridge says nothing":  {slot.Capabilities{}, lock.Status{}, lock.LockoutNone, true},
		"no keypad":                     {slot.Capabilities{Kinds: []slot.CredentialKind{slot.KindCard}}, lock.Status{}, lock.LockoutNone, false},
		"set and read back":             {slot.Capabilities{Kinds: pin, Lockout: slot.LockoutSettable}, lock.Status{LockoutAttempts: 5, LockoutSeconds: 255}, lock.LockoutVerified, false},
		"not read back yet":             {slot.Capabilities{Kinds: pin, Lockout: slot.LockoutSettable}, lock.Status{}, lock.LockoutNone, true},
		"too many attempts":             {slot.Capabilities{Kinds: pin, Lockout: slot.LockoutSettable}, lock.Status{LockoutAttempts: 100, LockoutSeconds: 255}, lock.LockoutNone, true},
		"too short a pause":             {slot.Capabilities{Kinds: pin, Lockout: slot.LockoutSettable}, lock.Status{LockoutAttempts: 5, LockoutSeconds: 5}, lock.LockoutNone, true},
		"read from a lock without one":  {slot.Capabilities{Kinds: pin}, lock.Status{LockoutAttempts: 5, LockoutSeconds: 255}, lock.LockoutNone, true},
		"its own, which cannot be read": {slot.Capabilities{Kinds: pin, Lockout: slot.LockoutFixed}, lock.Status{}, lock.LockoutUnverified, false},
		"a keypad that can be paused":   {slot.Capabilities{Kinds: pin, KeypadPause: true}, lock.Status{}, lock.LockoutNone, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lock.LockoutOf(c.caps, c.status); got != c.lockout {
				t.Errorf("lockout %s, want %s", got, c.lockout)
			}
			if got := lock.Guessable(c.caps, c.status); got != c.guessable {
				t.Errorf("guessable %v, want %v", got, c.guessable)
			}
		})
	}
}

func TestAPauseIsShownUntilItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		until time.Duration
		shown bool
	}{
		"running": {time.Minute, true},
		"over":    {-time.Second, false},
		"longer than any pause, by a wrong clock": {time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			until := start.Add(c.until)
			if got := lock.KeypadPausedUntil(lock.Status{KeypadPausedUntil: &until}, start); (got != nil) != c.shown {
				t.Errorf("shown: %v", got)
			}
		})
	}
}

func TestAPausedKeypadReachesStaff(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk, n := s.door(), int64(0)
		paused := func(d time.Duration) {
			t.Helper()
			n++
			s.change(func(tx *db.Tx) error {
				_, _, err := lock.StoreEvents(tx, s.bridge.ID, s.epoch, []lock.LockEvent{{
					Sequence: n, Address: "front", Kind: "keypadPaused", OccurredAt: s.clock.Now(), Until: s.clock.Now().Add(d),
				}})
				return err
			})
		}
		texts := func() (out []string) {
			t.Helper()
			all, err := s.db.View(t.Context()).Notice.Query().Where(entnotice.Kind("guessing"), entnotice.Subject(lk.ID)).All(t.Context())
			s.must(err)
			for _, one := range all {
				out = append(out, notice.Text(one, message.Reader{}))
			}
			return out
		}
		paused(15 * time.Second)
		if got := texts(); len(got) != 1 || !strings.Contains(got[0], "paused until 09:00:15") {
			t.Fatalf("notices %q", got)
		}
		s.clock.Advance(time.Minute)
		paused(30 * time.Second)
		if got := texts(); len(got) != 1 || !strings.Contains(got[0], "paused until 09:01:30") {
			t.Errorf("notices %q", got)
		}
		s.clock.Advance(time.Minute)
		paused(24 * time.Hour) // no bridge pauses for so long
		if got := texts(); len(got) != 1 || !strings.Contains(got[0], "paused until 09:07:00") {
			t.Errorf("notices %q", got)
		}
		s.clock.Advance(time.Hour)
		paused(15 * time.Second)
		if got := texts(); len(got) != 2 {
			t.Errorf("an hour later %d notices, want 2", len(got))
		}
		if got := len(s.events("lock.keypadPaused")); got != 4 {
			t.Errorf("%d events, want 4", got)
		}
	})
}

func TestTheNoticeOfAPauseThatIsReportedLateIsInThePast(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		s.change(func(tx *db.Tx) error {
			return tx.Property.UpdateOneID(s.propertyID).SetTimeZone("Europe/Lisbon").Exec(tx.Context())
		})
		s.clock.Advance(48 * time.Hour)
		s.change(func(tx *db.Tx) error {
			_, _, err := lock.StoreEvents(tx, s.bridge.ID, s.epoch, []lock.LockEvent{{
				Sequence: 1, Address: "front", Kind: "keypadPaused", OccurredAt: start, Until: start.Add(15 * time.Second),
			}})
			return err
		})
		text := notice.Text(s.db.View(t.Context()).Notice.Query().Where(entnotice.Kind("guessing"), entnotice.Subject(lk.ID)).OnlyX(t.Context()), message.Reader{})
		if !strings.Contains(text, "was paused until 21 Nov 2026, 09:00:15") || strings.Contains(text, "is paused") || strings.Contains(text, "are being typed") {
			t.Errorf("text %q", text)
		}
	})
}

// A time zone that cannot be loaded must not hold up the journal of a bridge.
func TestAPauseIsStoredAlthoughTheTimeZoneCannotBeLoaded(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.door()
		s.change(func(tx *db.Tx) error {
			return tx.Property.UpdateOneID(s.propertyID).SetTimeZone("Europe/Atlantis").Exec(tx.Context())
		})
		s.change(func(tx *db.Tx) error {
			_, _, err := lock.StoreEvents(tx, s.bridge.ID, s.epoch, []lock.LockEvent{{
				Sequence: 1, Address: "front", Kind: "keypadPaused", OccurredAt: start, Until: start.Add(15 * time.Second),
			}})
			return err
		})
		if got := len(s.events("lock.keypadPaused")); got != 1 {
			t.Errorf("%d events, want 1", got)
		}
	})
}

// A bridge that does not know when the pause began still knows when it ends.
func TestAPauseWithoutABeginning(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.door()
		s.change(func(tx *db.Tx) error {
			_, _, err := lock.StoreEvents(tx, s.bridge.ID, s.epoch, []lock.LockEvent{{
				Sequence: 1, Address: "front", Kind: "keypadPaused", Until: s.clock.Now().Add(30 * time.Second),
			}})
			return err
		})
		want := s.clock.Now().Add(30 * time.Second).Format(time.RFC3339)
		if got := s.events("lock.keypadPaused")[0].Body["until"]; got != want {
			t.Errorf("until %v, want %s", got, want)
		}
	})
}
