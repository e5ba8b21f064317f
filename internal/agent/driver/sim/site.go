// Package sim simulates the locks of a property. Each lock has the capabilities and answers of a real protocol, a keypad, and scripted or
// random faults. The locks outlive the bridges that drive them, as real locks do.
package sim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
)

// Spec describes one simulated lock.
type Spec struct {
	Address string
	Profile string        // Profile is a name from Profiles
	Radio   string        // Radio is the radio channel, which carries one call at a time; empty: a channel of its own
	Latency time.Duration // Latency is how long each call over the radio takes, except Status; 0: no time
	Battery uint32        // Battery is the charge in percent; 0: full
	Drift   time.Duration // Drift is the lock's clock minus the real time
	// Slots overrides the profile's number of slots if it is not 0.
	Slots int
	// Capacity is the maximum number of codes on the lock; 0: no limit besides the slots.
	Capacity int
	// Lifetime overrides the profile's operation lifetime if it is not 0.
	Lifetime time.Duration
	// NoLockout makes the lock accept any number of wrong PINs. Its keypad cannot be paused either.
	NoLockout bool
}

// Config describes a Site.
type Config struct {
	Locks []Spec
	Seed  uint64
	Odds  Odds
	// StorageFile is the file that stores the slots; empty: they are kept in memory only.
	StorageFile string
	Clock       clock.Clock // Clock is the machine's clock if nil
}

// Odds are the probabilities of random faults per set or clear operation, between 0 and 1. The seed makes them repeatable.
type Odds struct {
	Lost    float64 // Lost is the probability that an operation never reaches the lock and gets no answer
	LostAck float64 // LostAck is the probability that an operation takes effect but gets no answer
	Late    float64 // Late is the probability that an operation gets no answer and takes effect later, within the lifetime
	Busy    float64
	Offline float64
}

// maxEvents bounds the events stored while no bridge reads them. The oldest events are dropped first, as in a real lock's log.
const maxEvents = 1024

// Site is a set of simulated locks. It outlives the bridges that drive them.
type Site struct {
	mu          sync.Mutex
	clock       clock.Clock
	rng         *rand.Rand
	odds        Odds
	locks       map[string]*lock
	storageFile string
	events      chan driver.Event
	late        map[*time.Timer]struct{} // the timers of delayed effects, which Close stops: see runLater
	closed      bool
}

// NewSite creates simulated locks and loads their slots from Config.StorageFile, if it exists. It fails for an unknown profile, an empty or
// repeated address, or an unreadable file. The first change of a slot removes the codes of locks that are not in c from the file.
func NewSite(c Config) (*Site, error) {
	if c.Clock == nil {
		c.Clock = clock.System
	}
	h := &Site{
		clock: c.Clock, rng: rand.New(rand.NewPCG(c.Seed, c.Seed^0x9e3779b97f4a7c15)), odds: c.Odds,
		locks: map[string]*lock{}, storageFile: c.StorageFile,
		events: make(chan driver.Event, maxEvents), late: map[*time.Timer]struct{}{},
	}
	profiles := Profiles()
	for _, s := range c.Locks {
		p, ok := profiles[s.Profile]
		switch {
		case !ok:
			return nil, fmt.Errorf("lock %q: no profile %q; the profiles are %s", s.Address, s.Profile, strings.Join(slices.Sorted(maps.Keys(profiles)), ", "))
		case s.Address == "" || h.locks[s.Address] != nil:
			return nil, fmt.Errorf("lock %q: want an address that no other lock has", s.Address)
		}
		h.locks[s.Address] = newLock(h, s, p)
	}
	return h, h.loadSlots()
}

// Driver returns a driver of the locks for a bridge. Its events are those of the site: each goes to only one of several drivers. Closing it
// does not affect the locks.
func (h *Site) Driver() driver.Driver { return siteDriver{h} }

// Close cancels the pending effects of delayed operations. It does not stop the locks, and never fails.
func (h *Site) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for t := range h.late {
		t.Stop()
	}
	clear(h.late)
	return nil
}

// Addresses returns the addresses of the locks, sorted.
func (h *Site) Addresses() []string {
	out := make([]string, 0, len(h.locks))
	for a := range h.locks {
		out = append(out, a)
	}
	slices.Sort(out)
	return out
}

