package lock

import (
	"cmp"
	"fmt"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/health"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/watch"
)

// updateLockLink changes the stored link state of a lock by move, which is Lost, Restored or Check of [health.Link]; lk itself keeps the
// former state. It adds the change to the lock's history. For a notification it records the event, with reason if the connection was lost;
// Up also resolves the notice to staff. It ignores locks without a door.
func updateLockLink(tx *db.Tx, lk *ent.Lock, move health.Move, reason string) error {
	if lk.DoorID == nil {
		return nil
	}
	was := health.Link{LostAt: db.OrZero(lk.UnreachedAt), RestoredAt: db.OrZero(lk.ReachedAt), NotifiedAt: db.OrZero(lk.OfflineNotifiedAt)}
	next, notification := move(was, tx.Now())
	if next != was {
		u := tx.Lock.UpdateOneID(lk.ID).Where(entlock.PropertyID(lk.PropertyID))
		db.SetOrClear(next.LostAt, u.SetUnreachedAt, u.ClearUnreachedAt)
		db.SetOrClear(next.RestoredAt, u.SetReachedAt, u.ClearReachedAt)
		db.SetOrClear(next.NotifiedAt, u.SetOfflineNotifiedAt, u.ClearOfflineNotifiedAt)
		if err := u.Exec(tx.Context()); err != nil {
			return fmt.Errorf("store the link state of a lock: %w", err)
		}
		watch.Notify(tx, lk.PropertyID, watch.Locks, lk.ID)
		reachable := int64(1)
		if !next.LostAt.IsZero() && next.RestoredAt.IsZero() {
			reachable = 0
		}
		if err := recordSample(tx, lk, LinkSample, reachable); err != nil {
			return err
		}
	}
	switch notification {
	case health.Down:
		return event.Append(tx, newLockEvent(lk, event.LockOffline, map[string]any{"reason": reason}))
	case health.Up:
		if err := notice.Resolve(tx, lk.PropertyID, notice.LockUnreachable.Key(lk.ID)); err != nil {
			return err
		}
		return event.Append(tx, asInternal(newLockEvent(lk, event.LockOnline, map[string]any{})))
	}
	return nil
}

// endLockLink resets the link state of a lock that leaves its door, and resolves the notice to staff. Without it, the state of the former
// door would stay: the link of a lock without a door is not updated.
func endLockLink(tx *db.Tx, lk *ent.Lock) error {
	reset := func(health.Link, time.Time) (health.Link, health.Notification) { return health.Link{}, health.NoChange }
	if err := updateLockLink(tx, lk, reset, ""); err != nil {
		return err
	}
	return notice.Resolve(tx, lk.PropertyID, notice.LockUnreachable.Key(lk.ID))
}

