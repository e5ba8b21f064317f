package agent

import (
	"maps"
	"slices"
	"sync"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// outbox holds the reports for the server. Its size is bounded, because it keeps only the newest report about each slot, lock status and
// command. Without a session it collects nothing, because the next Hello compares everything.
type outbox struct {
	mu       sync.Mutex
	isOpen   bool                                // a session with the server collects reports; otherwise they are dropped
	rows     map[string][]slot.DigestRow         // state of each lock for Hello, by address
	observed map[string]map[uint32]slot.Observed // the latest report about each slot that is still to be sent, by lock address and slot
	status   map[string]driver.Status            // last status of each lock, by address
	guards   map[string]guardRecord
	stale    map[string]bool          // locks whose status or guard record must be reported
	commands map[string]commandRecord // results of commands that are still to be sent, by id
	// foreign records whether unmanaged slots hold a code, by lock and slot. unsentForeign has the entries that are not reported yet.
	foreign, unsentForeign map[string]map[uint32]bool
	generations            map[string]map[uint32]generations // generations by lock and slot
	wake                   chan struct{}                     // signal that reports wait
}

// generations are the current and the previous generation of a slot's code. The server numbers the codes of a slot by generation.
type generations struct {
	current, previous uint64
	since             time.Time // when the current generation began; zero if no earlier one is known
}

// advance returns t with a new current generation that began at a time. While the current generation is unknown (0), it keeps the previous
// one.
func (t generations) advance(generation uint64, at time.Time) generations {
	if generation == t.current {
		return t
	}
	if t.current != 0 {
		t.previous, t.since = t.current, at
	}
	t.current = generation
	return t
}

// activeAt returns the generation that was current at a time; for all times before the current generation, this is the previous one. A lock
// may report an opening after its slot has changed.
func (t generations) activeAt(at time.Time) uint64 {
	if at.Before(t.since) {
		return t.previous
	}
	return t.current
}

// newOutbox returns an empty outbox that collects no reports before open.
func newOutbox() *outbox {
	return &outbox{
		rows: map[string][]slot.DigestRow{}, status: map[string]driver.Status{}, guards: map[string]guardRecord{},
		observed: map[string]map[uint32]slot.Observed{}, stale: map[string]bool{}, commands: map[string]commandRecord{},
		foreign: map[string]map[uint32]bool{}, unsentForeign: map[string]map[uint32]bool{}, generations: map[string]map[uint32]generations{},
		wake: make(chan struct{}, 1),
	}
}

// setSlots records the slots of a lock, from which Hello is made. report has the observations that the server must get, by slot; without a
// session they are dropped. It forgets foreign codes in slots that the server now uses.
func (o *outbox) setSlots(address string, state slot.Lock, report map[uint32]slot.Observed, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rows[address] = state.DigestRows()
	if o.generations[address] == nil {
		o.generations[address] = map[uint32]generations{}
	}
	for _, s := range state.Slots {
		o.generations[address][s.Number] = o.generations[address][s.Number].advance(state.TypedGeneration(s.Number), now)
	}
	for number := range o.foreign[address] {
		if o.isManagedLocked(address, number) { // the server now uses the slot, so an earlier observation no longer applies
			delete(o.foreign[address], number)
			delete(o.unsentForeign[address], number)
		}
	}
	if !o.isOpen || len(report) == 0 {
		return
	}
	if o.observed[address] == nil {
		o.observed[address] = map[uint32]slot.Observed{}
	}
	maps.Copy(o.observed[address], report)
	driver.Signal(o.wake)
}

// reportUnnamed queues reports about the slots of a lock that a snapshot of the server does not name although they may hold a code of the
// server. Its database was restored to an older state then, and learns of the slots by the reports. It does nothing without a session.
func (o *outbox) reportUnnamed(address string, named map[uint32]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.rows[address] {
		if named[r.Slot] || !o.isManagedLocked(address, r.Slot) || !o.isOpen {
			continue
		}
		if o.observed[address] == nil {
			o.observed[address] = map[uint32]slot.Observed{}
		}
		o.observed[address][r.Slot] = r.Observed
		driver.Signal(o.wake)
	}
}

// setStatus records the status of a lock. If changed is true, the session, if there is one, reports it to the server.
func (o *outbox) setStatus(address string, s driver.Status, changed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status[address] = s
	if o.isOpen && changed {
		o.stale[address] = true
		driver.Signal(o.wake)
	}
}

// lockStatus is a lock's status and its guard record, which has the wrong PINs, the lockout and the pause of its keypad.
type lockStatus struct {
	driver.Status
	guard guardRecord
}

// setGuard records a lock's guard record: its wrong PINs, lockout and keypad pause. The session, if there is one, reports it to the server
// unless only the wrong PINs changed.
func (o *outbox) setGuard(address string, rec guardRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.guards[address]
	o.guards[address] = rec
	if o.isOpen && (was.Lockout != rec.Lockout || !was.PausedUntil.Equal(rec.PausedUntil)) {
		o.stale[address] = true
		driver.Signal(o.wake)
	}
}

// helloState returns what Hello contains about a lock: a digest of its slots, and its status.
func (o *outbox) helloState(address string) (slot.Digest, lockStatus) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slot.LockDigest(o.rows[address]), lockStatus{o.status[address], o.guards[address]}
}

