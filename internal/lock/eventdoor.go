package lock

import (
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/sqljson"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/ent/predicate"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/watch"
)

// moveLock assigns a lock to another door, or to none if doorID is empty, without a check of the door. It records the move, because events
// that a bridge reports late happened at the former door. The link state of the lock begins again at the new door.
func moveLock(tx *db.Tx, lk *ent.Lock, doorID string) (*ent.Lock, error) {
	if err := endLockLink(tx, lk); err != nil {
		return nil, err
	}
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
	watch.Notify(tx, lk.PropertyID, watch.Locks, lk.ID)
	err = event.Append(tx, event.Event{PropertyID: lk.PropertyID, Subject: event.InternalSubject(lk.ID), Kind: event.LockMoved, Body: body})
	if err != nil || doorID == "" {
		return moved, err
	}
	if err := beginLockLink(tx, moved); err != nil {
		return nil, err
	}
	return Get(tx, lk.PropertyID, lk.ID)
}

// doorAt returns the id of the door that a lock was on at a time. It is empty if the lock was on none, or if the record of its next move
// was deleted with other old events.
func doorAt(tx *db.Tx, lk doorOf, at time.Time) (string, error) {
	if lk.since == nil || !at.Before(*lk.since) {
		return db.OrZero(lk.doorID), nil
	}
	next, err := tx.Event.Query().Where(entevent.PropertyID(lk.propertyID), entevent.Subject(event.InternalSubject(lk.lockID)),
		entevent.Kind(string(event.LockMoved)), entevent.OccurredAtGT(at)).Order(entevent.BySubjectSequence()).First(tx.Context())
	if ent.IsNotFound(err) { // the record of the move was deleted with other old events
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("load the former door of lock %s: %w", lk.lockID, err)
	}
	door, _ := next.Body["doorBefore"].(string)
	return door, nil
}

// setEventDoor sets the door of the event e: the door that the lock was on at the time. If that door is not known, or the bridge's clock is
// not reliable, it is the door of the typed code; see [eventDoor]. Without either, the event has no door. The door of a code whose desired
// state has changed since is not used, because that door may be a later one. h is the bridge's report of the event. typed is nil if no code
// was typed or the code is not known.
func setEventDoor(tx *db.Tx, e *event.Event, lk doorOf, typed *typedCode, h LockEvent, at time.Time) error {
	ofLock, err := doorAt(tx, lk, at)
	if err != nil {
		return err
	}
	ofCode := ""
	// An older generation of a code that is still desired is left out: DoorID is that of the latest one, perhaps of a moved lock.
	if typed != nil && (typed.Until == h.Generation || typed.isFormer || !typed.slot.Present) {
		ofCode = typed.DoorID
	}
	delete(e.Body, "doorId")
	if door := eventDoor(ofLock, ofCode, h.ClockQuality); door != "" {
		e.Body["doorId"] = door
	}
	return nil
}

// eventDoor chooses the door of an event, or "" if it is not known. ofLock is the door that the lock was on at the
// event's time, ofCode the door that the typed code was for, clock the state of the bridge's clock. A moved lock still
// opens with its old codes, so ofLock wins, but only if that clock was synchronized or drifting.
func eventDoor(ofLock, ofCode, clock string) string {
	if compared := clock == "synchronized" || clock == "drifting"; ofCode != "" && (!compared || ofLock == "") {
		return ofCode
	}
	return ofLock
}

// appendOpened records that a command opened a door. The event has a grant if a guest's phone sent the command.
func appendOpened(tx *db.Tx, c command, lk doorOf, at time.Time) error {
	e := newDoorEvent(lk, event.DoorOpened, map[string]any{"actId": c.id, "actor": c.actor})
	if err := setEventDoor(tx, &e, lk, nil, LockEvent{}, at); err != nil {
		return err
	}
	if c.grantID != "" {
		e.Body["grantId"], e.GrantID = c.grantID, c.grantID
	}
	e.OccurredAt = at
	return event.Append(tx, e)
}

// RemoteUnlocks returns up to limit openings of a door by commands of staff, newest first. Openings by a phone whose grant is not known are
// among them.
func RemoteUnlocks(view *db.Tx, propertyID, doorID string, limit int) ([]*ent.Event, error) {
	return EventsAtDoor(view, propertyID, doorID, limit, entevent.Kind(string(event.DoorOpened)), entevent.GrantIDIsNil(),
		func(s *sql.Selector) { s.Where(sqljson.HasKey(entevent.FieldBody, sqljson.Path("actId"))) })
}

// EventsAtDoor returns up to limit events at a door that match which, newest first. It searches the lock on the door and the locks that
// were moved from it and still have a slot for it, and omits internal events (see [event.InternalSubject]).
func EventsAtDoor(view *db.Tx, propertyID, doorID string, limit int, which ...predicate.Event) ([]*ent.Event, error) {
	locks, err := locksAt(view, propertyID, doorID)
	if err != nil {
		return nil, fmt.Errorf("find the locks of door %s: %w", doorID, err)
	}
	atDoor := func(s *sql.Selector) { s.Where(sqljson.ValueEQ(entevent.FieldBody, doorID, sqljson.Path("doorId"))) }
	var events []*ent.Event
	for _, lockID := range locks { // one query for each lock, because the index orders the events of one lock
		rows, err := view.Event.Query().Where(entevent.PropertyID(propertyID), entevent.Subject(lockID), atDoor).Where(which...).
			Order(entevent.BySubjectSequence(sql.OrderDesc())).Limit(limit).All(view.Context())
		if err != nil {
			return nil, fmt.Errorf("load the openings of door %s: %w", doorID, err)
		}
		events = append(events, rows...)
	}
	slices.SortStableFunc(events, func(a, b *ent.Event) int { return b.OccurredAt.Compare(a.OccurredAt) })
	return events[:min(limit, len(events))], nil
}

// locksAt returns the id of the lock on a door, and the ids of locks that were moved from it and still have a slot for
// it.
func locksAt(view *db.Tx, propertyID, doorID string) ([]string, error) {
	ids, err := view.Slot.Query().Where(entslot.PropertyID(propertyID), entslot.DoorID(doorID)).
		Unique(true).Select(entslot.FieldLockID).Strings(view.Context())
	if err != nil {
		return nil, err
	}
	at, err := LocksByDoor(view, propertyID, []string{doorID})
	if lk := at[doorID]; lk != nil && !slices.Contains(ids, lk.ID) {
		ids = append(ids, lk.ID)
	}
	return ids, err
}
