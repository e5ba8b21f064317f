package lock

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"latchkey.dev/ent"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/health"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/watch"
)

// Limits of a bridge's reports. What exceeds a limit of one lock is dropped.
const (
	MaxLocksPerBridge = 256  // the most locks that one bridge may report at once; a Hello with more is refused
	maxStoredLocks    = 1024 // the most locks that are stored of one bridge, with those that it no longer reports
	maxSlots          = 1000 // the most slots of a lock that are used
	maxPrefixes       = 32   // the most forbidden prefixes of a lock; further ones are dropped
	maxKinds          = 32   // the most kinds of credentials of a lock; further ones are dropped
	maxPrefixLength   = 128  // the longest forbidden prefix in bytes; a longer one is dropped
)

// statusEpsilon is the limit below which a status that differs only in times is not stored again.
const statusEpsilon = time.Minute

// Status is the state of a lock that its bridge reports: bolt, battery, clock and whether the lock is reachable.
type Status = schema.LockStatus

// LockReport is a bridge's report about one lock. A nil or empty part is unchanged.
type LockReport struct {
	Address      string
	Capabilities *slot.Capabilities
	Status       *Status
	Model        string
	Name         string      // Name is the name in the bridge's driver; empty if unchanged
	Digest       slot.Digest // Digest is the bridge's digest of the lock's slots
}

// ApplyReports stores what a bridge reports in a session about some of its locks, and returns these locks. A lock that is reported for the
// first time is created at the bridge's property. doors are the doors whose locks have other capabilities now, so that stays there may get
// codes that they could not have before. It returns the fault TooMany if the bridge then has more than maxStoredLocks, and
// bridge.ErrSuperseded if epoch is not its current session. After an error the caller must roll back.
func ApplyReports(tx *db.Tx, bridgeID string, epoch int64, reports []LockReport) (locks []LockRef, doors []string, err error) {
	br, err := bridge.InSession(tx, bridgeID, epoch)
	if err != nil {
		return nil, nil, err
	}
	r, err := applyReports(tx, br, reports)
	if err == nil && r.leftOut > 0 {
		err = fault.New(fault.Exhausted, fault.TooMany, "a bridge has reported %d locks already; use another bridge for new ones", maxStoredLocks)
	}
	return lockRefs(r.named), r.doors, err
}

// applied is what came of the reports of a bridge.
type applied struct {
	named   []*ent.Lock // named are the locks in the reports, also the new ones
	others  []*ent.Lock // others are the locks of the bridge that no report names
	doors   []string    // doors are the ids of the doors whose locks have other capabilities now
	leftOut int         // leftOut is the number of new locks that were not stored because of maxStoredLocks
}

// applyReports stores the reports of a bridge. A report about an unknown address creates a lock. A lock that was replaced stays stored, so
// the bridge's locks become more over the years. From maxStoredLocks on, new ones are left out, and counted in leftOut.
func applyReports(tx *db.Tx, br *ent.Bridge, reports []LockReport) (applied, error) {
	rows, err := tx.Lock.Query().Where(entlock.BridgeID(br.ID), entlock.PropertyID(br.PropertyID)).Order(entlock.ByID()).All(tx.Context())
	if err != nil {
		return applied{}, err
	}
	known := make(map[string]*ent.Lock, len(rows))
	for _, lk := range rows {
		known[lk.Address] = lk
	}
	var out applied
	for _, h := range reports {
		lk := known[h.Address]
		switch {
		case lk != nil:
			before := lk.Capabilities
			lk, err = updateLock(tx, lk, h)
			if err == nil && lk.DoorID != nil && !reflect.DeepEqual(before, lk.Capabilities) {
				out.doors = append(out.doors, *lk.DoorID)
			}
		case len(known) >= maxStoredLocks:
			out.leftOut++
			continue
		default:
			lk, err = createLock(tx, br, h)
		}
		if err != nil {
			return applied{}, err
		}
		known[h.Address] = nil
		out.named = append(out.named, lk)
	}
	out.others = slices.DeleteFunc(rows, func(lk *ent.Lock) bool { return known[lk.Address] == nil })
	return out, nil
}

