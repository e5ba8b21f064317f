package agent

import (
	"cmp"
	"context"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

const (
	statusEvery   = time.Minute      // interval of status reads, unless Config.StatusEvery sets another
	statusTimeout = 5 * time.Second  // timeout of one status read
	lastSeenStep  = 10 * time.Minute // a status without other news is sent when LastSeenAt has advanced by more than this
)

// markJammed records and reports that the bolt of the lock at address is jammed, because an event or a failed unlock command says so. The
// next status replaces this. It ignores an unknown lock. It waits for a running status read, so that neither overwrites the other.
func (b *Bridge) markJammed(address string) {
	o := b.workers[address]
	if o == nil {
		return
	}
	o.statusMu.Lock()
	defer o.statusMu.Unlock()
	was := b.outbox.lastStatus(address)
	now := was
	now.Bolt = string(slot.Jammed)
	b.outbox.setStatus(address, now, mustReport(was, now))
}

// pollStatus reads the status of all locks at the interval of the configuration until ctx ends. readStatus stores and reports them.
func (b *Bridge) pollStatus(ctx context.Context) {
	t := time.NewTicker(cmp.Or(b.cfg.StatusEvery, statusEvery))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			for _, l := range b.locks {
				b.readStatus(ctx, l)
			}
		}
	}
}

// readStatus reads and records a lock's status, and reacts to changes (see onStatus). A failed read records the lock as offline. Reads of
// the same lock run one after the other, so that an older status does not overwrite a newer one.
func (b *Bridge) readStatus(ctx context.Context, l driver.Lock) {
	o := b.workers[l.Address()]
	o.statusMu.Lock()
	defer o.statusMu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	was := b.outbox.lastStatus(l.Address())
	now, err := l.Status(ctx)
	o.failures.onStatus(b.log.With("lock", l.Address()), err)
	if err != nil {
		now = was
		now.Online = false
	}
	b.outbox.setStatus(l.Address(), now, mustReport(was, now))
	b.onStatus(l, was, now)
}

// onStatus reacts to a lock's status now after the status was: it passes on the offset of the lock's clock, makes the worker read slots
// when the lock is back online, and journals a battery that became low. The first status, with a zero was, only has its offset passed on.
// The caller holds the worker's statusMu.
func (b *Bridge) onStatus(l driver.Lock, was, now driver.Status) {
	o := b.workers[l.Address()]
	if now.ClockOffset != nil && l.Capabilities().Schedule == slot.ScheduleWindow {
		o.clock.observe(*now.ClockOffset)
	}
	if was == (driver.Status{}) { // the first status has no earlier one to compare; Hello reports it
		return
	}
	if was.Online && !now.Online {
		o.offlineAt = b.clock.Now()
	}
	switch older, cameOnline := slotsToRead(was, now, b.clock.Now().Sub(o.offlineAt)); {
	case cameOnline && older == 0:
		driver.Signal(o.reconnected)
	case cameOnline:
		driver.Signal(o.sessionOpened)
	}
	if isBatteryLow(now) && !isBatteryLow(was) {
		if err := b.journalEvent(driver.Event{Address: l.Address(), Kind: driver.BatteryLow, At: b.clock.Now()}); err != nil {
			b.log.Error("journaling a low battery failed", "lock", l.Address(), "error", err)
		}
	}
}

// slotsToRead decides which slots to read after a change of status from was to now. If cameOnline is true, slots whose last read is at
// least older ago must be read; 0: all. After a time offline any slot may have been changed. After a short loss of only the driver's
// connection, recently read slots are skipped, to save battery.
func slotsToRead(was, now driver.Status, offlineFor time.Duration) (older time.Duration, cameOnline bool) {
	switch {
	case was.Online || !now.Online:
		return 0, false
	case was.OfflineCause != "" && offlineFor < statusEvery:
		return recentlyRead, true
	}
	return 0, true
}

// lowBattery is the highest percentage at which a battery counts as low.
const lowBattery = 20

// isBatteryLow reports whether the battery is known to be at lowBattery percent or below.
func isBatteryLow(s driver.Status) bool {
	return s.BatteryPercent != nil && *s.BatteryPercent <= lowBattery
}

// mustReport reports whether the status now differs so much from the previous status was that the server must get it. A change of only the
// RSSI or a time does not count, but LastSeenAt does after lastSeenStep.
func mustReport(was, now driver.Status) bool {
	if now.LastSeenAt.Sub(was.LastSeenAt) > lastSeenStep {
		return true
	}
	return was.Bolt != now.Bolt || was.Door != now.Door || was.Online != now.Online || was.Firmware != now.Firmware ||
		was.Name != now.Name || was.OfflineCause != now.OfflineCause ||
		pointersDiffer(was.BatteryPercent, now.BatteryPercent) || pointersDiffer(was.ClockOffset, now.ClockOffset)
}

// pointersDiffer reports whether a and b point to different values, or only one of them is nil.
func pointersDiffer[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a != b
	}
	return *a != *b
}
