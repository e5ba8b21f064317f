package access

import (
	"slices"
	"time"

	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/space"
)

// Status summarizes an access plan.
type Status string

const (
	StatusNone     Status = "none"     // the reservation never had access, or has access but no door with a lock
	StatusIssued   Status = "issued"   // every door opens, or its first code is being installed
	StatusPartial  Status = "partial"  // some doors do not open
	StatusUpdating Status = "updating" // a lock has not confirmed a change yet, or a former code may open a door
	StatusRemoving Status = "removing" // the reservation may open no door, but a code or SmartKey may still open one
	StatusRemoved  Status = "removed"  // all codes and SmartKeys are proven to be removed
	StatusFailed   Status = "failed"   // the reservation may open doors, but no door opens
)

// Reason is why a reservation has no access or a door does not open.
type Reason string

// Reasons of access plans. Packages space and lock define further ones, as constants without a type.
const (
	NotCheckedIn        Reason = "notCheckedIn"
	WindowInFuture      Reason = "windowInFuture"
	WindowPast          Reason = "windowPast"
	CheckedOut          Reason = "checkedOut"
	ReservationCanceled Reason = "reservationCanceled"
	NotFirm             Reason = "notFirm" // the reservation is only enquired, requested or optional
	NoLock              Reason = "noLock"
	MovingOut           Reason = "movingOut"      // a former door opens until the new one is proven to open, also while there is no space
	SpaceShared         Reason = "spaceShared"    // another reservation has the same private space at the same time
	FormerCode          Reason = "formerCode"     // a code from before the last change may open a door, and its lock cannot be changed now
	OwnPIN              Reason = "ownPin"         // the door opens with a separate PIN
	PINNotPossible      Reason = "pinNotPossible" // the lock accepts no PIN that the rules allow
	DuplicateOnLock     Reason = "duplicateOnLock"
	LockRefused         Reason = "lockRefused"
	LockJammed          Reason = "lockJammed"
	ClockUntrusted      Reason = "clockUntrusted"
)

// Reasons are all reasons of access plans.
var Reasons = []Reason{
	NotCheckedIn, WindowInFuture, WindowPast, CheckedOut, ReservationCanceled, NotFirm, NoLock, MovingOut, SpaceShared, FormerCode, OwnPIN,
	PINNotPossible, DuplicateOnLock, LockRefused, LockJammed, ClockUntrusted,
	space.RoomNotAssigned, space.SpaceUnknown, space.SpaceNotMapped, space.SpacesDisagree, space.BedNotAssigned, space.SpaceInactive,
	lock.NoBridge, lock.BridgeRevoked, lock.LockOffline, lock.SlotsFull,
}

// Plan describes the access of a reservation: for each door whether it opens, and why not.
type Plan struct {
	Status  Status
	Window  *Window // Window is nil unless the reservation has access, now or later
	Doors   []PlannedDoor
	Reasons []Reason
}

// PlannedDoor is what a plan says about one door.
type PlannedDoor struct {
	ID, Name string
	Parent   string // Parent is the name of the dorm of a bed, or ""
	Kind     Kind
	PIN      slot.Evidence
	SmartKey slot.Evidence
	Reason   Reason
	Left     bool // Left means that this is a former door, where the reservation has or had a code or SmartKey; kept for now if Reason is MovingOut
	// MayBeInstalled means that the lock of a door that the guest may open may hold the code already, without proof. It is false if an
	// online bridge says that a first code is not written yet. An offline bridge may have written it since its last report.
	MayBeInstalled bool
	ConfirmedAt    time.Time // ConfirmedAt is when the lock confirmed that it holds the PIN, or zero
	former         bool      // former means that a code from before the last change may open the door
	stuck          bool      // stuck means that a former code stays, because the lock is unreachable or jammed, or refused the new code
	// changing means that the lock has not confirmed a change to the code yet, see [Facts.hasUnconfirmedChange], or that a SmartKey from
	// before the last change of access may still open the door.
	changing bool
}

