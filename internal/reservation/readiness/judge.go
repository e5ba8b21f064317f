// Package readiness checks stays before they begin: whether their doors will open, and what to fix before the guest
// arrives.
//
// [Judge] decides from values; [Load] gathers them with few, bounded queries; [CheckDue] checks each arrival from 24 hours before it until 12
// hours after it, at least every 15 minutes and soon after a change; [Check.Store] notifies staff of new problems.
package readiness

import (
	"cmp"
	"slices"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/space"
)

// Status is whether the doors of an arrival will open.
type Status string

const (
	Ready    Status = "ready"
	AtRisk   Status = "atRisk"   // it is uncertain whether a door will open for the guest
	NotReady Status = "notReady" // a door will not open for the guest unless a person acts
)

// Rank orders statuses: a higher rank is worse. An unknown status has the rank -1.
func (w Status) Rank() int { return slices.Index([]Status{Ready, AtRisk, NotReady}, w) }

// Severity is how urgent a fix is: Blocks makes an arrival NotReady, Risks makes it AtRisk, a Note leaves it Ready.
type Severity string

const (
	Blocks Severity = "blocks"
	Risks  Severity = "risks"
	Note   Severity = "note"
)

// order has the severities, worst first.
var order = []Severity{Blocks, Risks, Note}

// Reasons of a fix, in addition to the reasons of an access plan.
const (
	BridgeOffline   access.Reason = "bridgeOffline"
	BatteryLow      access.Reason = "batteryLow"
	LockClockOff    access.Reason = "lockClockOff"
	BridgeClockOff  access.Reason = "bridgeClockOff"
	LockJammed                    = access.LockJammed
	CodeNotVerified access.Reason = "codeNotVerified" // the code is not proven to be on the lock, which can be reached
	EndpointFailing access.Reason = "endpointFailing" // calls to an endpoint of the PMS keep failing
	MappingConflict access.Reason = "mappingConflict"
	Guessable       access.Reason = "guessable"
)

// Facts are everything on which the verdict about an arrival depends.
type Facts struct {
	Now, From       time.Time // From is when the stay begins
	State           access.State
	Plan            access.Plan
	Locks           map[string]Lock // Locks has, by the id of the door, the lock of each door that has one
	Conflict        bool            // Conflict means that the mapping of the reservation's space, or of its parent, has an open conflict
	Failing         []string        // Failing are the actions of the PMS's endpoints that keep failing
	ReservationID   string
	ExternalSpaceID string // ExternalSpaceID is the PMS's id of the reservation's space; empty if none
}

// Lock is what a verdict needs to know about the lock on a door.
type Lock struct {
	Online       bool // Online means that the lock's bridge is online and reaches the lock
	BridgeOnline bool
	ReadBack     bool          // ReadBack means that the bridge can read the codes on the lock
	OwnSchedule  bool          // OwnSchedule means that the lock opens and closes windows by its own clock
	Clock        time.Duration // Clock is how far the lock's clock is ahead; negative: behind, 0 also if it is not known
	BridgeClock  time.Duration // BridgeClock is how far the clock of the lock's bridge is ahead
	Battery      *int          // Battery is in percent; nil if it is not known
	Free         int           // Free is the number of slots that a new code can use
	Jammed       bool
	Undriven     access.Reason // Undriven is lock.NoBridge or lock.BridgeRevoked, or empty if the lock has a valid bridge
	OfflineCause access.Reason // OfflineCause is why the lock's bridge reaches no lock, from lock.Status; empty if only this lock is offline
	Guessable    bool          // Guessable means that nothing slows the guessing of PINs at the lock
}

// Fix is one problem, or possible problem, that staff can fix.
type Fix struct {
	Reason       access.Reason
	Severity     Severity
	DoorID, Door string // DoorID and Door are empty if the fix is about the stay or the PMS
	DoorParent   string // DoorParent is the name of the dorm if the door is a bed, or ""
	Params       message.Params
}

// Message returns the text for staff: what is wrong and what to do.
func (f Fix) Message() message.Message {
	return message.Message{Kind: "fix." + string(f.Reason), Params: f.Params}
}

