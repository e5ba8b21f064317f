package agent

import (
	"maps"
	"slices"
	"sync"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// outbox holds what the service has yet to be told. It cannot overflow: of a slot, a status or an
// act only the newest word is kept. Between sessions nothing is collected, since the next Hello
// compares everything.
type outbox struct {
	mu     sync.Mutex
	open   bool
	rows   map[string][]slot.DigestRow // what the bridge knows of each lock, for Hello
	seen   map[string]map[uint32]slot.Observed
	status map[string]driver.Status
	guards map[string]guardRecord
	stale  map[string]bool // locks whose status or guard changed
	acts   map[string]actRecord
	// others says of slots without a code of ours whether they hold one of somebody else's; unsaid is what to tell of it.
	others, unsaid map[string]map[uint32]bool
	codes          map[string]map[uint32]typed // by lock and slot
	wake           chan struct{}               // holds one signal
}

// typed is the generation that an opening with the code in a slot belongs to, and the one before it.
type typed struct {
	now, before uint64
	since       time.Time // of now
}

// next is what is known from a time on. What is not known hides no generation that is.
func (t typed) next(generation uint64, at time.Time) typed {
	if generation == t.now {
		return t
	}
	if t.now != 0 {
		t.before, t.since = t.now, at
	}
	t.now = generation
	return t
}

// at is the generation at a time: a lock may report an opening when its slot has changed.
func (t typed) at(at time.Time) uint64 {
	if at.Before(t.since) {
		return t.before
	}
	return t.now
}

func newOutbox() *outbox {
	return &outbox{
		rows: map[string][]slot.DigestRow{}, status: map[string]driver.Status{}, guards: map[string]guardRecord{},
		seen: map[string]map[uint32]slot.Observed{}, stale: map[string]bool{}, acts: map[string]actRecord{},
		others: map[string]map[uint32]bool{}, unsaid: map[string]map[uint32]bool{}, codes: map[string]map[uint32]typed{},
		wake: make(chan struct{}, 1),
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// learn publishes what is known of a lock's slots from now on, and what a session has to be told of them.
func (o *outbox) learn(address string, state slot.Lock, tell map[uint32]slot.Observed, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rows[address] = state.DigestRows()
	if o.codes[address] == nil {
		o.codes[address] = map[uint32]typed{}
	}
	for _, s := range state.Slots {
		o.codes[address][s.Number] = o.codes[address][s.Number].next(state.TypedGeneration(s.Number), now)
	}
	for number := range o.others[address] {
		if o.holds(address, number) { // what was there before says nothing of what will be there after it
			delete(o.others[address], number)
			delete(o.unsaid[address], number)
		}
	}
	if !o.open || len(tell) == 0 {
		return
	}
	if o.seen[address] == nil {
		o.seen[address] = map[uint32]slot.Observed{}
	}
	maps.Copy(o.seen[address], tell)
	signal(o.wake)
}

// look notes how a lock does; changed says whether the service should hear of it.
func (o *outbox) look(address string, s driver.Status, changed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status[address] = s
	if o.open && changed {
		o.stale[address] = true
		signal(o.wake)
	}
}

// lockStatus is how a lock does, and what the bridge knows of wrong PINs at it.
type lockStatus struct {
	driver.Status
	guard guardRecord
}

// guarded notes what is known of wrong PINs at a lock. Of the count alone the service is not told.
func (o *outbox) guarded(address string, rec guardRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.guards[address]
	o.guards[address] = rec
	if o.open && (was.Lockout != rec.Lockout || !was.PausedUntil.Equal(rec.PausedUntil)) {
		o.stale[address] = true
		signal(o.wake)
	}
}

// stateOf is what Hello says of a lock.
func (o *outbox) stateOf(address string) (slot.Digest, lockStatus) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slot.LockDigest(o.rows[address]), lockStatus{o.status[address], o.guards[address]}
}

// ours says whether a slot holds, or may hold, a code of the service's.
func (o *outbox) ours(address string, number uint32) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.holds(address, number)
}

// holds is ours for who has o.mu.
func (o *outbox) holds(address string, number uint32) bool {
	for _, r := range o.rows[address] {
		if r.Slot == number {
			return r.Observed.Generation != r.Generation || r.Observed.Present || !r.Observed.Evidence.Confirmed()
		}
	}
	return false
}

// found notes what a slot without a code of ours turned out to hold.
func (o *outbox) found(address string, number uint32, occupied bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was, known := o.others[address][number]
	note(o.others, address, number, occupied)
	if o.open && (!known || was != occupied) {
		note(o.unsaid, address, number, occupied)
		signal(o.wake)
	}
}

func note(in map[string]map[uint32]bool, address string, number uint32, occupied bool) {
	if in[address] == nil {
		in[address] = map[uint32]bool{}
	}
	in[address][number] = occupied
}

func (o *outbox) act(rec actRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open {
		o.acts[rec.ID] = rec
		signal(o.wake)
	}
}

// begin opens the outbox for a session. What is learned from here on is collected. What was found in slots without a code
// of ours is told anew, empty ones too: nobody knows whether the service stored what it was told before.
func (o *outbox) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = true
	clear(o.seen)
	clear(o.stale)
	clear(o.acts)
	clear(o.unsaid)
	for address, slots := range o.others {
		for number, occupied := range slots {
			if !o.holds(address, number) {
				note(o.unsaid, address, number, occupied)
			}
		}
	}
	if len(o.unsaid) > 0 {
		signal(o.wake)
	}
}

func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = false
}

// known is what is known of a lock's slots and status.
func (o *outbox) known(address string) (slot.Digest, driver.Status) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slot.LockDigest(o.rows[address]), o.status[address]
}

// all is what is known of a lock.
func (o *outbox) all(address string) ([]slot.DigestRow, lockStatus) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rows[address], lockStatus{o.status[address], o.guards[address]}
}

// generation is the generation whose code was in a slot at a time; 0: not known.
func (o *outbox) generation(address string, number uint32, at time.Time) uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.codes[address][number].at(at)
}

// word is one lock's news.
type word struct {
	address string
	seen    map[uint32]slot.Observed
	status  *lockStatus
	others  map[uint32]bool // by slot: it holds somebody else's code
}

// take empties the outbox.
func (o *outbox) take() (words []word, acts []actRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	addresses := map[string]bool{}
	for a := range o.seen {
		addresses[a] = true
	}
	for a := range o.stale {
		addresses[a] = true
	}
	for a, slots := range o.unsaid {
		if len(slots) > 0 {
			addresses[a] = true
		}
	}
	for _, a := range slices.Sorted(maps.Keys(addresses)) {
		w := word{address: a, seen: o.seen[a], others: o.unsaid[a]}
		if o.stale[a] {
			w.status = &lockStatus{o.status[a], o.guards[a]}
		}
		words = append(words, w)
	}
	for _, id := range slices.Sorted(maps.Keys(o.acts)) {
		acts = append(acts, o.acts[id])
	}
	clear(o.seen)
	clear(o.stale)
	clear(o.acts)
	clear(o.unsaid)
	return words, acts
}
