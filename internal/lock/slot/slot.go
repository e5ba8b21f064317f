// Package slot decides what happens to one credential slot of a lock. It is pure: values in, values
// out, no clock, no I/O, and it imports nothing of ours, so that the server, the bridge, the
// simulator and the model checker run the very same functions.
//
// The server owns Server and moves it with Assign and Observe. The bridge owns Lock and moves it
// with Step. Between the two travel Desired (downwards) and Observed (upwards), never commands.
package slot

import (
	"fmt"
	"io"
	"log/slog"
	"time"
)

// PIN is the digits typed at a keypad, kept as text so that a leading zero survives. It prints as
// "[pin]" through fmt, slog and encoding/json; string(p) is the only way to the digits.
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

// MarshalText hides the digits; a store writes string(p) on purpose instead.
func (PIN) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Intent says whether a slot shall hold its credential.
type Intent string

// The intents.
const (
	Absent  Intent = "absent"
	Present Intent = "present"
)

// Evidence is how much is known about a credential on its lock. A bridge reports only Sent,
// Accepted, Verified, Unconfirmed and Failed; the other words are the server's own view.
type Evidence string

// The evidence words of the partner interface.
const (
	Planned     Evidence = "planned"     // wanted, no slot on a lock yet
	Queued      Evidence = "queued"      // the bridge has not stored it yet
	Sent        Evidence = "sent"        // stored durably on the bridge, not yet on the lock
	Accepted    Evidence = "accepted"    // the lock acknowledged it
	Verified    Evidence = "verified"    // read back from the lock
	Used        Evidence = "used"        // a door was opened with it
	Unconfirmed Evidence = "unconfirmed" // an operation may or may not have taken effect
	Failed      Evidence = "failed"      // the lock refused it for good
	Removing    Evidence = "removing"    // shall be gone, not yet known to be
	Removed     Evidence = "removed"     // known to be gone
)

// Settled reports whether the evidence comes from the lock itself.
func (e Evidence) Confirmed() bool { return e == Accepted || e == Verified }

// Desired is what a slot shall hold. Generation grows with every change and is never reused, not
// even after the slot was emptied.
type Desired struct {
	Generation uint64
	Intent     Intent
	PIN        PIN // empty when Intent is Absent
	// NotBefore and NotAfter bound the window [NotBefore, NotAfter); a zero NotAfter has no end.
	NotBefore time.Time
	NotAfter  time.Time
	// Later are the windows that follow; between two the code is off the lock. NotAfter is not zero then.
	LaterWindows Windows
	// Once names a code that serves once, the same name on every lock that has it; empty: the code serves on. Who sees
	// it used takes it off, whatever the service says or does not.
	OneTimeID string
	// Claimed says that what is on the lock may be ours although this bridge does not know of it: a
	// bridge before it was handed a credential for this slot, or this one was and told of it, before
	// it was started from an old copy of its store. A bridge that knows the slot believes itself.
	MayHoldOurs bool
}

// String names the desired state without its PIN.
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

// GoString is String: %#v must not reach the PIN.
func (d Desired) GoString() string { return d.String() }

// LogValue is the desired state without its PIN.
func (d Desired) LogValue() slog.Value { return slog.StringValue(d.String()) }

// Observed is what a bridge knows about a slot with respect to one desired generation.
type Observed struct {
	Generation uint64
	Present    bool // the credential of Generation is on the lock
	// Window counts the window that is spoken of, from 0: the present one, else the next. Present before it, and not
	// settled, says that a code of ours should be off, and is not yet: this one, or that of an older generation.
	Window int
	Used   bool // the code was for one use, and was used
	// Cleared says, where the evidence is not settled, that no credential of an older generation is on the lock.
	Cleared  bool
	Evidence Evidence
	Result   Result // why, when the evidence is not settled; empty otherwise
	Rule     string // the lock's rule that an InvalidFormat broke
	At       time.Time
}

// gone reports whether nothing of ours is on the lock.
func (o Observed) isGone() bool { return !o.Present && o.Evidence.Confirmed() }

// same ignores when: two observations that say the same are one report.
func (o Observed) equalIgnoringTime(p Observed) bool {
	return o.Generation == p.Generation && o.Present == p.Present && o.Evidence == p.Evidence && o.Result == p.Result &&
		o.Window == p.Window && o.Used == p.Used && o.Cleared == p.Cleared
}
