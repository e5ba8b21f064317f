// Package slot reconciles the credential slots of locks with what the server desires. It is pure: it has no clock and no I/O and
// imports no other package of this module, so that the server, the bridge, the simulator and the model checker run the same functions.
//
// The server has a [ServerSlot] for each slot and changes it with [Assign], [MarkSent] and [ApplyReport]. It sends the [Desired] state,
// never commands. The bridge has a [Lock], applies each [Event] to it with [Step], and reports the [Observed] state. Both sides name a
// desired state by its generation, which only grows: a message about another generation has no effect. A credential counts as set or
// removed only by [Evidence] from the lock.
package slot

import (
	"fmt"
	"io"
	"log/slog"
	"time"
)

// PIN holds the digits typed at a keypad as text, so that a leading zero survives. It prints as "[pin]" through fmt, slog and
// encoding/json; only string(p) returns the digits.
type PIN string

const redacted = "[pin]"

// Format hides the digits for every verb.
func (PIN) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// String hides the digits.
func (PIN) String() string { return redacted }

// GoString hides the digits.
func (PIN) GoString() string { return redacted }

// LogValue hides the digits.
func (PIN) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the digits. A store that needs them writes string(p).
func (PIN) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Intent says whether a slot should hold its credential.
type Intent string

// The intents.
const (
	Absent  Intent = "absent"
	Present Intent = "present"
)

// Evidence says how much is known about a credential on its lock. A bridge reports only Sent, Accepted, Verified, Unconfirmed and
// Failed. The server adds the other values.
type Evidence string

// The values of evidence, as partners see them.
const (
	Planned     Evidence = "planned"     // desired, but no slot has it yet
	Queued      Evidence = "queued"      // the bridge has not stored it yet
	Sent        Evidence = "sent"        // the bridge has stored it, but it is not on the lock yet
	Accepted    Evidence = "accepted"    // the lock acknowledged it
	Verified    Evidence = "verified"    // it was read back from the lock
	Used        Evidence = "used"        // it opened the door
	Unconfirmed Evidence = "unconfirmed" // an operation may have taken effect or not
	Failed      Evidence = "failed"      // the lock refused it finally
	Removing    Evidence = "removing"    // its removal is desired, but not proven
	Removed     Evidence = "removed"     // its removal is proven
)

// Confirmed reports whether the evidence comes from the lock itself.
func (e Evidence) Confirmed() bool { return e == Accepted || e == Verified }

// Desired is the desired state of a slot. Generation grows with every change and is never reused, also not after the slot was
// emptied.
type Desired struct {
	Generation uint64
	Intent     Intent
	PIN        PIN // empty when Intent is Absent
	// NotBefore and NotAfter bound the window [NotBefore, NotAfter); a zero NotAfter has no end.
	NotBefore time.Time
	NotAfter  time.Time
	// LaterWindows follow the first window, which has an end then. Between two windows the code is not on the lock.
	LaterWindows Windows
	// OneTimeID names a one-time code, with the same name on every lock that has it; empty: the code can be used again and again. A
	// bridge that sees it used removes it from all of its locks by itself.
	OneTimeID string
	// MayHoldOurs tells a bridge without a record of the slot that the slot may hold a Latchkey credential: another bridge was sent one,
	// or this bridge reported one before it was started from an old copy of its store. A bridge with a record trusts the record.
	MayHoldOurs bool
}

// String describes the desired state without its PIN.
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

// GoString equals String, so that %#v does not print the PIN.
func (d Desired) GoString() string { return d.String() }

// LogValue describes the desired state without its PIN.
func (d Desired) LogValue() slog.Value { return slog.StringValue(d.String()) }

// Observed is what a bridge knows about a slot with respect to one desired generation. Bridges store it in JSON by the names of its
// fields.
type Observed struct {
	Generation uint64
	Present    bool // the credential of Generation is on the lock
	// Window is the index of the present window, else of the next. Present before that window, without Confirmed evidence, means that
	// a Latchkey credential is still on the lock and should not be: of this generation or an older one.
	Window int
	Used   bool // it was a one-time code, and was used
	// Cleared means, if the evidence is not Confirmed, that no credential of an older generation is on the lock.
	Cleared  bool
	Evidence Evidence
	Result   Result // the reason, if the evidence is not Confirmed; else empty
	Rule     string // the lock's rule that an InvalidFormat broke
	At       time.Time
}

// isGone reports whether the slot is confirmed to hold no Latchkey credential.
func (o Observed) isGone() bool { return !o.Present && o.Evidence.Confirmed() }

// equalIgnoringTime reports whether two observations differ at most in time: then only the first is reported.
func (o Observed) equalIgnoringTime(p Observed) bool {
	return o.Generation == p.Generation && o.Present == p.Present && o.Evidence == p.Evidence && o.Result == p.Result &&
		o.Window == p.Window && o.Used == p.Used && o.Cleared == p.Cleared
}