// applyAllReports stores the reports of a bridge about every lock that it drives, like applyReports, and marks the bridge's other locks
// offline. It returns all locks of the bridge as named.
func applyAllReports(tx *db.Tx, br *ent.Bridge, reports []LockReport) (applied, error) {
	r, err := applyReports(tx, br, reports)
	if err != nil {
		return applied{}, err
	}
	for _, lk := range r.others {
		gone := lk.Status
		gone.Online, gone.OfflineCause = false, ""
		if lk, err = updateLock(tx, lk, LockReport{Status: &gone}); err != nil {
			return applied{}, err
		}
		r.named = append(r.named, lk)
	}
	return r, nil
}

// createLock stores a lock that a bridge reports for the first time. Its name is the reported name, or its address.
func createLock(tx *db.Tx, br *ent.Bridge, h LockReport) (*ent.Lock, error) {
	create := tx.Lock.Create().SetID(id.New(id.Lock)).SetPropertyID(br.PropertyID).SetBridgeID(br.ID).SetAddress(h.Address).
		SetName(cmp.Or(h.Name, h.Address)).SetModel(h.Model).SetCapabilities(slot.Capabilities{}).SetStatus(Status{}).SetCreatedAt(tx.Now())
	if h.Capabilities != nil {
		create.SetCapabilities(limitCapabilities(*h.Capabilities))
	}
	if h.Status != nil {
		create.SetStatus(withCauseSince(*h.Status, Status{}, tx.Now()))
	}
	lk, err := create.Save(tx.Context())
	if err != nil {
		return nil, err
	}
	watch.Notify(tx, lk.PropertyID, watch.Locks, lk.ID)
	return lk, notifyRefusedPatterns(tx, lk, 0)
}

// updateLock stores what a report changes about a lock, and returns its new row. It records and notifies changes of the lock's connection,
// battery and clock.
func updateLock(tx *db.Tx, lk *ent.Lock, h LockReport) (*ent.Lock, error) {
	update := tx.Lock.UpdateOne(lk)
	changed := false
	if h.Capabilities != nil {
		if c := limitCapabilities(*h.Capabilities); !reflect.DeepEqual(c, lk.Capabilities) {
			update.SetCapabilities(c)
			changed = true
		}
	}
	if h.Model != "" && h.Model != lk.Model {
		update.SetModel(h.Model)
		changed = true
	}
	if h.Name != "" && h.Name != lk.Name && !lk.Named {
		update.SetName(h.Name)
		changed = true
	}
	onlyAged := !changed
	if h.Status != nil {
		if now := withCauseSince(*h.Status, lk.Status, tx.Now()); !sameStatus(now, lk.Status) {
			update.SetStatus(now)
			changed, onlyAged = true, onlyAged && sameReadings(now, lk.Status)
			if err := notifyStatusChange(tx, lk, now); err != nil {
				return nil, err
			}
		}
	}
	if !changed {
		return lk, nil
	}
	if !onlyAged {
		watch.Notify(tx, lk.PropertyID, watch.Locks, lk.ID)
	}
	refused := lk.Capabilities.RefusedPatterns
	lk, err := update.Save(tx.Context())
	if err != nil {
		return nil, err
	}
	return lk, notifyRefusedPatterns(tx, lk, refused)
}

// notifyRefusedPatterns notifies staff that some reported PIN patterns of a lock are not checked, so that the lock may refuse PINs, unless
// they have a notice of it. It resolves the notice if all are checked. before is the previous number of such patterns.
func notifyRefusedPatterns(tx *db.Tx, lk *ent.Lock, before int) error {
	key, refused := notice.PINPatternsRefused.Key(lk.ID), lk.Capabilities.RefusedPatterns
	switch {
	case refused == 0 && before == 0:
		return nil
	case refused == 0:
		return notice.Resolve(tx, lk.PropertyID, key)
	}
	name, err := NoticeName(tx, lk)
	if err != nil {
		return err
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: lk.PropertyID, Kind: notice.PINPatternsRefused, Subject: lk.ID, OnceKey: key,
		Params: message.Params{"lock": name, "refused": refused, "patterns": slot.MaxPatterns, "repeat": slot.MaxRepeat, "instructions": slot.MaxPatternSize},
	})
}

