package sim

import (
	"fmt"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// Program sets a code at the lock itself, as a person with the master code can, without the checks that a setting by the bridge undergoes.
// An empty PIN clears the slot. The lock reports the change to the driver. It fails only for an unknown address.
func (h *Site) Program(address string, number uint32, pin slot.PIN) error {
	return h.withLock(address, func(l *lock) {
		l.setSlot(number, code{pin: pin})
		h.emit(driver.Event{Address: address, Kind: driver.SlotChanged, Slot: number, At: h.clock.Now()})
	})
}

// ProgramSilently does the same as Program for a lock that does not report the change. It fails only for an unknown address.
func (h *Site) ProgramSilently(address string, number uint32, pin slot.PIN) error {
	return h.withLock(address, func(l *lock) { l.setSlot(number, code{pin: pin}) })
}

// Reset deletes all codes of a lock, like a factory reset by hand, but keeps its lockout. If reported is true, the driver gets events. It
// fails only for an unknown address.
func (h *Site) Reset(address string, reported bool) error {
	return h.withLock(address, func(l *lock) {
		clear(l.slots)
		h.saveSlots()
		if reported {
			h.emit(driver.Event{Address: address, Kind: driver.Tampered, Reason: "factoryReset", At: h.clock.Now()})
			h.emit(driver.Event{Address: address, Kind: driver.SlotChanged, At: h.clock.Now()})
		}
	})
}

// SetJammed jams or frees a lock's bolt. The lock reports a jam to the driver. An unknown address is ignored.
func (h *Site) SetJammed(address string, jammed bool) {
	_ = h.withLock(address, func(l *lock) {
		if jammed && !l.jammed {
			h.emit(driver.Event{Address: address, Kind: driver.Jammed, At: h.clock.Now()})
		}
		l.jammed = jammed
	})
}

// SetOffline disconnects a lock from its radio or reconnects it. An unknown address is ignored.
func (h *Site) SetOffline(address string, offline bool) {
	_ = h.withLock(address, func(l *lock) { l.offline = offline })
}

// SetBattery sets a lock's charge in percent, if the lock exists. At 0 it does not work; below minPercentToWrite it refuses new codes.
func (h *Site) SetBattery(address string, percent uint32) {
	_ = h.withLock(address, func(l *lock) { l.battery = percent })
}

// SetDrift sets the clock of a lock ahead of the real time; a negative duration sets it behind. An unknown address is ignored.
func (h *Site) SetDrift(address string, ahead time.Duration) {
	_ = h.withLock(address, func(l *lock) { l.spec.Drift = ahead })
}

// withLock calls do with the lock at an address, while it holds the site's mutex. It fails if there is no such lock.
func (h *Site) withLock(address string, do func(*lock)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.locks[address]
	if !ok {
		return fmt.Errorf("no lock %q in this site", address)
	}
	do(l)
	return nil
}

// RepairAll ends all simulated trouble: every lock is reachable, not jammed, charged and correct in time. Injected and random faults end;
// SetOdds allows random ones again. Slots and pauses of keypads do not change.
func (h *Site) RepairAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.odds = Odds{}
	for _, l := range h.locks {
		l.offline, l.jammed, l.battery, l.spec.Drift, l.nextFaults = false, false, 100, 0, nil
	}
}