// Verdict is whether an arrival is ready, and what to fix.
type Verdict struct {
	Status Status
	Fixes  []Fix // Fixes are sorted, worst first
}

// A problem that may resolve itself is a risk, and blocks from blockingAhead before the arrival.
const blockingAhead = 2 * time.Hour

// Limits that a lock may reach before staff are warned.
const (
	lowBattery   = 20              // at this battery percentage or less, staff are warned
	emptyBattery = 5               // at this battery percentage or less, the lock counts as not opening
	clockOff     = 2 * time.Minute // with a clock off by more, in either direction, staff are warned
)

// Judge decides from the facts about an arrival whether its doors will open, and lists what staff must fix.
func Judge(f Facts) Verdict {
	j := &judgement{Facts: f, beginsSoon: f.From.Sub(f.Now) <= blockingAhead}
	j.checkSpace()
	for _, d := range f.Plan.Doors {
		j.checkDoor(d)
	}
	for _, action := range f.Failing {
		j.add(Fix{Reason: EndpointFailing, Severity: j.endpointSeverity(action), Params: message.Params{"action": action}})
	}
	slices.SortStableFunc(j.fixes, func(a, b Fix) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	return Verdict{Status: statusOf(j.fixes), Fixes: j.fixes}
}

// statusOf returns the status of an arrival from its fixes, which are sorted worst first. Without fixes it is Ready.
func statusOf(fixes []Fix) Status {
	if len(fixes) == 0 {
		return Ready
	}
	return map[Severity]Status{Blocks: NotReady, Risks: AtRisk, Note: Ready}[fixes[0].Severity]
}

// withoutEndpoints returns the verdict as it would be if no endpoint of the PMS failed. A failing endpoint affects every arrival, so staff
// get one separate notice of it.
func (v Verdict) withoutEndpoints() Verdict {
	fixes := slices.DeleteFunc(slices.Clone(v.Fixes), func(f Fix) bool { return f.Reason == EndpointFailing })
	return Verdict{Status: statusOf(fixes), Fixes: fixes}
}

// judgement collects the problems of one arrival.
type judgement struct {
	Facts
	beginsSoon bool // beginsSoon means that the stay begins within blockingAhead, or has begun
	fixes      []Fix
}

// add appends a problem to the result.
func (j *judgement) add(f Fix) { j.fixes = append(j.fixes, f) }

// endpointSeverity returns the severity of an endpoint of the PMS that keeps failing. It is a risk only before the check-in, which calls
// the PMS; otherwise it is a note. The check-in does not call getSpaces, the list of the PMS's rooms.
func (j *judgement) endpointSeverity(action string) Severity {
	if action == partner.GetSpaces || j.State == access.Started {
		return Note
	}
	return Risks
}

// recoverableSeverity returns the severity of a problem that may resolve itself before the guest arrives. It is a risk, and blocks if the
// stay begins soon.
func (j *judgement) recoverableSeverity() Severity {
	if j.beginsSoon {
		return Blocks
	}
	return Risks
}

// checkSpace adds the problems of the reservation's space: not assigned, not mapped, inactive, shared or in conflict, and a former code
// that may still open a door. If the plan has doors, checkDoor adds an inactive space instead.
func (j *judgement) checkSpace() {
	for _, r := range j.Plan.Reasons {
		switch r {
		case space.RoomNotAssigned:
			j.add(Fix{Reason: r, Severity: j.recoverableSeverity()})
		case space.SpaceUnknown, space.SpaceNotMapped:
			j.add(Fix{Reason: r, Severity: Blocks, Params: message.Params{"room": j.ExternalSpaceID}})
		case space.SpaceInactive:
			if len(j.Plan.Doors) == 0 {
				j.add(Fix{Reason: r, Severity: Blocks})
			}
		case access.SpaceShared, space.SpacesDisagree, space.BedNotAssigned:
			j.add(Fix{Reason: r, Severity: Risks})
		case access.FormerCode:
			j.add(Fix{Reason: r, Severity: Note})
		}
	}
	if j.Conflict {
		j.add(Fix{Reason: MappingConflict, Severity: Risks})
	}
}

// checkDoor adds the problems of one planned door, of its lock and of the code on it. It skips a door that the stay has left. A door with
// an inactive space or without a lock gets only that problem.
func (j *judgement) checkDoor(d access.PlannedDoor) {
	if d.Left {
		return
	}
	add := func(reason access.Reason, s Severity) {
		j.add(Fix{Reason: reason, Severity: s, DoorID: d.ID, Door: d.Name, DoorParent: d.Parent})
	}
	l, locked := j.Locks[d.ID]
	if d.Reason == space.SpaceInactive {
		add(d.Reason, Blocks)
		return
	}
	if d.Reason == access.NoLock || !locked {
		add(access.NoLock, Blocks)
		return
	}
	there := d.PIN == slot.Verified || d.PIN == slot.Used || d.PIN == slot.Accepted && !l.ReadBack
	if l.Jammed {
		add(LockJammed, Blocks)
	}
	j.checkLink(d, l, there, add)
	if !there && d.PIN != slot.Failed && !everHadSlot(d.PIN) && l.Free == 0 {
		add(lock.SlotsFull, Blocks)
	}
	j.checkCode(d, l, there, add)
	j.checkLock(l, add)
}

// everHadSlot reports whether the evidence shows that the stay has, or had, a slot of the lock.
func everHadSlot(e slot.Evidence) bool {
	switch e {
	case access.None, slot.Planned, "":
		return false
	}
	return true
}

// checkLink adds a problem if the lock cannot be reached. there means that the code is proven to be on the lock: then the door opens
// without a connection, and the problem is only a Note. add appends a problem of this door, from a reason code such as BridgeOffline.
func (j *judgement) checkLink(d access.PlannedDoor, l Lock, there bool, add func(access.Reason, Severity)) {
	severity := j.recoverableSeverity()
	if there {
		severity = Note
	}
	switch {
	case l.Undriven != "":
		if !there {
			severity = Blocks
		}
		add(l.Undriven, severity)
	case !l.BridgeOnline:
		add(BridgeOffline, severity)
	case !l.Online:
		add(cmp.Or(l.OfflineCause, lock.LockOffline), severity)
	}
}

// checkCode adds a problem if it is uncertain that the code of the stay will be on the lock in time. there means that
// the code is proven to be on the lock. While the lock cannot be reached, it adds only a refused code or an untrusted
// clock, because checkLink adds the rest. add appends a problem of this door.
func (j *judgement) checkCode(d access.PlannedDoor, l Lock, there bool, add func(access.Reason, Severity)) {
	switch {
	case d.Reason == access.ClockUntrusted:
		add(d.Reason, Risks)
	case there || j.Plan.Window == nil:
	case d.PIN == slot.Failed:
		add(cmp.Or(d.Reason, access.LockRefused), Blocks)
	case d.PIN == slot.Sent && j.Plan.Window.From.After(j.Now): // no problem: the bridge may set the code only when the window begins
	case l.Online && l.BridgeOnline && everHadSlot(d.PIN):
		add(CodeNotVerified, Risks)
	}
}

// checkLock adds the problems of the lock itself: its battery, its clock and guessable PINs. add appends a problem of
// its door.
func (j *judgement) checkLock(l Lock, add func(access.Reason, Severity)) {
	if l.Guessable { // PINs can be guessed without a pause; only a note, because the guest's code still works
		add(Guessable, Note)
	}
	switch {
	case l.Battery == nil:
	case *l.Battery <= emptyBattery:
		add(BatteryLow, Blocks)
	case *l.Battery <= lowBattery:
		add(BatteryLow, Risks)
	}
	switch {
	case l.OwnSchedule && l.Clock.Abs() > clockOff:
		add(LockClockOff, Note) // only a note, because the bridge compensates the offset when it writes windows
	case !l.OwnSchedule && l.BridgeClock.Abs() > clockOff:
		add(BridgeClockOff, Risks)
	}
}
