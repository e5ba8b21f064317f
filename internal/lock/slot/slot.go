// Package slot reconciles the credential slots of locks with what the server desires. It is pure: it has no clock and
// no I/O and imports no other package of this module, so that the server, the bridge, the simulator and the model
// checker run the same functions.
//
// The server has a [ServerSlot] for each slot and changes it with [Assign], [MarkSent] and [ApplyReport]. It sends
// the [Desired] state, never commands. The bridge has a [Lock], applies each [Event] to it with [Step], and reports
// the [Observed] state. Both sides name a desired state by its generation, which only grows: a message about another
// generation has no effect. A credential counts as set or removed only by [Evidence] from the lock.
package slot

import (
	"fmt"
	"io"
	"log/slog"
	"time"
)

// PIN is a string of digits, so that a leading zero survives. It prints as "[pin]" through fmt, slog and
// encoding/json; only string(p) returns the digits.
type PIN string

const redacted = "[pin]"

// Format prints "[pin]", not the digits, for every verb.
func (PIN) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// String returns "[pin]", not the digits.
func (PIN) String() string { return redacted }

// GoString returns "[pin]" for %#v, not the digits.
func (PIN) GoString() string { return redacted }

// LogValue returns "[pin]" for slog, not the digits.
func (PIN) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns "[pin]", also for JSON, not the digits. A store that needs the digits writes string(p).
func (PIN) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Intent is whether a slot should hold a credential.
type Intent string

const (
	Absent  Intent = "absent"
	Present Intent = "present"
)

// Evidence is how sure it is that a credential is on its lock. A bridge reports only Sent, Accepted, Verified,
// Unconfirmed and Failed. The server adds the other values.
type Evidence string

const (
	Planned     Evidence = "planned"     // the code is desired, but has no slot yet
	Queued      Evidence = "queued"      // no bridge has reported yet that it stored the code
	Sent        Evidence = "sent"        // the bridge has stored the code, and has not reported yet that it is on the lock
	Accepted    Evidence = "accepted"    // the lock acknowledged the code; in [Observed] without Present: its removal
	Verified    Evidence = "verified"    // the code was read back from the lock; in [Observed] without Present: a reading, or the bridge's record, proves that it is not there
	Used        Evidence = "used"        // the code opened the door
	Unconfirmed Evidence = "unconfirmed" // an operation may or may not have taken effect, or the slot was changed at the lock
	Failed      Evidence = "failed"      // the lock finally refused the code: no retry before the desired state changes
	Removing    Evidence = "removing"    // the code should not be on the lock now, but the lock has not confirmed that it is gone
	Removed     Evidence = "removed"     // it is proven that the code is gone, by the lock's acknowledgement or a reading, or that no bridge ever got it
)

// ConfirmedByLock reports whether the lock acknowledged the credential or its removal, or a reading showed it: Accepted or Verified. It
// returns false for Used, which no bridge reports.
func (e Evidence) ConfirmedByLock() bool { return e == Accepted || e == Verified }

// Desired is the desired state of a slot. Generation grows with every change and is never reused, even after the slot
// was emptied.
type Desired struct {
	Generation uint64
	Intent     Intent
	PIN        PIN // PIN is empty if Intent is Absent
	// NotBefore and NotAfter bound the window [NotBefore, NotAfter). A zero NotBefore means no start, a zero NotAfter no end.
	NotBefore time.Time
	NotAfter  time.Time
	// LaterWindows are the windows after the first, which then has an end. Between two windows the code is not on the
	// lock.
	LaterWindows Windows
	// OneTimeID identifies a one-time code on all locks that have it. It is empty for a reusable code. A bridge that
	// sees a one-time code used removes it from all of its locks without the server.
	OneTimeID string
	// MayHoldOwn warns a bridge that has no record of the slot: the slot may hold a Latchkey credential, because
	// another bridge got one, or because this bridge reported one before it was started from an old copy of its
	// store. A bridge with a record trusts the record, unless the record is older than ReportedGeneration.
	MayHoldOwn bool
	// ReportedGeneration is the latest generation of the slot of which the server has a report, or 0. A bridge with a
	// record of an older generation was started from an old copy of its store. The bridge does not store it.
	ReportedGeneration uint64
}

// String omits the PIN.
func (d Desired) String() string {
	s := fmt.Sprintf("generation %d %s %v", d.Generation, d.Intent, d.Window(0))
	if n := d.LaterWindows.Len(); n > 0 {
		s += fmt.Sprintf(" and %d more until %s", n, d.Window(n).To.UTC().Format(time.RFC3339))
	}
	if d.OneTimeID != "" {
		s += " once"
	}
	return s
}

// GoString omits the PIN from %#v.
func (d Desired) GoString() string { return d.String() }

// LogValue omits the PIN.
func (d Desired) LogValue() slog.Value { return slog.StringValue(d.String()) }

// Observed is what a bridge knows about a slot, for one desired generation. Bridges store it as JSON under the field
// names.
type Observed struct {
	Generation uint64
	Present    bool // Present means that the credential of Generation is on the lock, or another one that must be removed: see Window
	// Window is the index of the present window, else of the next, else of the last. If Present is set before that window
	// without evidence that [Evidence.ConfirmedByLock] accepts, a Latchkey credential is on the lock that must be removed.
	Window int
	Used   bool // Used means that the one-time code was used
	// Cleared means that no credential of an older generation is on the lock. It is set only without evidence that
	// [Evidence.ConfirmedByLock] accepts, which proves the same.
	Cleared  bool
	Evidence Evidence
	Result   Result // Result is the reason why the lock has not confirmed the slot, if one is known; empty if it has
	Rule     string // Rule is the lock's rule that the PIN breaks, if Result is InvalidFormat
	At       time.Time
}

// isGone reports whether the lock has confirmed that the slot holds no Latchkey credential.
func (o Observed) isGone() bool { return !o.Present && o.Evidence.ConfirmedByLock() }

// sameObservation reports whether two observations differ at most in the time and the text of Rule. A bridge reports such a repeated
// observation only as the answer to a desired state.
func (o Observed) sameObservation(p Observed) bool {
	return o.Generation == p.Generation && o.Present == p.Present && o.Evidence == p.Evidence && o.Result == p.Result &&
		o.Window == p.Window && o.Used == p.Used && o.Cleared == p.Cleared
}