// beginLockLink marks a lock that was put on a door as disconnected if its status is offline, or if its bridge is disconnected. No later
// report would do so, because only a change of the status counts.
func beginLockLink(tx *db.Tx, lk *ent.Lock) error {
	if !lk.Status.Online {
		return updateLockLink(tx, lk, health.Link.Lost, LockOffline)
	}
	br, err := tx.Bridge.Query().Where(entbridge.ID(lk.BridgeID), entbridge.PropertyID(lk.PropertyID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load the bridge of a lock: %w", err)
	}
	if br.UnreachedAt == nil || br.ReachedAt != nil {
		return nil
	}
	return updateLockLink(tx, lk, health.Link.Lost, cmp.Or(br.OfflineReason, string(bridge.Disconnected)))
}

// asInternal marks an event of a lock so that it is not delivered to webhooks.
func asInternal(e event.Event) event.Event {
	e.Subject = event.InternalSubject(e.Subject)
	return e
}

// updateBattery records that the battery of a lock has become low, or is charged again, by a new status. It adds or resolves the notice to
// staff. While the battery stays low, it adds the notice again if retention has deleted it. It does nothing if the status has no charge.
func updateBattery(tx *db.Tx, lk *ent.Lock, now Status) error {
	if now.BatteryPercent == nil {
		return nil
	}
	switch health.Battery(lk.BatteryNotifiedAt != nil, *now.BatteryPercent) {
	case health.Down:
		return recordBatteryLow(tx, lk, newLockEvent(lk, event.LockBatteryLow, map[string]any{"percent": *now.BatteryPercent}))
	case health.Up:
		return recordBatteryOK(tx, lk, newLockEvent(lk, event.LockBatteryOK, map[string]any{"percent": *now.BatteryPercent}))
	}
	if lk.BatteryNotifiedAt != nil {
		return addBatteryNotice(tx, lk)
	}
	return nil
}

// recordBatteryOK records the event e that a low battery is charged again, and resolves the notice to staff. It clears BatteryNotifiedAt in
// the row and in lk.
func recordBatteryOK(tx *db.Tx, lk *ent.Lock, e event.Event) error {
	if err := notice.Resolve(tx, lk.PropertyID, notice.BatteryLow.Key(lk.ID)); err != nil {
		return err
	}
	if err := tx.Lock.UpdateOneID(lk.ID).Where(entlock.PropertyID(lk.PropertyID)).ClearBatteryNotifiedAt().Exec(tx.Context()); err != nil {
		return fmt.Errorf("note the battery of a lock: %w", err)
	}
	lk.BatteryNotifiedAt = nil
	return event.Append(tx, asInternal(e))
}

// recordBatteryLow records the event e of a low battery, and notifies staff. It ends the problem of a former low battery. It sets
// BatteryNotifiedAt in the row and in lk. The low battery comes from the lock's status or from its alarm.
func recordBatteryLow(tx *db.Tx, lk *ent.Lock, e event.Event) error {
	if lk.BatteryNotifiedAt != nil {
		if err := notice.Resolve(tx, lk.PropertyID, notice.BatteryLow.Key(lk.ID)); err != nil {
			return err
		}
	}
	err := tx.Lock.UpdateOneID(lk.ID).Where(entlock.PropertyID(lk.PropertyID)).SetBatteryNotifiedAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("note the battery of a lock: %w", err)
	}
	at := tx.Now()
	lk.BatteryNotifiedAt = &at
	if err := event.Append(tx, e); err != nil {
		return err
	}
	return addBatteryNotice(tx, lk)
}

// addBatteryNotice notifies staff that the battery of a lock is low, unless they have a notice of it.
func addBatteryNotice(tx *db.Tx, lk *ent.Lock) error {
	name, err := NoticeName(tx, lk)
	if err != nil {
		return err
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: lk.PropertyID, Kind: notice.BatteryLow, Subject: lk.ID, OnceKey: notice.BatteryLow.Key(lk.ID),
		Params: message.Params{"lock": name},
	})
}

// updateClock records the event that a lock's clock has become too wrong to enforce time windows, or is correct again. It does nothing if
// neither is the case, or the status has no offset. Staff get no notice.
func updateClock(tx *db.Tx, lk *ent.Lock, now Status) error {
	if now.ClockOffsetMS == nil {
		return nil
	}
	notification := health.Clock(lk.ClockNotifiedAt != nil, time.Duration(*now.ClockOffsetMS)*time.Millisecond)
	if notification == health.NoChange {
		return nil
	}
	u, kind := tx.Lock.UpdateOneID(lk.ID).Where(entlock.PropertyID(lk.PropertyID)), event.LockClockUntrusted
	if notification == health.Down {
		u.SetClockNotifiedAt(tx.Now())
	} else {
		u.ClearClockNotifiedAt()
		kind = event.LockClockOK
	}
	if err := u.Exec(tx.Context()); err != nil {
		return fmt.Errorf("note the clock of a lock: %w", err)
	}
	return event.Append(tx, asInternal(newLockEvent(lk, kind, map[string]any{"offsetMs": *now.ClockOffsetMS})))
}

// notifyLockAfter is how long a lock is offline before staff are notified.
const notifyLockAfter = 15 * time.Minute