// isPINShut reports whether the guest's present code does not open the door until a person acts. It ignores SmartKeys, and that a lock is
// offline or has not got the code yet. A former code counts only at a lock that no bridge can drive.
func (d PlannedDoor) isPINShut() bool {
	switch d.PIN {
	case None, slot.Failed:
		return true
	}
	switch d.Reason {
	case space.SpaceInactive, LockJammed:
		return true
	case lock.NoBridge, lock.BridgeRevoked:
		return !d.former && !isInstalled(d.PIN)
	}
	return false
}

// Facts are everything on which the plan of a reservation depends.
type Facts struct {
	Right     Right
	Doubt     Reason // Doubt is why the reservation may mean another space; else empty
	Unplaced  Reason // Unplaced is why the reservation has no space, or that the space is inactive; else empty
	Doors     []Door
	Codes     []SlotCode         // Codes are the codes of the grant: in [Apply] after the steps of [Reconcile], in [Show] as stored
	Older     []SlotCode         // Older are the codes of the other grants of the reservation, most of them earlier
	GrantedAt time.Time          // GrantedAt is when the grant was created
	OwnPIN    map[string]bool    // OwnPIN are, by id, the doors with a separate PIN
	NoPIN     map[string]bool    // NoPIN are, by id, the doors whose lock accepts no PIN that the rules allow
	HadGrant  bool               // HadGrant means that the reservation has or had a grant
	Shared    bool               // Shared means that another reservation has the same private space at the same time
	Names     map[string]Door    // Names has, by id, the doors of codes and SmartKeys that the reservation no longer has
	Tokens    map[string][]Token // Tokens has the SmartKey tokens of each lock, by lock id
	KeyDoors  map[string]string  // KeyDoors has, by lock id, the id of the door that a lock in Tokens is on, if it is on one
}

// Describe returns the access plan. It includes every door that a code or SmartKey of the reservation may still open.
func Describe(f Facts) Plan {
	p := Plan{}
	if f.Right.Open {
		w := f.Right.Window
		p.Window = &w
	}
	for _, d := range f.Doors {
		p.Doors = append(p.Doors, f.describeDoor(d))
	}
	p.Doors = append(p.Doors, f.formerDoors()...)
	p.addReason(f.Unplaced)
	p.addReason(f.Doubt)
	p.addReason(f.Right.Reason)
	if f.Shared {
		p.addReason(SpaceShared)
	}
	for _, d := range p.Doors {
		p.addReason(d.Reason)
		if d.former && d.stuck {
			p.addReason(FormerCode)
		}
	}
	p.Status = f.status(p)
	return p
}

// allCodes returns the codes of the grant and of the reservation's earlier grants.
func (f Facts) allCodes() []SlotCode { return slices.Concat(f.Codes, f.Older) }

// describeDoor returns the plan for one of f.Doors: the room or bed, its dorm, or a gate.
func (f Facts) describeDoor(d Door) PlannedDoor {
	out := PlannedDoor{ID: d.ID, Name: d.Name, Parent: d.Parent, Kind: d.Kind, PIN: None, SmartKey: None}
	switch {
	case d.Lock == nil:
		out.Reason = NoLock
	case d.Inactive:
		out.Reason = space.SpaceInactive
	}
	own, has := f.currentCode(d)
	if f.Right.Open && out.Reason == "" {
		f.describeOpen(&out, d, own, has)
	} else {
		f.describeClosed(&out, d)
	}
	for _, h := range f.allCodes() {
		if h.currentDoorID() == d.ID && h.Evidence != slot.Removed && h.SlotID != own.SlotID {
			out.former = true
			out.stuck = out.stuck || h.Unreachable != "" || out.PIN == slot.Failed
		}
	}
	// No code opens a jammed lock, but the former code opens it again once the bolt is free.
	out.stuck = out.stuck || out.former && out.Reason == LockJammed
	return out
}