// isManaged reports whether a slot holds, or may hold, a code of the server, or is about to; false for a slot that the bridge does not
// know.
func (o *outbox) isManaged(address string, number uint32) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.isManagedLocked(address, number)
}

// isManagedLocked is isManaged for callers that hold o.mu. A slot is managed if it does not match the desired state yet, if it holds a
// code, or if the lock has not confirmed that it is empty.
func (o *outbox) isManagedLocked(address string, number uint32) bool {
	for _, r := range o.rows[address] {
		if r.Slot == number {
			return r.Observed.Generation != r.Generation || r.Observed.Present || !r.Observed.Evidence.ConfirmedByLock()
		}
	}
	return false
}

// setForeign records whether an unmanaged slot, which the server does not use, holds a code. In a session, the first observation and each
// change are reported to the server.
func (o *outbox) setForeign(address string, number uint32, occupied bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was, known := o.foreign[address][number]
	setOccupied(o.foreign, address, number, occupied)
	if o.isOpen && (!known || was != occupied) {
		setOccupied(o.unsentForeign, address, number, occupied)
		driver.Signal(o.wake)
	}
}

// setOccupied sets one entry of a map by lock address and slot number.
func setOccupied(in map[string]map[uint32]bool, address string, number uint32, occupied bool) {
	if in[address] == nil {
		in[address] = map[uint32]bool{}
	}
	in[address][number] = occupied
}

// addCommand queues the result of a command for the server. Without a session it does nothing: the next one reads the results from the
// store.
func (o *outbox) addCommand(rec commandRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isOpen {
		o.commands[rec.ID] = rec
		driver.Signal(o.wake)
	}
}

// open begins to collect reports for a new session and discards older ones. It queues all known unmanaged slots again, because the server
// may have missed the earlier reports.
func (o *outbox) open() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.isOpen = true
	clear(o.observed)
	clear(o.stale)
	clear(o.commands)
	clear(o.unsentForeign)
	for address, slots := range o.foreign {
		for number, occupied := range slots {
			if !o.isManagedLocked(address, number) {
				setOccupied(o.unsentForeign, address, number, occupied)
			}
		}
	}
	if len(o.unsentForeign) > 0 {
		driver.Signal(o.wake)
	}
}

// close stops collecting reports when a session has ended. Reports that still wait are not sent: the next open discards them.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.isOpen = false
}

// lastStatus returns the status of a lock as last recorded; the zero Status before the first.
func (o *outbox) lastStatus(address string) driver.Status {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.status[address]
}

// lockState returns the digest rows, which must not be changed, and the status of a lock; both zero for an unknown lock.
func (o *outbox) lockState(address string) ([]slot.DigestRow, lockStatus) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rows[address], lockStatus{o.status[address], o.guards[address]}
}

// generationAt returns the generation of the code that a slot held at a time; 0 if unknown.
func (o *outbox) generationAt(address string, number uint32, at time.Time) uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.generations[address][number].activeAt(at)
}

// lockReport is everything to report about one lock.
type lockReport struct {
	address  string
	observed map[uint32]slot.Observed
	status   *lockStatus     // nil: unchanged
	foreign  map[uint32]bool // by slot: whether an unmanaged slot holds a code; only slots to report
}

// takeReports removes all waiting reports and returns them, sorted by lock address and by command id. Reports that cannot be sent then are
// lost; the next Hello compares everything.
func (o *outbox) takeReports() (reports []lockReport, commands []commandRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	addresses := map[string]bool{}
	for a := range o.observed {
		addresses[a] = true
	}
	for a := range o.stale {
		addresses[a] = true
	}
	for a, slots := range o.unsentForeign {
		if len(slots) > 0 {
			addresses[a] = true
		}
	}
	for _, a := range slices.Sorted(maps.Keys(addresses)) {
		w := lockReport{address: a, observed: o.observed[a], foreign: o.unsentForeign[a]}
		if o.stale[a] {
			w.status = &lockStatus{o.status[a], o.guards[a]}
		}
		reports = append(reports, w)
	}
	for _, id := range slices.Sorted(maps.Keys(o.commands)) {
		commands = append(commands, o.commands[id])
	}
	clear(o.observed)
	clear(o.stale)
	clear(o.commands)
	clear(o.unsentForeign)
	return reports, commands
}
