package lock

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/notice"
)

// tamperTexts explain the reasons of a tamper alarm, by the reason that a bridge reports.
var tamperTexts = map[string]string{
	"slotChanged":         "a code was changed at the lock itself or by another program; Latchkey checked its own codes and restored them",
	"factoryReset":        "the lock was reset to factory settings; Latchkey restores its codes",
	"master_code_changed": "the lock's master code was changed: a person who knows it can add codes",
	"rfid_code_added":     "a card or fob was added at the lock",
	"rfid_code_deleted":   "a card or fob was removed at the lock",
	"forcedOpen":          "the door was forced open",
}

// notifyAlarm notifies staff of an event after which a person should check the door: once a day for each lock and reason.
func notifyAlarm(tx *db.Tx, lk *ent.Lock, kind event.Kind, h LockEvent, at time.Time) error {
	n := notice.Notice{PropertyID: lk.PropertyID, Subject: lk.ID}
	switch kind {
	case event.LockTampered:
		what, ok := tamperTexts[h.Reason]
		if !ok {
			what = "the lock reports tampering"
		}
		n.Kind, n.Text = "lockTampered", fmt.Sprintf("Lock %q: %s. Check who was there and whether the lock is intact.", lk.Name, what)
	case event.LockJammed:
		n.Kind, n.Text = "lockJammed", fmt.Sprintf("Lock %q is jammed: its bolt does not move, and no code opens it. Check the lock at the door.", lk.Name)
	default:
		return nil
	}
	n.Text += lateNote(at, tx.Now())
	n.OnceKey = fmt.Sprintf("%s/%s/%.32s/%s", lk.ID, n.Kind, h.Reason, at.UTC().Format(time.DateOnly))
	return notice.Add(tx, n)
}

// lateAfter is the age of an event from which on it counts as reported late. A connected bridge reports much sooner.
const lateAfter = 10 * time.Minute

// lateNote adds the time of an event to a notice if the event was reported late.
func lateNote(at, now time.Time) string {
	if now.Sub(at) < lateAfter {
		return ""
	}
	return fmt.Sprintf(" This happened on %s UTC; the bridge could report it only now.", at.UTC().Format("2006-01-02 15:04"))
}
