package lock

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"latchkey.dev/ent"
	entlock "latchkey.dev/ent/lock"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock/slot"
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

// endJam ends the notice of each stay with a code on a lock whose bolt is not jammed any more by its new status, unless another lock of the
// stay is jammed. Nothing else changes for such a stay, so that no run of its access would end the notice.
func endJam(tx *db.Tx, lk *ent.Lock, now Status) error {
	if !IsJammed(lk) || now.Bolt == string(slot.Jammed) {
		return nil
	}
	grants, err := tx.Slot.Query().Where(entslot.PropertyID(lk.PropertyID), entslot.LockID(lk.ID), entslot.Present(true)).
		Select(entslot.FieldGrantID).Strings(tx.Context())
	if err != nil || len(grants) == 0 {
		return err
	}
	open, err := notice.OpenOf(tx, lk.PropertyID, jamKeys(grants))
	if err != nil || len(open) == 0 {
		return err
	}
	grants = slices.DeleteFunc(grants, func(grantID string) bool { return !open[notice.LockJammed.Key(grantID)] })
	others, err := grantsAtJammedLocks(tx, lk, grants)
	if err != nil {
		return err
	}
	grants = slices.DeleteFunc(grants, func(grantID string) bool { return slices.Contains(others, grantID) })
	return notice.Resolve(tx, lk.PropertyID, jamKeys(grants)...)
}

// jamKeys returns the keys of the notices that a lock of a stay is jammed, for the grants of some stays.
func jamKeys(grantIDs []string) []string {
	keys := make([]string, len(grantIDs))
	for i, grantID := range grantIDs {
		keys[i] = notice.LockJammed.Key(grantID)
	}
	return keys
}

// grantsAtJammedLocks returns those of some grants that have a code on a jammed lock other than lk.
func grantsAtJammedLocks(tx *db.Tx, lk *ent.Lock, grantIDs []string) ([]string, error) {
	slots, err := SlotsOfGrants(tx, lk.PropertyID, grantIDs...)
	if err != nil {
		return nil, err
	}
	grantsAt := map[string][]string{} // grantsAt has the grants at each other lock
	for _, s := range slots {
		if s.Present && s.LockID != lk.ID {
			grantsAt[s.LockID] = append(grantsAt[s.LockID], s.GrantID)
		}
	}
	var out []string
	for ids := range chunks(slices.Sorted(maps.Keys(grantsAt))) {
		locks, err := tx.Lock.Query().Where(entlock.PropertyID(lk.PropertyID), entlock.IDIn(ids...)).All(tx.Context())
		if err != nil {
			return nil, err
		}
		for _, other := range locks {
			if IsJammed(other) {
				out = append(out, grantsAt[other.ID]...)
			}
		}
	}
	return out, nil
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
