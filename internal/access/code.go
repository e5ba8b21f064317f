package access

import (
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/property"
)

// CodePrefix is the id prefix of staff, one-time and backup codes. Slots and PINs hold such an id in place of a grant's.
const CodePrefix = "cod"

// CodeKind is the purpose of a code that belongs to no reservation.
type CodeKind string

// The kinds.
const (
	StaffCode   CodeKind = "staff"   // for a staff member, at any hour or within weekly hours
	OneTimeCode CodeKind = "oneTime" // ends with its first use
	BackupCode  CodeKind = "backup"  // kept on one lock for emergencies
)

// Why a code ended.
const (
	EndRevoked = "revoked"
	EndUsed    = "used"
	EndPast    = "windowPast"
	EndSwapped = "swapped"
	EndOff     = "backupCodesOff" // the property no longer has backup codes
)

// CodeTerms say when a code opens doors.
type CodeTerms struct {
	Kind      CodeKind
	Hours     []Hours // empty: at any hour
	NotBefore time.Time
	NotAfter  time.Time // zero: no end
	Used      bool      // the code has opened a door
	End       string    // why a person ended it; empty: not ended
}

// CodeStatus is the result of EvaluateCode.
type CodeStatus struct {
	Right Right     // the windows; with weekly hours the first may be over
	End   string    // why the code has ended
	Next  time.Time // when to evaluate it again; zero: time changes nothing
}

// Bridges get weekly hours as windows, ahead of time, because they must work without the server: all windows that begin within
// scheduleAhead of the last multiple of scheduleEvery. So a bridge always has eight days of them, and gets new ones every second
// day rather than with every window.
const (
	scheduleAhead = 10 * 24 * time.Hour
	scheduleEvery = 48 * time.Hour
)

// EvaluateCode decides the status of a code.
func EvaluateCode(t CodeTerms, zone *time.Location, now time.Time) CodeStatus {
	switch {
	case t.End != "":
		return CodeStatus{End: t.End}
	case t.Kind == OneTimeCode && t.Used:
		return CodeStatus{End: EndUsed}
	case !t.NotAfter.IsZero() && !t.NotAfter.After(now):
		return CodeStatus{End: EndPast}
	}
	if len(t.Hours) == 0 {
		return statusForWindow(Window{t.NotBefore, t.NotAfter}, now)
	}
	since := now.Truncate(scheduleEvery)
	from := since
	if t.NotBefore.After(from) {
		from = t.NotBefore
	}
	all, always := windowsOfHours(t.Hours, zone, from, now, from.Add(scheduleAhead))
	if always {
		return statusForWindow(Window{t.NotBefore, t.NotAfter}, now)
	}
	return statusForWindows(clipWindows(all, t), now, since.Add(scheduleEvery))
}

// statusForWindow is the status of a code with one window.
func statusForWindow(w Window, now time.Time) CodeStatus {
	return CodeStatus{Right: Right{Open: true, Window: w, HeldBack: w.From.After(now)}, Next: w.To}
}

// clipWindows cuts windows to the time in which a code is valid.
func clipWindows(all []Window, t CodeTerms) (out []Window) {
	for _, w := range all {
		if w.From.Before(t.NotBefore) {
			w.From = t.NotBefore
		}
		if !t.NotAfter.IsZero() && w.To.After(t.NotAfter) {
			w.To = t.NotAfter
		}
		if w.From.Before(w.To) && len(out) <= slot.MaxLaterWindows {
			out = append(out, w)
		}
	}
	return out
}

// statusForWindows is the status of a code with several windows, which are sent to bridges again at a time.
func statusForWindows(all []Window, now, again time.Time) CodeStatus {
	for _, w := range all {
		if !w.To.After(now) {
			continue
		}
		next := w.To
		if w.From.After(now) {
			next = w.From
		}
		if again.Before(next) {
			next = again
		}
		later := make([]slot.Window, len(all)-1)
		for i, l := range all[1:] {
			later[i] = slot.Window(l)
		}
		right := Right{Open: true, Window: all[0], Later: slot.PackWindows(later...), HeldBack: w.From.After(now)}
		return CodeStatus{Right: right, Next: next}
	}
	return CodeStatus{End: EndPast} // the next hours are after its end
}

// termsOf returns the terms of a stored code.
func termsOf(c *ent.Code) CodeTerms {
	t := CodeTerms{Kind: CodeKind(c.Kind), Hours: c.Hours, NotBefore: c.NotBefore, Used: c.UsedAt != nil}
	if c.NotAfter != nil {
		t.NotAfter = *c.NotAfter
	}
	if c.RevokedAt != nil {
		t.End = c.EndReason
	}
	return t
}

// A lock with at least minBackupSlots has backupsPerLock backup codes. One with fewer slots needs them for guests.
const (
	backupsPerLock = 2
	minBackupSlots = 8
)

// BackupLock is a lock that may have backup codes.
type BackupLock struct {
	LockID string
	OnDoor bool
	Slots  int
	Codes  int // its backup codes
}

// MissingBackups returns how many backup codes each lock lacks, by lock.
func MissingBackups(all []BackupLock) map[string]int {
	out := map[string]int{}
	for _, k := range all {
		if k.OnDoor && k.Slots >= minBackupSlots && k.Codes < backupsPerLock {
			out[k.LockID] = backupsPerLock - k.Codes
		}
	}
	return out
}

// fullyRemoved reports whether no lock holds a code any more.
func fullyRemoved(held []installedSlot) bool {
	for _, h := range held {
		if h.Present || h.Evidence != slot.Removed {
			return false
		}
	}
	return true
}

// CodeState returns the state of a code: waiting (for its beginning or its next hours), open or ended.
func CodeState(c *ent.Code, zone *time.Location, now time.Time) string {
	s := EvaluateCode(termsOf(c), zone, now)
	switch {
	case s.End != "" || c.EndedAt != nil:
		return "ended"
	case s.Right.HeldBack:
		return "waiting"
	}
	return "open"
}

// ZoneOf returns the time zone of a property.
func ZoneOf(tx *db.Tx, propertyID string) (*time.Location, error) {
	p, err := property.Get(tx.Context(), tx.Client, propertyID)
	if err != nil {
		return nil, err
	}
	return clock.Zone(p.TimeZone)
}
