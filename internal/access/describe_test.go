package access

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/space"
)

func TestDescribe(t *testing.T) {
	confirmed, ended := Right{Reason: NotCheckedIn}, Right{Reason: CheckedOut}
	future := Right{Open: true, Window: present, HeldBack: true, Reason: WindowInFuture}
	bare := Door{ID: "bare", Name: "bare", Kind: Room}
	off := room("a")
	off.Inactive = true
	offline := func(d Door) Door { d.Lock.Online = false; return d }
	revoked := func(d Door) Door { d.Lock.Bridge = lock.BridgeRevoked; return d }
	answered := func(e slot.Evidence, r slot.Result) SlotCode {
		return but(code("a", e), func(h *SlotCode) { h.Result = string(r) })
	}
	gone := func(h SlotCode, e slot.Evidence) SlotCode {
		return but(h, func(h *SlotCode) { h.Present, h.Evidence = false, e })
	}
	jammed := func(d Door) Door { d.Lock.Jammed = true; return d }
	changed := func(e slot.Evidence) SlotCode { return but(code("a", e), func(h *SlotCode) { h.Rewritten = true }) }
	former := func(e slot.Evidence) SlotCode { return but(changed(e), func(h *SlotCode) { h.Former = true }) }
	away := func(h SlotCode) SlotCode { h.Unreachable = lock.LockOffline; return h }
	earlier := func(door string) SlotCode {
		return but(gone(code(door, ""), slot.Removing), func(h *SlotCode) { h.SlotID = "s0" })
	}
	relocked := room("a")
	relocked.Lock.ID = "l-second"
	for _, c := range []struct {
		name    string
		facts   Facts
		status  Status
		doors   []string // door, PIN, SmartKey, reason
		reasons []Reason
	}{
		{"confirmed", Facts{Right: confirmed, Doors: []Door{room("a"), gateAt("g")}}, StatusNone,
			[]string{"a planned planned notCheckedIn", "g planned planned notCheckedIn"}, []Reason{NotCheckedIn}},
		{"confirmed, a room without a lock", Facts{Right: confirmed, Doors: []Door{bare}}, StatusNone,
			[]string{"bare none none noLock"}, []Reason{NotCheckedIn, NoLock}},
		{"confirmed, no room", Facts{Right: confirmed, Unplaced: space.RoomNotAssigned}, StatusNone, nil, []Reason{space.RoomNotAssigned, NotCheckedIn}},
		{"not firm", Facts{Right: Right{Reason: NotFirm}, Doors: []Door{room("a")}}, StatusNone, []string{"a none none notFirm"}, []Reason{NotFirm}},

		{"issued", Facts{Right: allowed, Doors: []Door{room("a"), gateAt("g")}, Codes: []SlotCode{code("a", slot.Queued), code("g", slot.Verified)}, HadGrant: true}, StatusIssued,
			[]string{"a queued planned ", "g verified planned "}, nil},
		{"known to open", Facts{Right: allowed, Doors: []Door{room("a")}, Codes: []SlotCode{changed(slot.Used)}}, StatusIssued, []string{"a used planned "}, nil},
		{"on its way for the first time", Facts{Right: allowed, Doors: []Door{room("a")}, Codes: []SlotCode{code("a", slot.Sent)}}, StatusIssued, []string{"a sent planned "}, nil},
		{"dates moving", Facts{Right: allowed, Doors: []Door{room("a")}, Codes: []SlotCode{changed(slot.Sent)}}, StatusUpdating, []string{"a sent planned "}, nil},
		{"dates moving, and the former code may open", Facts{Right: allowed, Doors: []Door{room("a")}, Codes: []SlotCode{former(slot.Unconfirmed)}}, StatusUpdating, []string{"a unconfirmed planned "}, nil},
		{"a door that was put in later", Facts{Right: allowed, Doors: []Door{room("a")}, Codes: []SlotCode{but(code("a", slot.Sent), func(h *SlotCode) { h.Changed = present.From.Add(1) })}, GrantedAt: present.From}, StatusUpdating, []string{"a sent planned "}, nil},
		{"a change that the lock refused", Facts{Right: allowed, Doors: []Door{room("a")}, Codes: []SlotCode{changed(slot.Failed)}}, StatusFailed, []string{"a failed planned lockRefused"}, []Reason{LockRefused}},
		{"a change that the lock refused, and the former code may open", Facts{Right: allowed, Doors: []Door{room("a")}, Codes: []SlotCode{former(slot.Failed)}}, StatusFailed,
			[]string{"a failed planned lockRefused"}, []Reason{LockRefused, FormerCode}},
		{"held back after a change, where it waits for its window", Facts{Right: future, Doors: []Door{room("a")}, Codes: []SlotCode{changed(slot.Sent)}}, StatusIssued,
			[]string{"a sent planned windowInFuture"}, []Reason{WindowInFuture}},
		{"held back, and what was there may open", Facts{Right: future, Doors: []Door{room("a")}, Codes: []SlotCode{former(slot.Sent)}}, StatusUpdating,
			[]string{"a sent planned windowInFuture"}, []Reason{WindowInFuture}},
		{"held back", Facts{Right: future, Doors: []Door{room("a")}, Codes: []SlotCode{code("a", slot.Sent)}}, StatusIssued, []string{"a sent planned windowInFuture"}, []Reason{WindowInFuture}},
		{"shared", Facts{Right: allowed, Doors: []Door{room("a")}, Codes: []SlotCode{code("a", slot.Verified)}, Shared: true}, StatusIssued, []string{"a verified planned "}, []Reason{SpaceShared}},
		{"a lock that is away", Facts{Right: allowed, Doors: []Door{offline(room("a"))}, Codes: []SlotCode{code("a", slot.Queued)}}, StatusIssued,
			[]string{"a queued planned lockOffline"}, []Reason{lock.LockOffline}},
		{"a lock that is away, after a change of what it never got", Facts{Right: allowed, Doors: []Door{offline(room("a"))}, Codes: []SlotCode{changed(slot.Queued)}}, StatusUpdating,
			[]string{"a queued planned lockOffline"}, []Reason{lock.LockOffline}},
		{"a lock that is away, and may hold the former code", Facts{Right: allowed, Doors: []Door{offline(room("a"))}, Codes: []SlotCode{former(slot.Sent)}}, StatusUpdating,
			[]string{"a sent planned lockOffline"}, []Reason{lock.LockOffline, FormerCode}},
		{"a lock that is away, and may hold the code of an earlier grant", Facts{Right: allowed, Doors: []Door{offline(room("a"))}, Codes: []SlotCode{code("a", slot.Queued)}, Older: []SlotCode{away(earlier("a"))}}, StatusUpdating,
			[]string{"a queued planned lockOffline"}, []Reason{lock.LockOffline, FormerCode}},
		{"an earlier grant's code is on its way out", Facts{Right: allowed, Doors: []Door{room("a")}, Codes: []SlotCode{code("a", slot.Verified)}, Older: []SlotCode{earlier("a")}}, StatusUpdating, []string{"a verified planned "}, nil},
		{"full of an earlier grant's code", Facts{Right: allowed, Doors: []Door{room("a")}, Older: []SlotCode{earlier("a")}}, StatusFailed, []string{"a failed planned slotsFull"}, []Reason{lock.SlotsFull, FormerCode}},
		{"an earlier grant's door cannot be reached", Facts{Right: allowed, Doors: []Door{room("new")}, Codes: []SlotCode{code("new", slot.Verified)}, Older: []SlotCode{away(earlier("old"))}, Names: map[string]Door{"old": room("Old")}}, StatusUpdating,
			[]string{"new verified planned ", "Old removing removed lockOffline"}, []Reason{lock.LockOffline, FormerCode}},
		{"an earlier grant's door is known to be closed", Facts{Right: allowed, Doors: []Door{room("new")}, Codes: []SlotCode{code("new", slot.Verified)}, Older: []SlotCode{gone(code("old", ""), slot.Removed)}}, StatusIssued,
			[]string{"new verified planned "}, nil},
		{"no door of its own, and an earlier grant's opens", Facts{Right: allowed, Doors: []Door{bare}, HadGrant: true, Older: []SlotCode{earlier("g")}, Names: map[string]Door{"g": gateAt("G")}}, StatusRemoving,
			[]string{"bare none none noLock", "G removing removed "}, []Reason{NoLock}},
		{"away, but it has the code", Facts{Right: allowed, Doors: []Door{offline(room("a"))}, Codes: []SlotCode{code("a", slot.Verified)}}, StatusIssued, []string{"a verified planned "}, nil},
		{"a revoked bridge", Facts{Right: allowed, Doors: []Door{revoked(room("a"))}, Codes: []SlotCode{code("a", slot.Queued)}}, StatusFailed,
			[]string{"a queued planned bridgeRevoked"}, []Reason{lock.BridgeRevoked}},
		{"a PIN of its own", Facts{Right: allowed, Doors: []Door{room("a"), gateAt("g")}, Codes: []SlotCode{code("a", slot.Verified), code("g", slot.Verified)}, OwnPIN: map[string]bool{"g": true}},
			StatusIssued, []string{"a verified planned ", "g verified planned ownPin"}, []Reason{OwnPIN}},
		{"an untrusted clock", Facts{Right: allowed, Doors: []Door{room("a")}, Codes: []SlotCode{answered(slot.Accepted, slot.ClockUntrusted)}}, StatusIssued,
			[]string{"a accepted planned clockUntrusted"}, []Reason{ClockUntrusted}},

		{"jammed", Facts{Right: allowed, Doors: []Door{jammed(room("a")), gateAt("g")}, Codes: []SlotCode{code("a", slot.Verified), code("g", slot.Verified)}}, StatusPartial,
			[]string{"a verified planned lockJammed", "g verified planned "}, []Reason{LockJammed}},
		{"jammed, and the code is on its way", Facts{Right: allowed, Doors: []Door{jammed(room("a"))}, Codes: []SlotCode{code("a", slot.Sent)}}, StatusFailed,
			[]string{"a sent planned lockJammed"}, []Reason{LockJammed}},
		{"jammed, and the former code may open once it is free", Facts{Right: allowed, Doors: []Door{jammed(room("a"))}, Codes: []SlotCode{former(slot.Unconfirmed)}}, StatusFailed,
			[]string{"a unconfirmed planned lockJammed"}, []Reason{LockJammed, FormerCode}},
		{"jammed, and an earlier grant's code may open once it is free", Facts{Right: allowed, Doors: []Door{jammed(room("a"))}, Codes: []SlotCode{code("a", slot.Sent)}, Older: []SlotCode{earlier("a")}}, StatusFailed,
			[]string{"a sent planned lockJammed"}, []Reason{LockJammed, FormerCode}},
		{"full", Facts{Right: allowed, Doors: []Door{room("a")}}, StatusFailed, []string{"a failed planned slotsFull"}, []Reason{lock.SlotsFull}},
		{"the lock says it is full", Facts{Right: allowed, Doors: []Door{room("a")}, Codes: []SlotCode{answered(slot.Failed, slot.SlotsFull)}}, StatusFailed,
			[]string{"a failed planned slotsFull"}, []Reason{lock.SlotsFull}},
		{"full again after it was cleared", Facts{Right: allowed, Doors: []Door{room("a")}, Codes: []SlotCode{gone(code("a", ""), slot.Removed)}}, StatusFailed,
			[]string{"a failed planned slotsFull"}, []Reason{lock.SlotsFull}},
		{"a duplicate", Facts{Right: allowed, Doors: []Door{room("a")}, Codes: []SlotCode{answered(slot.Failed, slot.Duplicate)}}, StatusFailed,
			[]string{"a failed planned duplicateOnLock"}, []Reason{DuplicateOnLock}},
		{"refused", Facts{Right: allowed, Doors: []Door{room("a")}, Codes: []SlotCode{answered(slot.Failed, slot.InvalidFormat)}}, StatusFailed,
			[]string{"a failed planned lockRefused"}, []Reason{LockRefused}},
		{"no PIN", Facts{Right: allowed, Doors: []Door{room("a")}, NoPIN: map[string]bool{"a": true}}, StatusFailed, []string{"a failed planned pinNotPossible"}, []Reason{PINNotPossible}},
		{"only the gate", Facts{Right: allowed, Doors: []Door{room("a"), gateAt("g")}, Codes: []SlotCode{code("g", slot.Verified)}}, StatusPartial,
			[]string{"a failed planned slotsFull", "g verified planned "}, []Reason{lock.SlotsFull}},
		{"gates alone, as the property set", Facts{Right: allowed, Doors: []Door{bare, gateAt("g")}, Codes: []SlotCode{code("g", slot.Verified)}}, StatusIssued,
			[]string{"bare none none noLock", "g verified planned "}, []Reason{NoLock}},
		{"no lock", Facts{Right: allowed, Doors: []Door{bare}, HadGrant: true}, StatusNone, []string{"bare none none noLock"}, []Reason{NoLock}},
		{"switched off", Facts{Right: allowed, Unplaced: space.SpaceInactive, Doors: []Door{off}, HadGrant: true}, StatusFailed, []string{"a none none spaceInactive"}, []Reason{space.SpaceInactive}},
		{"switched off, and the code is there still", Facts{Right: allowed, Unplaced: space.SpaceInactive, Doors: []Door{off}, HadGrant: true, Codes: []SlotCode{gone(code("a", ""), slot.Removing)}}, StatusFailed,
			[]string{"a removing none spaceInactive"}, []Reason{space.SpaceInactive}},
		{"switched off, and the code is gone", Facts{Right: allowed, Unplaced: space.SpaceInactive, Doors: []Door{off}, HadGrant: true, Codes: []SlotCode{gone(code("a", ""), slot.Removed)}}, StatusFailed,
			[]string{"a removed none spaceInactive"}, []Reason{space.SpaceInactive}},
		{"the lock was taken off, with the code", Facts{Right: allowed, Doors: []Door{bare}, HadGrant: true, Codes: []SlotCode{gone(code("bare", ""), slot.Removing)}}, StatusRemoving,
			[]string{"bare removing none noLock"}, []Reason{NoLock}},
		{"the lock was taken off, and the code is gone", Facts{Right: allowed, Doors: []Door{bare}, HadGrant: true, Codes: []SlotCode{gone(code("bare", ""), slot.Removed)}}, StatusNone,
			[]string{"bare removed none noLock"}, []Reason{NoLock}},
		{"the lock was put on another door, with the code", Facts{Right: allowed, Doors: []Door{bare}, HadGrant: true, Codes: []SlotCode{but(gone(code("bare", ""), slot.Removing), func(h *SlotCode) { h.LockDoorID = "b" })}, Names: map[string]Door{"b": room("B")}}, StatusRemoving,
			[]string{"bare none none noLock", "B removing removed "}, []Reason{NoLock}},
		{"unknown space", Facts{Right: allowed, Unplaced: space.SpaceUnknown, HadGrant: true}, StatusNone, nil, []Reason{space.SpaceUnknown}},

		{"moving", Facts{Right: allowed, Doors: []Door{room("new")}, Codes: []SlotCode{code("old", slot.Verified), code("new", slot.Queued)}, HadGrant: true, Names: map[string]Door{"old": room("Old")}}, StatusUpdating,
			[]string{"new queued planned ", "Old verified removed movingOut"}, []Reason{MovingOut}},
		{"moving, the old one on its way out", Facts{Right: allowed, Doors: []Door{room("new")}, Codes: []SlotCode{gone(code("old", ""), slot.Removing), code("new", slot.Verified)}, HadGrant: true, Names: map[string]Door{"old": room("Old")}},
			StatusUpdating, []string{"new verified planned ", "Old removing removed "}, nil},
		{"moved", Facts{Right: allowed, Doors: []Door{room("new")}, Codes: []SlotCode{gone(code("old", ""), slot.Removed), code("new", slot.Verified)}, HadGrant: true}, StatusIssued,
			[]string{"new verified planned "}, nil},
		{"a new lock on the door, full", Facts{Right: allowed, Doors: []Door{relocked}, Codes: []SlotCode{code("a", slot.Verified)}, HadGrant: true}, StatusFailed,
			[]string{"a failed planned slotsFull"}, []Reason{lock.SlotsFull, FormerCode}},
		{"two locks, the new one counts", Facts{Right: allowed, Doors: []Door{relocked}, HadGrant: true, Codes: []SlotCode{gone(code("a", ""), slot.Removing),
			but(code("a", slot.Sent), func(h *SlotCode) { h.LockID, h.SlotID = "l-second", "s2" })}}, StatusUpdating, []string{"a sent planned "}, nil},
		{"two locks, the old one is known to be empty", Facts{Right: allowed, Doors: []Door{relocked}, HadGrant: true, Codes: []SlotCode{gone(code("a", ""), slot.Removed),
			but(code("a", slot.Sent), func(h *SlotCode) { h.LockID, h.SlotID = "l-second", "s2" })}}, StatusIssued, []string{"a sent planned "}, nil},

		{"being removed", Facts{Right: ended, Doors: []Door{room("a")}, Codes: []SlotCode{gone(code("a", ""), slot.Removing)}, HadGrant: true}, StatusRemoving,
			[]string{"a removing removed checkedOut"}, []Reason{CheckedOut}},
		{"over and not swept yet", Facts{Right: Right{Reason: WindowPast}, Doors: []Door{room("a")}, Codes: []SlotCode{code("a", slot.Verified)}, HadGrant: true}, StatusRemoving,
			[]string{"a verified removed windowPast"}, []Reason{WindowPast}},
		{"removed", Facts{Right: ended, Doors: []Door{room("a")}, Codes: []SlotCode{gone(code("a", ""), slot.Removed)}, HadGrant: true}, StatusRemoved,
			[]string{"a removed removed checkedOut"}, []Reason{CheckedOut}},
		{"taken back", Facts{Right: confirmed, Doors: []Door{room("a")}, Codes: []SlotCode{gone(code("a", ""), slot.Removing)}, HadGrant: true}, StatusRemoving,
			[]string{"a removing removed notCheckedIn"}, []Reason{NotCheckedIn}},
		{"removed, its slot another's by now", Facts{Right: ended, Doors: []Door{room("a")}, HadGrant: true}, StatusRemoved,
			[]string{"a none none checkedOut"}, []Reason{CheckedOut}},
		{"an earlier grant is still on a lock", Facts{Right: ended, Doors: []Door{room("a")}, HadGrant: true, Codes: []SlotCode{
			gone(code("a", ""), slot.Removed), but(gone(code("a", ""), slot.Removing), func(h *SlotCode) { h.SlotID = "s0" })}}, StatusRemoving,
			[]string{"a removing removed checkedOut"}, []Reason{CheckedOut}},
		{"over, and a lock cannot be reached", Facts{Right: ended, Doors: []Door{room("a")}, Codes: []SlotCode{away(gone(code("a", ""), slot.Removing))}, HadGrant: true}, StatusRemoving,
			[]string{"a removing removed lockOffline"}, []Reason{CheckedOut, lock.LockOffline, FormerCode}},
		{"over, and an earlier grant's door cannot be reached", Facts{Right: ended, Doors: []Door{room("a")}, HadGrant: true, Codes: []SlotCode{gone(code("a", ""), slot.Removed)}, Older: []SlotCode{away(earlier("old"))}, Names: map[string]Door{"old": room("Old")}}, StatusRemoving,
			[]string{"a removed removed checkedOut", "Old removing removed lockOffline"}, []Reason{CheckedOut, lock.LockOffline, FormerCode}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Describe(c.facts)
			if p.Status != c.status {
				t.Errorf("status %s, want %s", p.Status, c.status)
			}
			var doors []string
			for _, d := range p.Doors {
				doors = append(doors, d.Name+" "+string(d.PIN)+" "+string(d.SmartKey)+" "+string(d.Reason))
			}
			if d := cmp.Diff(c.doors, doors); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.reasons, p.Reasons); d != "" {
				t.Error(d)
			}
			if (p.Window != nil) != c.facts.Right.Open {
				t.Error("a window without a right, or none with one")
			}
		})
	}
}

