package lock

import (
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// Lockout says whether a lock refuses every PIN for a while after wrong ones, by itself.
type Lockout string

// The lockouts.
const (
	LockoutVerified   Lockout = "verified"   // its limits were set and read back
	LockoutUnverified Lockout = "unverified" // it has one, by limits that cannot be read
	LockoutNone       Lockout = "none"
)

// LockoutOf returns what is known about a lock's own lockout.
func LockoutOf(c slot.Capabilities, s Status) Lockout {
	switch shown := (slot.Lockout{Attempts: s.LockoutAttempts, Pause: time.Duration(s.LockoutSeconds) * time.Second}); {
	case c.Lockout == slot.LockoutSettable && shown.Effective():
		return LockoutVerified
	case c.Lockout == slot.LockoutFixed:
		return LockoutUnverified
	}
	return LockoutNone
}

// Guessable reports whether nothing slows the guessing of PINs at a lock: it accepts PINs, has no lockout, and its keypad cannot be
// paused. A lock whose driver reports no kinds of credentials accepts PINs.
func Guessable(c slot.Capabilities, s Status) bool {
	takesPINs := len(c.Kinds) == 0 || slices.Contains(c.Kinds, slot.KindPIN)
	return takesPINs && !c.KeypadPause && LockoutOf(c, s) == LockoutNone
}

// KeypadPausedUntil returns the end of the present pause of a lock's keypad; nil: it is not paused.
func KeypadPausedUntil(s Status, now time.Time) *time.Time {
	if s.KeypadPausedUntil == nil || !s.KeypadPausedUntil.After(now) || s.KeypadPausedUntil.Sub(now) > MaxKeypadPause+maxClockLead {
		return nil
	}
	return s.KeypadPausedUntil
}

// MaxKeypadPause bounds how long a bridge pauses a keypad.
const MaxKeypadPause = 5 * time.Minute

// recordKeypadPause stores that a bridge paused a keypad after wrong PINs, and notifies staff: once an hour for each lock, and the
// notice names the latest pause.
func recordKeypadPause(tx *db.Tx, lk *ent.Lock, h LockEvent) error {
	at := h.TrustedTime(tx.Now())
	began := h.OccurredAt
	if began.IsZero() {
		began = at
	}
	until := at.Add(min(max(h.Until.Sub(began), 0), MaxKeypadPause))
	e := asInternal(newLockEvent(lk, event.KeypadPaused, map[string]any{"sequence": h.Sequence, "until": until.UTC().Format(time.RFC3339)}))
	if err := setEventDoor(tx, &e, lk, nil, h, at); err != nil {
		return err
	}
	e.OccurredAt = at
	if err := event.Append(tx, e); err != nil {
		return err
	}
	what := message.Message{Kind: "guessing.paused", Params: message.Params{"lock": lk.Name, "until": until, "minutes": int(MaxKeypadPause.Minutes())}}
	if tx.Now().Sub(at) >= lateAfter {
		what = message.Message{Kind: "guessing.pausedEarlier", Params: message.Params{"lock": lk.Name, "until": until}}
	}
	return notice.Renew(tx, notice.Notice{
		PropertyID: lk.PropertyID, Kind: "guessing", Subject: lk.ID, Params: message.Params{"what": what}, OnceKey: guessingNoticeKey(lk.ID, at),
	})
}
