// Package code manages the codes that staff create: staff codes, one-time codes and the backup codes of locks. They belong to no
// reservation, and reach their locks through the same steps as the access of a reservation: see [access.Run].
package code

import (
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/property"
)

// Kind is the purpose of a code that belongs to no reservation.
type Kind string

const (
	Staff   Kind = "staff"   // for a staff member, at any time or within weekly hours
	OneTime Kind = "oneTime" // ends when it is first used
	Backup  Kind = "backup"  // kept on one lock for emergencies
)

// Reasons why a code ended.
const (
	EndRevoked = "revoked"
	EndUsed    = "used"
	EndPast    = "windowPast"
	EndSwapped = "swapped"        // a new backup code replaced the code
	EndOff     = "backupCodesOff" // the property switched backup codes off
)

// Terms are the conditions of a code: when it is valid, and whether it was used or ended.
type Terms struct {
	Kind      Kind
	Hours     []Hours // Hours is empty if the code is valid at any hour
	NotBefore time.Time
	NotAfter  time.Time // NotAfter is zero if the code has no end
	Used      bool      // Used means that the code has opened a door
	End       string    // End is why the code was ended by [End]; empty if it was not, also after its use or its time
}

// Status is the result of [Evaluate].
type Status struct {
	Right access.Right // Right has the windows; with weekly hours the first may be over
	End   string       // End is why the code has ended; empty if it has not
	Next  time.Time    // Next is when to evaluate the code again; zero: never. The begin of a code's only window needs no evaluation
}

// Bridges get weekly hours ahead of time as windows, because they must work without the server: all windows that
// begin within scheduleAhead of the last multiple of scheduleEvery. So a bridge always has windows for eight days,
// and gets new ones every second day only.
const (
	scheduleAhead = 10 * 24 * time.Hour
	scheduleEvery = 48 * time.Hour
)

// Evaluate decides from its terms what a code may open now, why it has ended, and when to evaluate it again. The Right is open unless the
// code has ended; HeldBack means that it waits for its start or for the next weekly hours. zone is the time zone of weekly hours.
func Evaluate(t Terms, zone *time.Location, now time.Time) Status {
	switch {
	case t.End != "":
		return Status{End: t.End}
	case t.Kind == OneTime && t.Used:
		return Status{End: EndUsed}
	case !t.NotAfter.IsZero() && !t.NotAfter.After(now):
		return Status{End: EndPast}
	}
	if len(t.Hours) == 0 {
		return statusForWindow(access.Window{From: t.NotBefore, To: t.NotAfter}, now)
	}
	since := now.Truncate(scheduleEvery)
	from := since
	if t.NotBefore.After(from) {
		from = t.NotBefore
	}
	all, always := windowsOfHours(t.Hours, zone, from, now, from.Add(scheduleAhead))
	if always {
		return statusForWindow(access.Window{From: t.NotBefore, To: t.NotAfter}, now)
	}
	return statusForWindows(clipWindows(all, t), now, since.Add(scheduleEvery))
}

// statusForWindow returns the status of a code with one window that has not ended. A zero end of the window means no end.
func statusForWindow(w access.Window, now time.Time) Status {
	return Status{Right: access.Right{Open: true, Window: w, HeldBack: w.From.After(now)}, Next: w.To}
}

// clipWindows cuts windows to the time in which a code is valid, and drops empty ones. It returns at most as many windows as a slot can
// hold: the current one and MaxLaterWindows.
func clipWindows(all []access.Window, t Terms) (out []access.Window) {
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

// statusForWindows returns the status of a code with several windows: ended if all are over. again is when to compute the windows again,
// because more of the weekly hours must be sent to bridges.
func statusForWindows(all []access.Window, now, again time.Time) Status {
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
		right := access.Right{Open: true, Window: all[0], Later: slot.PackWindows(later...), HeldBack: w.From.After(now)}
		return Status{Right: right, Next: next}
	}
	return Status{End: EndPast} // the next hours begin after the end of the code
}

// termsOf returns the conditions of a stored code: when it is valid, and whether it was used or ended.
func termsOf(c *ent.Code) Terms {
	t := Terms{Kind: Kind(c.Kind), Hours: c.Hours, NotBefore: c.NotBefore, Used: c.UsedAt != nil}
	if c.NotAfter != nil {
		t.NotAfter = *c.NotAfter
	}
	if c.RevokedAt != nil {
		t.End = c.EndReason
	}
	return t
}

// State returns the state of a code for the API: "waiting" (for the start or the next weekly hours), "open" or "ended". A code whose terms
// are over counts as ended, also before [Reconcile] stores that.
func State(c *ent.Code, zone *time.Location, now time.Time) string {
	s := Evaluate(termsOf(c), zone, now)
	switch {
	case s.End != "" || c.EndedAt != nil:
		return "ended"
	case s.Right.HeldBack:
		return "waiting"
	}
	return "open"
}

// ZoneOf returns the time zone of a property. An unknown property is a not-found fault.
func ZoneOf(tx *db.Tx, propertyID string) (*time.Location, error) {
	p, err := property.Get(tx, propertyID)
	if err != nil {
		return nil, err
	}
	return clock.Zone(p.TimeZone)
}