// describeClosed fills in PIN, SmartKey and Reason of out, the plan for a door that the guest has no right to open now, or that is inactive
// or has no lock. Before the check-in the PIN of an active door with a lock counts as planned.
func (f Facts) describeClosed(out *PlannedDoor, d Door) {
	h, has := f.likeliestCode(d.ID)
	planned := !has && out.Reason == "" && f.Right.Reason == NotCheckedIn
	switch {
	case has:
		out.PIN = h.Evidence
	case planned:
		out.PIN = slot.Planned
	}
	switch {
	case !f.Right.Open:
		out.SmartKey = f.keyClosed(d, has, planned)
	case len(f.tokensAt(d)) > 0:
		out.SmartKey = RemainingKeyEvidence(f.tokensAt(d))
	}
	switch {
	case has && h.mayStillOpen() && !f.Right.Open && h.Unreachable != "":
		out.Reason = h.Unreachable
	case out.Reason == "":
		out.Reason = f.Right.Reason
	}
}

// describeOpen fills in out, the plan for a door with a lock that the guest may open. h is the desired code of the door, if has is set;
// without one, its PIN counts as failed.
func (f Facts) describeOpen(out *PlannedDoor, d Door, h SlotCode, has bool) {
	out.SmartKey = f.keyOpen(d)
	switch {
	case !has && f.NoPIN[d.ID]:
		out.PIN, out.Reason = slot.Failed, PINNotPossible
	case !has:
		out.PIN, out.Reason = slot.Failed, lock.SlotsFull
	default:
		out.PIN, out.Reason, out.ConfirmedAt = h.Evidence, f.doorReason(d, h), h.Confirmed
		// Sent means that the bridge has not written the code yet. The lock may hold the former one.
		notWritten := h.Evidence == slot.Sent && d.Lock.BridgeOnline
		out.MayBeInstalled = h.MayBeInstalled && (h.Former || !notWritten)
		out.former = h.Former
		out.stuck = h.Former && (d.Lock.unreachable() != "" || h.Evidence == slot.Failed)
		out.changing = f.hasUnconfirmedChange(h)
	}
	out.changing = out.changing || f.hasStaleKey(d)
}

// hasUnconfirmedChange reports whether the lock has not confirmed a change to the code h yet. A change is another PIN or window, or a code
// that was added after the grant was created. The first code of a new grant is no change. A code that the lock refused does not count. A
// code that the bridge holds back until its window begins counts only if the lock may still hold the former code.
func (f Facts) hasUnconfirmedChange(h SlotCode) bool {
	if isInstalled(h.Evidence) || h.Evidence == slot.Failed {
		return false
	}
	if f.Right.HeldBack && h.Evidence == slot.Sent {
		return h.Former
	}
	return h.Former || h.Rewritten || h.Changed.After(f.GrantedAt)
}

// currentCode returns the desired code of a door that the guest may open, on the lock that the door has now. It returns false if there is
// none, or if the guest has no access now.
func (f Facts) currentCode(d Door) (SlotCode, bool) {
	for _, h := range f.Codes {
		if f.Right.Open && h.Present && d.takesCode() && h.DoorID == d.ID && h.LockID == d.Lock.ID {
			return h, true
		}
	}
	return SlotCode{}, false
}

// likeliestCode returns the code that most likely opens a door: a desired code, else one that is not proven to be removed, first on a lock
// that cannot be reached, else a removed one. found is false if the reservation never had a code there.
func (f Facts) likeliestCode(doorID string) (likeliest SlotCode, found bool) {
	rank := func(h SlotCode) int {
		switch {
		case h.Present:
			return 2
		case h.mayStillOpen() && h.Unreachable != "":
			return 1
		case h.mayStillOpen():
			return 0
		}
		return -1
	}
	for _, h := range f.allCodes() {
		if h.currentDoorID() == doorID && (!found || rank(h) > rank(likeliest)) {
			likeliest, found = h, true
		}
	}
	return likeliest, found
}