// Press is the result of typing a PIN at a keypad.
type Press struct {
	Opened bool   `json:"opened"`
	Reason string `json:"reason,omitempty"` // Reason is why the lock did not open: wrongPin, outsideWindow, jammed, noPower or keypadPaused
	Slot   uint32 `json:"-"`                // Slot is the slot of the code; 0 if the PIN is in none or was not read
}

// Press types a PIN at the keypad of the lock at an address. The lock emits an event as a real lock does, unless its keypad is paused.
// The Press says whether the lock opened, and why not. The error is for an unknown address.
func (h *Site) Press(address string, pin slot.PIN) (Press, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.locks[address]
	if !ok {
		return Press{}, fmt.Errorf("no lock %q in this site", address)
	}
	p := l.typePIN(pin)
	if p.Reason == keypadPaused { // a paused keypad does not read PINs, so it emits no event
		return p, nil
	}
	e := driver.Event{Address: address, Kind: driver.Denied, Slot: p.Slot, Reason: p.Reason, At: h.clock.Now()}
	if p.Opened {
		e.Kind = driver.Opened
	}
	h.emit(e)
	return p, nil
}

// SlotContent is the real content of an occupied slot, regardless of what the lock reports.
type SlotContent struct {
	Slot      uint32
	PIN       slot.PIN
	NotBefore time.Time
	NotAfter  time.Time
}

// Slots returns the occupied slots of a lock, sorted by slot number; nil for an unknown address.
func (h *Site) Slots(address string) []SlotContent {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.locks[address]
	if !ok {
		return nil
	}
	out := make([]SlotContent, 0, len(l.slots))
	for n, c := range l.slots {
		out = append(out, SlotContent{n, c.pin, c.notBefore, c.notAfter})
	}
	slices.SortFunc(out, func(a, b SlotContent) int { return cmp.Compare(a.Slot, b.Slot) })
	return out
}

// WriteCount returns how many set and clear operations have reached a lock, without those that a fault kept from it; 0 for an unknown
// address.
func (h *Site) WriteCount(address string) (n int) {
	_ = h.withLock(address, func(l *lock) { n = l.writes })
	return n
}

// emit sends an event to the driver's channel. It drops the oldest event if the channel is full. The caller holds h.mu.
func (h *Site) emit(e driver.Event) {
	for {
		select {
		case h.events <- e:
			return
		default:
		}
		select {
		case <-h.events:
		default:
		}
	}
}

// storedCode is a code in the storage file.
type storedCode struct {
	Address   string    `json:"address"`
	Slot      uint32    `json:"slot"`
	PIN       string    `json:"pin"`
	NotBefore time.Time `json:"notBefore,omitzero"`
	NotAfter  time.Time `json:"notAfter,omitzero"`
}

// loadSlots reads the codes of all locks from the storage file, if there is one. It skips codes of unknown locks.
func (h *Site) loadSlots() error {
	if h.storageFile == "" {
		return nil
	}
	raw, err := os.ReadFile(h.storageFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the simulated locks' memory: %w", err)
	}
	var cells []storedCode
	if err := json.Unmarshal(raw, &cells); err != nil {
		return fmt.Errorf("the simulated locks' memory %s: %w", h.storageFile, err)
	}
	for _, c := range cells {
		if l := h.locks[c.Address]; l != nil {
			l.slots[c.Slot] = code{slot.PIN(c.PIN), c.NotBefore, c.NotAfter}
		}
	}
	return nil
}

// saveSlots writes all slots to the storage file, which simulates the flash memory of the locks. A failed write is retried at the next
// change. The caller holds h.mu.
func (h *Site) saveSlots() {
	if h.storageFile == "" {
		return
	}
	cells := []storedCode{}
	for a, l := range h.locks {
		for n, c := range l.slots {
			cells = append(cells, storedCode{a, n, string(c.pin), c.notBefore, c.notAfter})
		}
	}
	slices.SortFunc(cells, func(a, b storedCode) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Slot, b.Slot))
	})
	raw, err := json.Marshal(cells)
	if err != nil {
		return
	}
	next := filepath.Clean(h.storageFile) + ".next"
	if os.WriteFile(next, raw, 0o600) == nil {
		_ = os.Rename(next, h.storageFile)
	}
}
