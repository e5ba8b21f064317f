package agent

import (
	"maps"
	"slices"
	"sync"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// outbox holds the reports for the service. Its size is bounded, because it keeps only the newest report for each slot, status and command.
// Without a session it collects nothing, because the next Hello compares everything.
type outbox struct {
	mu       sync.Mutex
	isOpen   bool
	rows     map[string][]slot.DigestRow // state of each lock for Hello
	observed map[string]map[uint32]slot.Observed
	status   map[string]driver.Status
	guards   map[string]guardRecord
	stale    map[string]bool // locks whose status or guard record changed
	commands map[string]commandRecord
	// foreign records whether unmanaged slots hold a code, by lock and slot. unsentForeign has the entries that are not reported yet.
	foreign, unsentForeign map[string]map[uint32]bool
	generations            map[string]map[uint32]generations // generations by lock and slot
	wake                   chan struct{}
}

// generations are the current and the previous generation of a slot's code.
type generations struct {
	current, previous uint64
	since             time.Time // when the current generation began
}

// advance sets the current generation. It keeps the previous generation while the current one is unknown (0).
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

// activeAt returns the generation that was current at a time, because a lock may report an opening after its slot has changed.
func (t generations) activeAt(activeAt time.Time) uint64 {
	if activeAt.Before(t.since) {
		return t.previous
	}
	return t.current
}

func newOutbox() *outbox {
	return &outbox{
		rows: map[string][]slot.DigestRow{}, status: map[string]driver.Status{}, guards: map[string]guardRecord{},
		observed: map[string]map[uint32]slot.Observed{}, stale: map[string]bool{}, commands: map[string]commandRecord{},
		foreign: map[string]map[uint32]bool{}, unsentForeign: map[string]map[uint32]bool{}, generations: map[string]map[uint32]generations{},
		wake: make(chan struct{}, 1),
	}
}

// signal sends to a channel with a buffer of one, unless the channel is full.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// setSlots records a lock's state for Hello, and the observations to report.
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
		if o.isManagedLocked(address, number) { // the service now uses the slot, so an earlier observation no longer applies
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
	signal(o.wake)
}

// setStatus records a lock's status. changed means that the service must get it.
func (o *outbox) setStatus(address string, s driver.Status, changed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status[address] = s
	if o.isOpen && changed {
		o.stale[address] = true
		signal(o.wake)
	}
}

// lockStatus is a lock's status and its guard record.
type lockStatus struct {
	driver.Status
	guard guardRecord
}

// setGuard records a lock's guard record. If only the count of wrong PINs changed, it is not reported.
func (o *outbox) setGuard(address string, rec guardRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.guards[address]
	o.guards[address] = rec
	if o.isOpen && (was.Lockout != rec.Lockout || !was.PausedUntil.Equal(rec.PausedUntil)) {
		o.stale[address] = true
		signal(o.wake)
	}
}

// helloState returns what Hello contains about a lock.
func (o *outbox) helloState(address string) (slot.Digest, lockStatus) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slot.LockDigest(o.rows[address]), lockStatus{o.status[address], o.guards[address]}
}

// isManaged reports whether a slot holds, or may hold, a code of the service.
func (o *outbox) isManaged(address string, number uint32) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.isManagedLocked(address, number)
}

// isManagedLocked is isManaged for callers that hold o.mu.
func (o *outbox) isManagedLocked(address string, number uint32) bool {
	for _, r := range o.rows[address] {
		if r.Slot == number {
			return r.Observed.Generation != r.Generation || r.Observed.Present || !r.Observed.Evidence.Confirmed()
		}
	}
	return false
}

// setForeign records whether a slot that the service does not use holds a code.
func (o *outbox) setForeign(address string, number uint32, occupied bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was, known := o.foreign[address][number]
	setOccupied(o.foreign, address, number, occupied)
	if o.isOpen && (!known || was != occupied) {
		setOccupied(o.unsentForeign, address, number, occupied)
		signal(o.wake)
	}
}

func setOccupied(in map[string]map[uint32]bool, address string, number uint32, occupied bool) {
	if in[address] == nil {
		in[address] = map[uint32]bool{}
	}
	in[address][number] = occupied
}

func (o *outbox) addCommand(rec commandRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isOpen {
		o.commands[rec.ID] = rec
		signal(o.wake)
	}
}

// open begins to collect reports for a new session. It reports all known unmanaged slots again, because the service may not have stored the
// earlier reports.
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
		signal(o.wake)
	}
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.isOpen = false
}

func (o *outbox) lastStatus(address string) driver.Status {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.status[address]
}

// lockState returns the digest rows and the status of a lock.
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
	status   *lockStatus
	foreign  map[uint32]bool // by slot: whether an unmanaged slot holds a code
}

// takeReports removes and returns all reports, in a fixed order.
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
