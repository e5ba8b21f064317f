package lock

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entproperty "latchkey.dev/ent/property"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock/slot"
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
	zone, err := zoneOf(tx, lk.PropertyID)
	if err != nil {
		return err
	}
	return notice.Renew(tx, notice.Notice{
		PropertyID: lk.PropertyID, Kind: "guessing", Subject: lk.ID, Text: pauseText(lk.Name, until, zone, tx.Now().Sub(at) >= lateAfter),
		OnceKey: guessingNoticeKey(lk.ID, at),
	})
}

// pauseText is the notice of a pause; late: the bridge reported it long after it happened.
func pauseText(name string, until time.Time, zone *time.Location, late bool) string {
	if late {
		return fmt.Sprintf("Wrong PINs were typed at lock %q. Its keypad was paused until %s (%s) and refused every PIN until then. "+
			"The bridge reported it only now.", name, until.In(zone).Format("2006-01-02 15:04:05"), zone)
	}
	return fmt.Sprintf("Wrong PINs are being typed at lock %q. Its keypad is paused until %s and refuses every PIN until then; more wrong PINs pause it "+
		"again, for at most %d minutes. SmartKeys and remote unlocking still open the door. Check who is at the door.",
		name, until.In(zone).Format("15:04:05"), int(MaxKeypadPause.Minutes()))
}

// zoneOf returns the time zone of a property, for texts. It returns UTC if the property has none that can be loaded: a text must
// not hold up the journal of a bridge.
func zoneOf(tx *db.Tx, propertyID string) (*time.Location, error) {
	p, err := tx.Property.Query().Where(entproperty.ID(propertyID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return time.UTC, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load the time zone of a property: %w", err)
	}
	if zone, err := clock.Zone(p.TimeZone); err == nil {
		return zone, nil
	}
	return time.UTC, nil
}
