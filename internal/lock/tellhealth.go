package lock

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/staff"
)

func linkOf(lost, back, told *time.Time) LinkState {
	return LinkState{valueOrZero(lost), valueOrZero(back), valueOrZero(told)}
}

// put sets a moment, or clears it where it is zero.
func setOrClear[U any](t time.Time, set func(time.Time) U, unset func() U) {
	if t.IsZero() {
		unset()
		return
	}
	set(t)
}

// lockLink moves what was told of the link of a lock on by a loss, a return or a look, and tells what is to be told.
// Locks on no door are nobody's concern.
func updateLockLink(tx *db.Tx, lk *ent.Lock, move func(LinkState, time.Time) (LinkState, Notification), reason string) error {
	if lk.DoorID == nil {
		return nil
	}
	was := linkOf(lk.UnreachedAt, lk.ReachedAt, lk.OfflineToldAt)
	next, tell := move(was, tx.Now())
	if next != was {
		u := tx.Lock.UpdateOneID(lk.ID).Where(entlock.PropertyID(lk.PropertyID))
		setOrClear(next.LostAt, u.SetUnreachedAt, u.ClearUnreachedAt)
		setOrClear(next.RestoredAt, u.SetReachedAt, u.ClearReachedAt)
		setOrClear(next.NotifiedAt, u.SetOfflineToldAt, u.ClearOfflineToldAt)
		if err := u.Exec(tx.Context()); err != nil {
			return fmt.Errorf("note the link of a lock: %w", err)
		}
	}
	switch tell {
	case Down:
		return event.Append(tx, newLockEvent(lk, event.LockOffline, map[string]any{"reason": reason}))
	case Up:
		if err := staff.Settle(tx, lk.ID+"/lockUnreachable"); err != nil {
			return err
		}
		return event.Append(tx, asInternal(newLockEvent(lk, event.LockOnline, map[string]any{})))
	}
	return nil
}

// inside makes an event of a lock one that webhooks do not get.
func asInternal(e event.Event) event.Event {
	e.Subject = event.Inside(e.Subject)
	return e
}

// bridgeLink is lockLink for a bridge. A bridge that leaves because its node does is not told of.
func updateBridgeLink(tx *db.Tx, br *ent.Bridge, move func(LinkState, time.Time) (LinkState, Notification), reason string) error {
	was := linkOf(br.UnreachedAt, br.ReachedAt, br.OfflineToldAt)
	next, tell := move(was, tx.Now())
	if next != was {
		u := tx.Bridge.UpdateOneID(br.ID).Where(entbridge.PropertyID(br.PropertyID))
		setOrClear(next.LostAt, u.SetUnreachedAt, u.ClearUnreachedAt)
		setOrClear(next.RestoredAt, u.SetReachedAt, u.ClearReachedAt)
		setOrClear(next.NotifiedAt, u.SetOfflineToldAt, u.ClearOfflineToldAt)
		if err := u.Exec(tx.Context()); err != nil {
			return fmt.Errorf("note the link of a bridge: %w", err)
		}
	}
	e := event.Event{PropertyID: br.PropertyID, Subject: event.Inside(br.ID), Body: map[string]any{"bridgeId": br.ID}}
	switch tell {
	case Down:
		e.Kind, e.Body["reason"] = event.BridgeOffline, reason
	case Up:
		e.Kind = event.BridgeOnline
		if err := staff.Settle(tx, br.ID+"/bridgeUnreachable"); err != nil {
			return err
		}
	default:
		return nil
	}
	return event.Append(tx, e)
}

// tellBattery tells when a battery became low, or well again.
func updateBattery(tx *db.Tx, lk *ent.Lock, now Status) error {
	if now.BatteryPercent == nil {
		return nil
	}
	switch BatteryNotification(lk.BatteryToldAt != nil, *now.BatteryPercent) {
	case Down:
		return recordBatteryLow(tx, lk, newLockEvent(lk, event.LockBatteryLow, map[string]any{"percent": *now.BatteryPercent}))
	case Up:
		if err := staff.Settle(tx, lk.ID+"/batteryLow"); err != nil {
			return err
		}
		if err := tx.Lock.UpdateOneID(lk.ID).Where(entlock.PropertyID(lk.PropertyID)).ClearBatteryToldAt().Exec(tx.Context()); err != nil {
			return fmt.Errorf("note the battery of a lock: %w", err)
		}
		return event.Append(tx, asInternal(newLockEvent(lk, event.LockBatteryOK, map[string]any{"percent": *now.BatteryPercent})))
	}
	return nil
}

