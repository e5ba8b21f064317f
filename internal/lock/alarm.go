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
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/text"
)

// tamperReasons are the reported reasons of a tamper alarm for which the notice to staff has its own text.
var tamperReasons = []string{"slotChanged", "factoryReset", "master_code_changed", "rfid_code_added", "rfid_code_deleted", "forcedOpen"}

// notifyAlarm notifies staff of a tamper alarm or a jammed bolt, so that a person checks the door: at most once a day
// for each lock and reason. It ignores other kinds of events.
func notifyAlarm(tx *db.Tx, lk *ent.Lock, kind event.Kind, h LockEvent, at time.Time) error {
	if kind != event.LockTampered && kind != event.LockJammed {
		return nil
	}
	name, err := NoticeName(tx, lk)
	if err != nil {
		return err
	}
	n := notice.Notice{PropertyID: lk.PropertyID, Subject: lk.ID}
	late := lateness(at, tx.Now())
	if kind == event.LockTampered {
		what := "other"
		if slices.Contains(tamperReasons, h.Reason) {
			what = h.Reason
		}
		n.Kind, n.Params = notice.LockTampered, message.Params{"lock": name, "what": message.Message{Kind: "tamper." + what}, "late": late}
	} else {
		n.Kind, n.Params = notice.LockJammed, message.Params{"what": message.Message{Kind: "jammed.lock", Params: message.Params{"lock": name, "late": late}}}
	}
	n.OnceKey = fmt.Sprintf("%s/%s/%.32s/%s", lk.ID, n.Kind, h.Reason, at.UTC().Format(time.DateOnly))
	return notice.Add(tx, n)
}

// lateAfter is the delay after which an event counts as reported late. A connected bridge reports within seconds.
const lateAfter = 10 * time.Minute

// lateness returns a sentence that says when an event happened, for the notice about an event that was reported lateAfter or more after it.
// It returns nil for an event that was reported in time.
func lateness(at, now time.Time) any {
	if now.Sub(at) < lateAfter {
		return nil
	}
	return message.Message{Kind: "late", Params: message.Params{"at": at}}
}

// NoticeName returns the name of a lock for a notice. It includes the dorm if the lock is on a bed, because locks are often named after
// their beds, and beds of two dorms may have equal names.
func NoticeName(tx *db.Tx, lk *ent.Lock) (string, error) {
	if lk.DoorID == nil {
		return lk.Name, nil
	}
	dorms, err := space.DormNames(tx, lk.PropertyID, []string{*lk.DoorID})
	return text.FullName(dorms[*lk.DoorID], lk.Name), err
}
