package lock

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
)

// move puts a lock on another door, or takes it off for an empty one, and records it: what bridges report late happened at
// the door of then.
func moveLock(tx *db.Tx, lk *ent.Lock, doorID string) (*ent.Lock, error) {
	u := tx.Lock.UpdateOne(lk).SetDoorSince(tx.Now())
	body := map[string]any{"lockId": lk.ID}
	if lk.DoorID != nil {
		body["doorBefore"] = *lk.DoorID
	}
	if doorID == "" {
		u.ClearDoorID()
	} else {
		u.SetDoorID(doorID)
		body["doorId"] = doorID
	}
	moved, err := u.Save(tx.Context())
	if err != nil {
		return nil, err
	}
	err = event.Append(tx, event.Event{PropertyID: lk.PropertyID, Subject: event.Inside(lk.ID), Kind: event.LockMoved, Body: body})
	return moved, err
}

// doorAt returns the door that a lock was on at a time; empty if it was on none, or if the door is not known any more.
func doorAt(tx *db.Tx, lk *ent.Lock, at time.Time) (string, error) {
	if lk.DoorSince == nil || !at.Before(*lk.DoorSince) {
		return valueOrZero(lk.DoorID), nil
	}
	next, err := tx.Event.Query().Where(entevent.PropertyID(lk.PropertyID), entevent.Subject(event.Inside(lk.ID)),
		entevent.Kind(string(event.LockMoved)), entevent.OccurredAtGT(at)).Order(entevent.BySubjectSequence()).First(tx.Context())
	if ent.IsNotFound(err) { // the record of the move was deleted with other old events
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for the door that lock %s was on: %w", lk.ID, err)
	}
	door, _ := next.Body["doorBefore"].(string)
	return door, nil
}

// setDoor names the door of an event that happened at a lock at a time. row is the slot whose code was typed; nil: none, or not
// known.
func setEventDoor(tx *db.Tx, e *event.Event, lk *ent.Lock, row *ent.Slot, h LockEvent, at time.Time) error {
	hung, err := doorAt(tx, lk, at)
	if err != nil {
		return err
	}
	code := ""
	if row != nil && (row.Generation == h.Generation || !row.Present) { // else it may have followed its lock to another door since
		code = row.DoorID
	}
	delete(e.Body, "doorId")
	if door := eventDoor(hung, code, h.ClockQuality); door != "" {
		e.Body["doorId"] = door
	}
	return nil
}

// doorThen is the door of an event, of two: the door that the lock was on at the event's time, and the door that the typed code
// was for. A lock that was moved still opens to the codes on it, so the first counts; but only by a clock that was compared with
// the server's. Empty: none, or not known.
func eventDoor(hung, code, clock string) string {
	if compared := clock == "synchronized" || clock == "drifting"; code != "" && (!compared || hung == "") {
		return code
	}
	return hung
}

// appendOpening records that an act opened a door, and of which access where it was a phone's.
func appendOpened(tx *db.Tx, a *ent.Act, lk *ent.Lock, at time.Time) error {
	e := newLockEvent(lk, event.DoorOpened, map[string]any{"actId": a.ID, "actor": a.Actor})
	if err := setEventDoor(tx, &e, lk, nil, LockEvent{}, at); err != nil {
		return err
	}
	if a.GrantID != "" {
		e.Body["grantId"], e.GrantID = a.GrantID, a.GrantID
	}
	e.OccurredAt = at
	return event.Append(tx, e)
}