// batteryLow tells of a low battery, as the lock's status or its own alarm has it, once until it is well.
func recordBatteryLow(tx *db.Tx, lk *ent.Lock, e event.Event) error {
	err := tx.Lock.UpdateOneID(lk.ID).Where(entlock.PropertyID(lk.PropertyID)).SetBatteryToldAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("note the battery of a lock: %w", err)
	}
	at := tx.Now()
	lk.BatteryToldAt = &at
	if err := event.Append(tx, e); err != nil {
		return err
	}
	return staff.Notify(tx, staff.Notice{
		PropertyID: lk.PropertyID, Kind: "batteryLow", Subject: lk.ID, OnceKey: lk.ID + "/batteryLow",
		Text: fmt.Sprintf("The battery of lock %q is low. Change it before the lock stops.", lk.Name),
	})
}

// tellClock tells when a lock's clock became so wrong that it keeps no windows, or is right again.
func updateClock(tx *db.Tx, lk *ent.Lock, now Status) error {
	if now.ClockOffsetMS == nil {
		return nil
	}
	tell := ClockNotification(lk.ClockToldAt != nil, time.Duration(*now.ClockOffsetMS)*time.Millisecond)
	if tell == NoChange {
		return nil
	}
	u, kind := tx.Lock.UpdateOneID(lk.ID).Where(entlock.PropertyID(lk.PropertyID)), event.LockClockUntrusted
	if tell == Down {
		u.SetClockToldAt(tx.Now())
	} else {
		u.ClearClockToldAt()
		kind = event.LockClockOK
	}
	if err := u.Exec(tx.Context()); err != nil {
		return fmt.Errorf("note the clock of a lock: %w", err)
	}
	return event.Append(tx, asInternal(newLockEvent(lk, kind, map[string]any{"offsetMs": *now.ClockOffsetMS})))
}

// What is away for so long is a matter for people.
const (
	notifyBridgeAfter = 5 * time.Minute
	notifyLockAfter   = 15 * time.Minute
)

// LookAtBridges tells what has lasted of bridges that come and go, at most limit after an id, and staff of those that are
// away for long. It returns where to go on; empty: there is nothing more.
func CheckBridgeLinks(tx *db.Tx, after string, limit int) (next string, err error) {
	rows, err := tx.Bridge.Query().Where(entbridge.UnreachedAtNotNil(), entbridge.RevokedAtIsNil(), entbridge.IDGT(after)).
		Order(entbridge.ByID()).Limit(limit).All(tx.Context())
	if err != nil {
		return "", fmt.Errorf("look for bridges that come and go: %w", err)
	}
	for _, br := range rows {
		if err := updateBridgeLink(tx, br, LinkState.Check, br.OfflineReason); err != nil {
			return "", err
		}
		if err := notifyLongOffline(tx, br); err != nil {
			return "", err
		}
		next = br.ID
	}
	if len(rows) < limit {
		next = ""
	}
	return next, nil
}

