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

// Lockout is whether the lock itself refuses all PINs for a while after several wrong ones, and how sure that is. It is never empty.
type Lockout string

const (
	LockoutVerified   Lockout = "verified"   // the bridge set the lockout's limits and read them back
	LockoutUnverified Lockout = "unverified" // the lock has a lockout whose limits cannot be read
	LockoutNone       Lockout = "none"       // the lock has no lockout, or one that is too weak or not read back yet
)

// LockoutOf returns whether a lock itself slows the guessing of PINs, and how sure that is. s is the lock's last
// status, with the limits that the bridge read back.
func LockoutOf(c slot.Capabilities, s Status) Lockout {
	switch shown := (slot.Lockout{Attempts: s.LockoutAttempts, Pause: time.Duration(s.LockoutSeconds) * time.Second}); {
	case c.Lockout == slot.LockoutSettable && shown.Effective():
		return LockoutVerified
	case c.Lockout == slot.LockoutFixed:
		return LockoutUnverified
	}
	return LockoutNone
}

// Guessable reports whether a lock accepts PINs and nothing slows guessing them: it has no lockout and its keypad cannot be paused. A lock
// whose driver reports no kinds of credentials is assumed to accept PINs.
func Guessable(c slot.Capabilities, s Status) bool {
	takesPINs := len(c.Kinds) == 0 || slices.Contains(c.Kinds, slot.KindPIN)
	return takesPINs && !c.KeypadPause && LockoutOf(c, s) == LockoutNone
}

// KeypadPausedUntil returns when the current pause of a lock's keypad ends, or nil if the keypad is not paused. It also
// returns nil for a time that is too far ahead to be right.
func KeypadPausedUntil(s Status, now time.Time) *time.Time {
	if s.KeypadPausedUntil == nil || !s.KeypadPausedUntil.After(now) || s.KeypadPausedUntil.Sub(now) > MaxKeypadPause+maxClockLead {
		return nil
	}
	return s.KeypadPausedUntil
}

// MaxKeypadPause bounds how long a bridge pauses a keypad.
const MaxKeypadPause = 5 * time.Minute

// recordKeypadPause stores, as an internal event, that a bridge paused a keypad after wrong PINs. It notifies staff once an hour for each
// lock; the notice has the latest pause.
func recordKeypadPause(tx *db.Tx, lk *ent.Lock, h LockEvent) error {
	at := h.TrustedTime(tx.Now())
	began := h.OccurredAt
	if began.IsZero() {
		began = at
	}
	until := at.Add(min(max(h.Until.Sub(began), 0), MaxKeypadPause))
	e := asInternal(newLockEvent(lk, event.KeypadPaused, map[string]any{"sequence": h.Sequence, "until": until.UTC().Format(time.RFC3339)}))
	if err := setEventDoor(tx, &e, doorOfLock(lk), nil, h, at); err != nil {
		return err
	}
	e.OccurredAt = at
	if err := event.Append(tx, e); err != nil {
		return err
	}
	name, err := NoticeName(tx, lk)
	if err != nil {
		return err
	}
	what := message.Message{Kind: "guessing.paused", Params: message.Params{"lock": name, "until": until, "minutes": int(MaxKeypadPause.Minutes())}}
	if tx.Now().Sub(at) >= lateAfter {
		what = message.Message{Kind: "guessing.pausedEarlier", Params: message.Params{"lock": name, "until": until}}
	}
	return notice.Renew(tx, notice.Notice{
		PropertyID: lk.PropertyID, Kind: notice.Guessing, Subject: lk.ID, Params: message.Params{"what": what}, OnceKey: guessingNoticeKey(lk.ID, at),
	})
}
