package access

import (
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/staff"
)

// CodePrefix begins the ids of codes that are no stay's. They stand in slots and PINs where the id of a grant does.
const CodePrefix = "cod"

// CodeKind is what a code that is no stay's is for.
type CodeKind string

// The kinds.
const (
	StaffCode   CodeKind = "staff"   // of a person who works here: at any hour, or within weekly hours
	OneTimeCode CodeKind = "oneTime" // ends when it has opened a door once
	BackupCode  CodeKind = "backup"  // kept ready on one lock, for whoever staff read it to
)

// Why a code ended.
const (
	EndRevoked = "revoked"
	EndUsed    = "used"
	EndPast    = "windowPast"
	EndSwapped = "swapped"
	EndOff     = "backupCodesOff" // the lock keeps none any more
)

// Terms are what says when a code opens.
type CodeTerms struct {
	Kind      CodeKind
	Hours     []Hours // empty: at any hour
	NotBefore time.Time
	NotAfter  time.Time // zero: no end
	Used      bool      // it has opened a door
	End       string    // why a person ended it; empty: nobody did
}

// Standing is what the terms of a code come to at an instant.
type CodeStatus struct {
	Right Right     // its windows; of weekly hours the first may be over
	End   string    // why it is over for good
	Next  time.Time // when to look again; zero: time alone changes nothing
}

// Weekly hours are handed to bridges as windows, ahead of time, since a bridge keeps them with the service away: those
// that begin within ahead of the last multiple of anew. So there are always eight days of them, and they are handed anew
// every second day, not with every window.
const (
	scheduleAhead = 10 * 24 * time.Hour
	scheduleEvery = 48 * time.Hour
)

// Stand decides on a code.
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

// standOf is the standing of a code with one window.
func statusForWindow(w Window, now time.Time) CodeStatus {
	return CodeStatus{Right: Right{Open: true, Window: w, HeldBack: w.From.After(now)}, Next: w.To}
}

// bounded cuts windows to the time in which a code is valid.
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

// standIn is the standing of a code with several windows, which are handed anew at a time.
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
	return CodeStatus{End: EndPast} // the next hours lie behind its end
}

// termsOf reads the terms of a stored code.
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

// backups is how many codes a lock keeps ready, and fewest how many slots it must have for that: a lock with fewer needs
// them for guests.
const (
	backupsPerLock = 2
	minBackupSlots = 8
)

// Keeper is a lock that may keep backup codes.
type BackupLock struct {
	LockID string
	OnDoor bool
	Slots  int
	Codes  int // backup codes that it has, or is about to have
}

// MissingBackups says how many backup codes each lock lacks, by lock.
func MissingBackups(all []BackupLock) map[string]int {
	out := map[string]int{}
	for _, k := range all {
		if k.OnDoor && k.Slots >= minBackupSlots && k.Codes < backupsPerLock {
			out[k.LockID] = backupsPerLock - k.Codes
		}
	}
	return out
}

// lapsed says whether nothing of a code is on any lock.
func fullyRemoved(held []installedSlot) bool {
	for _, h := range held {
		if h.Present || h.Evidence != slot.Removed {
			return false
		}
	}
	return true
}

// CodeState is how a code stands: waiting (for its beginning or its next hours), open or ended.
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

// ZoneOf is the time zone of a property.
func ZoneOf(tx *db.Tx, propertyID string) (*time.Location, error) {
	p, err := staff.Property(tx.Context(), tx.Client, propertyID)
	if err != nil {
		return nil, err
	}
	return clock.Zone(p.TimeZone)
}