// LookAtLocks is LookAtBridges for locks.
func CheckLockLinks(tx *db.Tx, after string, limit int) (next string, err error) {
	rows, err := tx.Lock.Query().Where(entlock.UnreachedAtNotNil(), entlock.IDGT(after)).Order(entlock.ByID()).Limit(limit).All(tx.Context())
	if err != nil {
		return "", fmt.Errorf("look for locks that come and go: %w", err)
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

func notifyLongOffline(tx *db.Tx, br *ent.Bridge) error {
	if br.ReachedAt != nil || br.UnreachedAt == nil || tx.Now().Sub(*br.UnreachedAt) < notifyBridgeAfter {
		return nil
	}
	return staff.Notify(tx, staff.Notice{
		PropertyID: br.PropertyID, Kind: "bridgeUnreachable", Subject: br.ID, OnceKey: br.ID + "/bridgeUnreachable",
		Text: fmt.Sprintf("Bridge %q cannot be reached for more than 5 minutes. Codes on its locks go on working, if it has no power some beyond their end; new ones wait. Look at its power and its network.", br.Name),
	})
}

// lookAtLock tells of one lock. Of one whose bridge is away staff hear once, by the bridge.
func checkLockLink(tx *db.Tx, lk *ent.Lock) error {
	reason := string(Disconnected)
	if !lk.Status.Online {
		reason = "lockOffline"
	}
	if err := updateLockLink(tx, lk, LinkState.Check, reason); err != nil {
		return err
	}
	if lk.Status.Online || lk.DoorID == nil || lk.ReachedAt != nil || tx.Now().Sub(*lk.UnreachedAt) < notifyLockAfter {
		return nil
	}
	if lk.Status.OfflineCause != "" {
		return notifyOfflineCause(tx, lk)
	}
	return staff.Notify(tx, staff.Notice{
		PropertyID: lk.PropertyID, Kind: "lockUnreachable", Subject: lk.ID, OnceKey: lk.ID + "/lockUnreachable",
		Text: fmt.Sprintf("Lock %q cannot be reached by its bridge for more than 15 minutes. As long as its battery lasts codes on it go on working, some beyond their end; new ones wait. Look at its battery and at how far the bridge is.", lk.Name),
	})
}

// cutOff says what is wrong and what to do where a bridge reaches none of its locks, by Status.OfflineCause.
var offlineCauseTexts = map[string]string{
	slot.BrokerUnreachable: "Bridge %q has no connection to its MQTT broker for more than 15 minutes, so it reaches none of the locks behind it. " +
		"Codes on them keep working, some beyond their end; new codes wait. Start the broker; latchkey-bridge doctor on site says why it cannot be reached.",
	slot.GatewayOffline: "Bridge %q reaches its MQTT broker, but Zigbee2MQTT does not run there for more than 15 minutes, so it reaches none of the locks behind it. " +
		"Codes on them keep working, some beyond their end; new codes wait. Start Zigbee2MQTT; latchkey-bridge doctor on site says more.",
}

// notifyCutOff notifies staff once for all locks that a bridge cannot reach for the same cause, when the cause has lasted for
// lockPatience. It does not notify while the bridge is offline: the cause may have ended since.
func notifyOfflineCause(tx *db.Tx, lk *ent.Lock) error {
	if since := lk.Status.OfflineCauseSince; since == nil || tx.Now().Sub(*since) < notifyLockAfter {
		return nil
	}
	br, err := tx.Bridge.Query().Where(entbridge.ID(lk.BridgeID), entbridge.PropertyID(lk.PropertyID)).Only(tx.Context())
	if err != nil || !IsBridgeOnline(br, tx.Now()) {
		return err
	}
	return staff.Notify(tx, staff.Notice{
		PropertyID: lk.PropertyID, Kind: lk.Status.OfflineCause, Subject: br.ID, OnceKey: br.ID + "/" + lk.Status.OfflineCause,
		Text: fmt.Sprintf(offlineCauseTexts[lk.Status.OfflineCause], br.Name),
	})
}

// back marks the locks of a bridge that is back as back with it, if it reaches them.
func markLocksOnline(tx *db.Tx, br *ent.Bridge, reached func(*ent.Lock) bool) error {
	locks, err := tx.Lock.Query().Where(entlock.BridgeID(br.ID), entlock.PropertyID(br.PropertyID), entlock.UnreachedAtNotNil()).All(tx.Context())
	if err != nil {
		return fmt.Errorf("list the locks of a bridge that is back: %w", err)
	}
	for _, lk := range locks {
		if lk.Status.Online && reached(lk) {
			if err := updateLockLink(tx, lk, LinkState.Restored, ""); err != nil {
				return err
			}
		}
	}
	return nil
}