// doorReason returns why a desired code does not open the door yet, or opens it only under a condition, or "".
func (f Facts) doorReason(d Door, h SlotCode) Reason {
	switch {
	case h.Evidence == slot.Failed:
		return refusalReason(h.Result)
	case !isInstalled(h.Evidence) && d.Lock.unreachable() != "":
		return d.Lock.unreachable()
	case d.Lock.Jammed:
		return LockJammed
	case h.Result == string(slot.ClockUntrusted):
		return ClockUntrusted
	case f.Right.HeldBack:
		return WindowInFuture
	case f.OwnPIN[d.ID]:
		return OwnPIN
	}
	return ""
}

// refusalReason returns the reason in a plan for a code that its lock refused with this result: LockRefused unless the result has a reason
// of its own.
func refusalReason(result string) Reason {
	switch slot.Result(result) {
	case slot.Duplicate:
		return DuplicateOnLock
	case slot.SlotsFull:
		return lock.SlotsFull
	case slot.ClockUntrusted:
		return ClockUntrusted
	}
	return LockRefused
}

// formerDoors lists, ordered by id, the doors that the guest may no longer open, but that codes or SmartKeys of the reservation possibly
// still open. For a reservation without access it includes doors whose codes are removed.
func (f Facts) formerDoors() []PlannedDoor {
	var ids []string
	for _, h := range f.allCodes() {
		if !f.Right.Open || h.Evidence != slot.Removed {
			ids = append(ids, h.currentDoorID())
		}
	}
	for lockID, tokens := range f.Tokens {
		if id := f.KeyDoors[lockID]; id != "" && RemainingKeyEvidence(tokens) == slot.Removing {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	var out []PlannedDoor
	for _, id := range slices.Compact(ids) {
		if !slices.ContainsFunc(f.Doors, func(d Door) bool { return d.ID == id }) {
			out = append(out, f.describeFormer(id))
		}
	}
	return out
}

// describeFormer returns the plan for a door that the guest may no longer open, or not as part of the present space.
func (f Facts) describeFormer(id string) PlannedDoor {
	d := PlannedDoor{ID: id, Name: f.Names[id].Name, Parent: f.Names[id].Parent, Kind: f.Names[id].Kind, Left: true, PIN: None, SmartKey: f.remainingKeysAt(id)}
	h, has := f.likeliestCode(id)
	if !has {
		return d
	}
	d.PIN, d.former = h.Evidence, h.Former || h.mayStillOpen()
	d.stuck = d.former && h.Unreachable != ""
	switch {
	case h.Present && f.Right.Open:
		d.Reason = MovingOut
		if len(f.Doors) == 0 { // a reservation that lost its space keeps its former doors, with their SmartKeys
			d.SmartKey = f.keyOpen(f.Names[id])
		}
	case d.stuck:
		d.Reason = h.Unreachable
	}
	return d
}

// addReason adds a reason to the plan, if it is not empty and not there yet.
func (p *Plan) addReason(r Reason) {
	if r != "" && !slices.Contains(p.Reasons, r) {
		p.Reasons = append(p.Reasons, r)
	}
}

// status returns the [Status] that summarizes the plan. It ignores doors without a lock. If a door opens while a code or SmartKey is still
// being changed or removed, the status is StatusUpdating, even if other doors do not open.
func (f Facts) status(p Plan) Status {
	opens, shut, moving := 0, 0, false
	for _, d := range p.Doors {
		leaving := d.PIN == slot.Removing || d.SmartKey == slot.Removing
		moving = moving || d.former || d.changing || leaving || d.Reason == MovingOut
		switch {
		case d.Left && d.Reason != MovingOut, d.Reason == NoLock:
		case d.isPINShut():
			shut++
		default:
			opens++
		}
	}
	switch {
	case !f.Right.Open && !f.HadGrant:
		return StatusNone
	case !f.Right.Open && (moving || slices.ContainsFunc(f.allCodes(), func(h SlotCode) bool { return h.Evidence != slot.Removed })):
		return StatusRemoving
	case !f.Right.Open:
		return StatusRemoved
	case opens > 0 && moving:
		return StatusUpdating
	case opens > 0 && shut > 0:
		return StatusPartial
	case opens > 0:
		return StatusIssued
	case shut > 0:
		return StatusFailed
	case moving:
		return StatusRemoving
	}
	return StatusNone
}
