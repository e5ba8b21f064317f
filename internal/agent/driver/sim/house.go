// Package sim simulates a house full of locks. Each lock has the capabilities and answers of a real protocol, a keypad, and faults that
// are scripted or random from a seed. The house outlives the bridges that drive it, as real locks do.
package sim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
)

// Spec describes one lock.
type Spec struct {
	Address string
	Profile string // a name of Profiles
	Radio   string // locks of one radio are called one at a time; empty: its own radio
	Latency time.Duration
	Battery uint32        // percent; 0: full
	Drift   time.Duration // the lock's clock minus the real one
	// Slots, when not 0, replaces the profile's number of slots.
	Slots int
	// Capacity, if not 0, is how many codes the lock can hold in total.
	Capacity int
	// Lifetime, when not 0, replaces the profile's operation lifetime.
	Lifetime time.Duration
	// NoLockout makes the lock accept any number of wrong PINs: it has no lockout, and its keypad cannot be paused.
	NoLockout bool
}

// Config describes a house.
type Config struct {
	Locks []Spec
	Seed  uint64
	Odds  Odds
	// StorageFile is the file in which the slots are stored; empty: they are kept in memory only.
	StorageFile string
	Clock       clock.Clock // nil: the machine's
}

// Odds are probabilities between 0 and 1, drawn per operation from the seed.
type Odds struct {
	Lost    float64 // never reaches the lock; no answer
	LostAck float64 // takes effect; no answer
	Late    float64 // no answer; takes effect later, within the lifetime
	Busy    float64
	Offline float64
}

// maxEvents bounds the events kept for a bridge that is not running; the oldest are dropped first, as in a lock's own log.
const maxEvents = 1024

// House is a set of simulated locks. It outlives the bridges that drive them.
type House struct {
	mu          sync.Mutex
	clock       clock.Clock
	rng         *rand.Rand
	odds        Odds
	locks       map[string]*lock
	storageFile string
	events      chan driver.Event
	late        map[*time.Timer]struct{}
	closed      bool
}

// NewHouse creates a house and loads its Memory.
func NewHouse(c Config) (*House, error) {
	if c.Clock == nil {
		c.Clock = clock.System
	}
	h := &House{
		clock: c.Clock, rng: rand.New(rand.NewPCG(c.Seed, c.Seed^0x9e3779b97f4a7c15)), odds: c.Odds,
		locks: map[string]*lock{}, storageFile: c.StorageFile,
		events: make(chan driver.Event, maxEvents), late: map[*time.Timer]struct{}{},
	}
	profiles := Profiles()
	for _, s := range c.Locks {
		p, ok := profiles[s.Profile]
		switch {
		case !ok:
			return nil, fmt.Errorf("lock %q: no profile %q", s.Address, s.Profile)
		case s.Address == "" || h.locks[s.Address] != nil:
			return nil, fmt.Errorf("lock %q: want an address that no other lock has", s.Address)
		}
		h.locks[s.Address] = newLock(h, s, p)
	}
	return h, h.loadSlots()
}

// Driver returns a driver of the house for a bridge. Closing it does not change the house.
func (h *House) Driver() driver.Driver { return houseDriver{h} }

// Close cancels delayed effects.
func (h *House) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for t := range h.late {
		t.Stop()
	}
	clear(h.late)
	return nil
}

// Addresses are the locks' addresses, sorted.
func (h *House) Addresses() []string {
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
	Reason string `json:"reason,omitempty"` // why not: wrongPin, outsideWindow, jammed, noPower, keypadPaused
	Slot   uint32 `json:"-"`
}

// Press types a PIN at a lock's keypad and emits an event.
func (h *House) Press(address string, pin slot.PIN) (Press, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.locks[address]
	if !ok {
		return Press{}, fmt.Errorf("no lock %q in this house", address)
	}
	p := l.typePIN(pin)
	if p.Reason == keypadPaused { // a paused keypad reads no PIN, so it reports none
		return p, nil
	}
	e := driver.Event{Address: address, Kind: driver.Denied, Slot: p.Slot, Reason: p.Reason, At: h.clock.Now()}
	if p.Opened {
		e.Kind = driver.Opened
	}
	h.emit(e)
	return p, nil
}

// SlotContent is the content of an occupied slot, whatever the lock reports about it.
type SlotContent struct {
	Slot      uint32
	PIN       slot.PIN
	NotBefore time.Time
	NotAfter  time.Time
}

// Slots returns the occupied slots of a lock, sorted by number.
func (h *House) Slots(address string) []SlotContent {
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

// WriteCount returns how many operations to set or clear a slot have reached a lock.
func (h *House) WriteCount(address string) (n int) {
	_ = h.withLock(address, func(l *lock) { n = l.writes })
	return n
}

// emit sends an event to the driver. It drops the oldest event if the channel is full. The caller holds h.mu.
func (h *House) emit(e driver.Event) {
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

func (h *House) loadSlots() error {
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

// saveSlots writes all slots to the storage file, which simulates the locks' flash memory. A failed write is retried at the next change.
// The caller holds h.mu.
func (h *House) saveSlots() {
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