// CheckLinks checks up to limit locks of all properties with a recent disconnection, and notifies staff of locks on doors that are offline
// for long: see checkLockLink. It reads locks by id after the cursor, which is empty at the beginning, and returns the next cursor, which
// is empty at the end.
func CheckLinks(tx *db.Tx, after string, limit int) (next string, err error) {
	rows, err := tx.Lock.Query().Where(entlock.UnreachedAtNotNil(), entlock.IDGT(after)).Order(entlock.ByID()).Limit(limit).All(tx.Context())
	if err != nil {
		return "", fmt.Errorf("load the locks with a recent loss: %w", err)
	}
	for _, lk := range rows {
		if err := checkLockLink(tx, lk); err != nil {
			return "", err
		}
		next = lk.ID
	}
	if len(rows) < limit {
		next = ""
	}
	return next, nil
}

// checkLockLink notifies changes of one lock's connection that have lasted long enough. A lock that is disconnected only because its bridge
// is offline gets no notice of its own, and one with an offline cause gets that of its bridge: see notifyOfflineCause.
func checkLockLink(tx *db.Tx, lk *ent.Lock) error {
	reason := string(bridge.Disconnected)
	if !lk.Status.Online {
		reason = "lockOffline"
	}
	if err := updateLockLink(tx, lk, health.Link.Check, reason); err != nil {
		return err
	}
	if lk.Status.Online || lk.DoorID == nil || lk.ReachedAt != nil || tx.Now().Sub(*lk.UnreachedAt) < notifyLockAfter {
		return nil
	}
	if lk.Status.OfflineCause != "" {
		return notifyOfflineCause(tx, lk)
	}
	name, err := NoticeName(tx, lk)
	if err != nil {
		return err
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: lk.PropertyID, Kind: notice.LockUnreachable, Subject: lk.ID, OnceKey: notice.LockUnreachable.Key(lk.ID),
		Params: message.Params{"lock": name},
	})
}

// offlineNotices are the notices about causes that make all locks of a bridge offline.
var offlineNotices = map[string]notice.Kind{slot.BrokerUnreachable: notice.BrokerUnreachable, slot.GatewayOffline: notice.GatewayOffline}

// notifyOfflineCause sends staff one notice for all locks that a bridge cannot reach for the same cause, after the
// cause has lasted for notifyLockAfter. It sends none while the bridge is offline, because the cause may have ended
// meanwhile.
func notifyOfflineCause(tx *db.Tx, lk *ent.Lock) error {
	if since := lk.Status.OfflineCauseSince; since == nil || tx.Now().Sub(*since) < notifyLockAfter {
		return nil
	}
	br, err := tx.Bridge.Query().Where(entbridge.ID(lk.BridgeID), entbridge.PropertyID(lk.PropertyID)).Only(tx.Context())
	if err != nil || !bridge.IsOnline(br, tx.Now()) {
		return err
	}
	kind := offlineNotices[lk.Status.OfflineCause]
	return notice.Add(tx, notice.Notice{
		PropertyID: lk.PropertyID, Kind: kind, Subject: br.ID, OnceKey: kind.Key(br.ID),
		Params: message.Params{"bridge": br.Name},
	})
}

// markLocksOnline records that locks of a bridge are connected again: those whose last status is online and for which reached returns true.
func markLocksOnline(tx *db.Tx, br *ent.Bridge, reached func(*ent.Lock) bool) error {
	locks, err := tx.Lock.Query().Where(entlock.BridgeID(br.ID), entlock.PropertyID(br.PropertyID), entlock.UnreachedAtNotNil()).All(tx.Context())
	if err != nil {
		return fmt.Errorf("list the locks of a bridge that is online again: %w", err)
	}
	for _, lk := range locks {
		if lk.Status.Online && reached(lk) {
			if err := updateLockLink(tx, lk, health.Link.Restored, ""); err != nil {
				return err
			}
		}
	}
	return nil
}
