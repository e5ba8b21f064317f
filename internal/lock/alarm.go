package lock

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// tamperReasons are the reasons of a tamper alarm that have a text of their own, by the reason that a bridge reports.
var tamperReasons = []string{"slotChanged", "factoryReset", "master_code_changed", "rfid_code_added", "rfid_code_deleted", "forcedOpen"}

// notifyAlarm notifies staff of an event after which a person should check the door: once a day for each lock and reason.
func notifyAlarm(tx *db.Tx, lk *ent.Lock, kind event.Kind, h LockEvent, at time.Time) error {
	n := notice.Notice{PropertyID: lk.PropertyID, Subject: lk.ID}
	late := lateNote(at, tx.Now())
	switch kind {
	case event.LockTampered:
		what := "other"
		if slices.Contains(tamperReasons, h.Reason) {
			what = h.Reason
		}
		n.Kind, n.Params = "lockTampered", message.Params{"lock": lk.Name, "what": message.Message{Kind: "tamper." + what}, "late": late}
	case event.LockJammed:
		n.Kind, n.Params = "lockJammed", message.Params{"what": message.Message{Kind: "jammed.lock", Params: message.Params{"lock": lk.Name, "late": late}}}
	default:
		return nil
	}
	n.OnceKey = fmt.Sprintf("%s/%s/%.32s/%s", lk.ID, n.Kind, h.Reason, at.UTC().Format(time.DateOnly))
	return notice.Add(tx, n)
}

// lateAfter is the age of an event from which on it counts as reported late. A connected bridge reports much sooner.
const lateAfter = 10 * time.Minute

// lateNote is the sentence with the time of an event that was reported late, or nil.
func lateNote(at, now time.Time) any {
	if now.Sub(at) < lateAfter {
		return nil
	}
	return message.Message{Kind: "late", Params: message.Params{"at": at}}
}