// A door has the time at which its lock confirmed the code, and none while the code is only on its way.
func TestConfirmedAt(t *testing.T) {
	at := present.From
	for _, evidence := range []slot.Evidence{slot.Queued, slot.Sent, slot.Unconfirmed, slot.Failed, slot.Accepted, slot.Verified, slot.Used} {
		var o heldSlot
		o.set(&ent.Slot{ID: "s-a", LockID: "l-a", DoorID: "a", Present: true, PinID: "pin", Evidence: string(evidence), SeenAt: &at})
		want := time.Time{}
		if isInstalled(evidence) {
			want = at
		}
		plan := Describe(Facts{Right: Right{Open: true, Window: present}, Doors: []Door{room("a")}, Codes: []SlotCode{o.SlotCode}})
		if got := plan.Doors[0]; got.PIN != evidence || !got.ConfirmedAt.Equal(want) {
			t.Errorf("%s: %s at %s, want %s", evidence, got.PIN, got.ConfirmedAt, want)
		}
	}
}

// A first code that the bridge has not written may be on the lock only if the bridge cannot say so since then. A code that no bridge
// received is not on the lock.
func TestMayBeInstalled(t *testing.T) {
	for _, c := range []struct {
		name                       string
		evidence                   slot.Evidence
		received, former, reported bool // reported means that the bridge is online
		want                       bool
	}{
		{"not written, and the lock is offline", slot.Sent, true, false, true, false},
		{"not written when the bridge went offline", slot.Sent, true, false, false, true},
		{"not written, after a change", slot.Sent, true, true, true, true},
		{"on its way", slot.Queued, true, false, true, true},
		{"never on its way", slot.Queued, false, false, false, false},
	} {
		d := room("a")
		d.Lock.Online, d.Lock.BridgeOnline = false, c.reported
		held := but(code("a", c.evidence), func(h *SlotCode) { h.MayBeInstalled, h.Former = c.received, c.former })
		if got := Describe(Facts{Right: allowed, Doors: []Door{d}, Codes: []SlotCode{held}}).Doors[0].MayBeInstalled; got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