// withCauseSince returns the reported status with the time since when its offline cause exists: the stored time if
// the cause is unchanged, else now.
func withCauseSince(reported, stored Status, now time.Time) Status {
	reported.OfflineCauseSince = nil
	switch {
	case reported.OfflineCause == "":
	case reported.OfflineCause == stored.OfflineCause && stored.OfflineCauseSince != nil:
		reported.OfflineCauseSince = stored.OfflineCauseSince
	default:
		reported.OfflineCauseSince = &now
	}
	return reported
}

// notifyStatusChange records and notifies the differences between the stored and the new status of a lock. The caller stores the status.
// The notice of an offline cause is resolved when the cause ends, also if the lock stays offline for another cause.
func notifyStatusChange(tx *db.Tx, lk *ent.Lock, now Status) error {
	if was := lk.Status.OfflineCause; was != "" && was != now.OfflineCause {
		if err := notice.Resolve(tx, lk.PropertyID, offlineNotices[was].Key(lk.BridgeID)); err != nil {
			return err
		}
	}
	var err error
	switch {
	case lk.Status.Online && !now.Online:
		err = updateLockLink(tx, lk, health.Link.Lost, LockOffline)
	case !lk.Status.Online && now.Online:
		err = updateLockLink(tx, lk, health.Link.Restored, "")
	}
	if err != nil {
		return err
	}
	if err := recordReadings(tx, lk, now); err != nil {
		return err
	}
	if err := updateBattery(tx, lk, now); err != nil {
		return err
	}
	if err := endJam(tx, lk, now); err != nil {
		return err
	}
	return updateClock(tx, lk, now)
}

// sameStatus reports whether two statuses differ only in the times of observation (see sameReadings), and only a little. A status is stored
// only if it differs by more.
func sameStatus(a, b Status) bool {
	if !roughlyEqual(a.LastSeenAt, b.LastSeenAt) || !roughlyEqual(a.BatteryObservedAt, b.BatteryObservedAt) || !roughlyEqual(a.ClockObservedAt, b.ClockObservedAt) {
		return false
	}
	return sameReadings(a, b)
}

// sameReadings reports whether two statuses differ only in the times at which the lock, its battery and its clock were last observed.
func sameReadings(a, b Status) bool {
	a.LastSeenAt, a.BatteryObservedAt, a.ClockObservedAt = b.LastSeenAt, b.BatteryObservedAt, b.ClockObservedAt
	return reflect.DeepEqual(a, b)
}

// roughlyEqual reports whether two times differ by less than statusEpsilon, or are both nil.
func roughlyEqual(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Sub(*b).Abs() < statusEpsilon
}

// limitCapabilities cuts reported capabilities to what the server supports. A bridge is not trusted to keep these
// limits.
func limitCapabilities(c slot.Capabilities) slot.Capabilities {
	c.Slots = min(max(c.Slots, 0), maxSlots)
	c.ForbiddenPrefixes = limitPrefixes(c.ForbiddenPrefixes)
	c.ForbiddenPatterns, c.RefusedPatterns = slot.FilterPatterns(c.ForbiddenPatterns)
	if len(c.Kinds) > maxKinds {
		c.Kinds = c.Kinds[:maxKinds]
	}
	return c
}

// limitPrefixes drops reported forbidden prefixes that are too long, and those after the first maxPrefixes.
func limitPrefixes(prefixes []string) []string {
	var out []string
	for _, r := range prefixes {
		if len(out) < maxPrefixes && len(r) <= maxPrefixLength {
			out = append(out, r)
		}
	}
	return out
}

// newLockEvent returns an event about a lock, with the door that the lock is on now. It adds entries to body.
func newLockEvent(lk *ent.Lock, kind event.Kind, body map[string]any) event.Event {
	return newDoorEvent(doorOfLock(lk), kind, body)
}

// newDoorEvent is [newLockEvent] for a lock of which only the door is loaded. It adds entries to body.
func newDoorEvent(lk doorOf, kind event.Kind, body map[string]any) event.Event {
	body["lockId"] = lk.lockID
	if lk.doorID != nil {
		body["doorId"] = *lk.doorID
	}
	return event.Event{PropertyID: lk.propertyID, Subject: lk.lockID, Kind: kind, Body: body}
}
