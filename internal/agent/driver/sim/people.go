package sim

import (
	"fmt"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// Program puts a code into a slot at the lock itself, past every bridge; an empty PIN empties it. The
// lock tells of it.
func (h *House) Program(address string, number uint32, pin slot.PIN) error {
	return h.at(address, func(l *lock) {
		l.put(number, cell{pin: pin})
		h.tell(driver.Event{Address: address, Kind: driver.SlotChanged, Slot: number, At: h.clock.Now()})
	})
}

// Meddle is Program at a lock that does not tell of it.
func (h *House) Meddle(address string, number uint32, pin slot.PIN) error {
	return h.at(address, func(l *lock) { l.put(number, cell{pin: pin}) })
}

// Reset is a factory reset at the lock: every code is gone, and the lock tells of it or not.
func (h *House) Reset(address string, told bool) error {
	return h.at(address, func(l *lock) {
		clear(l.slots)
		h.remember()
		if told {
			h.tell(driver.Event{Address: address, Kind: driver.Tampered, Reason: "factoryReset", At: h.clock.Now()})
			h.tell(driver.Event{Address: address, Kind: driver.SlotChanged, At: h.clock.Now()})
		}
	})
}

// SetJammed jams a lock's bolt, or frees it.
func (h *House) SetJammed(address string, jammed bool) {
	_ = h.at(address, func(l *lock) {
		if jammed && !l.jammed {
			h.tell(driver.Event{Address: address, Kind: driver.Jammed, At: h.clock.Now()})
		}
		l.jammed = jammed
	})
}

// SetOffline takes a lock off the air, or back.
func (h *House) SetOffline(address string, offline bool) {
	_ = h.at(address, func(l *lock) { l.offline = offline })
}

// SetBattery sets a lock's charge in percent; an empty lock does nothing at all.
func (h *House) SetBattery(address string, percent uint32) {
	_ = h.at(address, func(l *lock) { l.battery = percent })
}

// SetDrift sets by how much a lock's clock is ahead of the real one.
func (h *House) SetDrift(address string, ahead time.Duration) {
	_ = h.at(address, func(l *lock) { l.spec.Drift = ahead })
}

func (h *House) at(address string, do func(*lock)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.locks[address]
	if !ok {
		return fmt.Errorf("no lock %q in this house", address)
	}
	do(l)
	return nil
}

// Heal puts every lock right: on the air, free, charged, its clock right, and no fault to come. What its slots hold stays.
func (h *House) Heal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.odds = Odds{}
	for _, l := range h.locks {
		l.offline, l.jammed, l.battery, l.spec.Drift, l.script = false, false, 100, 0, nil
	}
}
