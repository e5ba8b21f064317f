package lock

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/staff"
)

// tamperings say what a bridge's reason means, to people.
var tamperTexts = map[string]string{
	"slotChanged":         "a code was changed at the lock itself, or by another program; it was looked at and put right where it was one of ours",
	"factoryReset":        "the lock was reset to factory; its codes are put back",
	"master_code_changed": "the lock's master code was changed: whoever knows it can add codes of their own",
	"rfid_code_added":     "a card or fob was added at the lock",
	"rfid_code_deleted":   "a card or fob was removed at the lock",
	"forcedOpen":          "the door was forced open",
}

// alarm tells staff what asks for a person to go and look: once a day for each lock and reason.
func notifyAlarm(tx *db.Tx, lk *ent.Lock, kind event.Kind, h LockEvent, at time.Time) error {
	n := staff.Notice{PropertyID: lk.PropertyID, Subject: lk.ID}
	switch kind {
	case event.LockTampered:
		what, ok := tamperTexts[h.Reason]
		if !ok {
			what = "the lock says that somebody tampers with it"
		}
		n.Kind, n.Text = "lockTampered", fmt.Sprintf("Lock %q: %s. See who was there, and whether the door can be trusted.", lk.Name, what)
	case event.LockJammed:
		n.Kind, n.Text = "lockJammed", fmt.Sprintf("Lock %q is jammed: its bolt does not move, and no code opens it. Somebody has to go and look.", lk.Name)
	default:
		return nil
	}
	n.Text += lateNote(at, tx.Now())
	n.OnceKey = fmt.Sprintf("%s/%s/%.32s/%s", lk.ID, n.Kind, h.Reason, at.UTC().Format(time.DateOnly))
	return staff.Notify(tx, n)
}

// prompt is how soon a bridge tells of what happens, while it is connected.
const lateAfter = 10 * time.Minute

// toldLate adds to a notice of what was told long after it happened when that was: nobody stands there any more.
func lateNote(at, now time.Time) string {
	if now.Sub(at) < lateAfter {
		return ""
	}
	return fmt.Sprintf(" This was on %s UTC; the bridge could tell of it only now.", at.UTC().Format("2006-01-02 15:04"))
}
