package agent

import (
	"context"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

const (
	statusEvery   = time.Minute
	statusTimeout = 5 * time.Second
	heardEpsilon  = 10 * time.Minute // a status that differs by less in its times alone is no news
)

// jammed stores that the bolt of a lock does not move, as an event or a refused unlock command says, until the next look at the
// lock. It waits for a look that is under way, so that neither replaces what the other stored.
func (b *Bridge) jammed(address string) {
	o := b.owners[address]
	if o == nil {
		return
	}
	o.looking.Lock()
	defer o.looking.Unlock()
	_, was := b.out.known(address)
	now := was
	now.Bolt = string(slot.Jammed)
	b.out.look(address, now, news(was, now))
}

// lookAround reads the status of all locks every minute.
func (b *Bridge) lookAround(ctx context.Context) {
	t := time.NewTicker(statusEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			for _, l := range b.locks {
				b.look(ctx, l)
			}
		}
	}
}

// look reads how a lock does. One call at a time reads a lock, or an older status could replace a newer one.
func (b *Bridge) look(ctx context.Context, l driver.Lock) {
	o := b.owners[l.Address()]
	o.looking.Lock()
	defer o.looking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	_, was := b.out.known(l.Address())
	now, err := l.Status(ctx)
	o.trouble.looked(b.log.With("lock", l.Address()), err)
	if err != nil {
		now = was
		now.Online = false
	}
	b.out.look(l.Address(), now, news(was, now))
	b.noticed(l, was, now)
}

// noticed acts on what has changed at a lock. The caller holds the owner's looking.
func (b *Bridge) noticed(l driver.Lock, was, now driver.Status) {
	o := b.owners[l.Address()]
	if now.ClockOffset != nil && l.Capabilities().Schedule == slot.ScheduleWindow {
		o.clock.see(*now.ClockOffset)
	}
	if was == (driver.Status{}) { // the first look: the service hears of it in Hello
		return
	}
	if was.Online && !now.Online {
		o.offlineAt = b.clock.Now()
	}
	switch older, back := slotsToRead(was, now, b.clock.Now().Sub(o.offlineAt)); {
	case back && older == 0:
		signal(o.doubted)
	case back:
		signal(o.met)
	}
	if low(now) && !low(was) {
		if err := b.happened(driver.Event{Address: l.Address(), Kind: driver.BatteryLow, At: b.clock.Now()}); err != nil {
			b.log.Error("a low battery was not journaled", "lock", l.Address(), "error", err)
		}
	}
}

// slotsToRead says whether a lock is back, and how long ago a slot must have been read for it to be read again. While the
// lock was away somebody may have changed any slot. If only the driver's connection was lost, and not for long, slots that
// were read lately are not read again: reading costs battery.
func slotsToRead(was, now driver.Status, away time.Duration) (older time.Duration, back bool) {
	switch {
	case was.Online || !now.Online:
		return 0, false
	case was.OfflineCause != "" && away < statusEvery:
		return fresh, true
	}
	return 0, true
}

// lowBattery in percent, and below.
const lowBattery = 20

func low(s driver.Status) bool { return s.BatteryPercent != nil && *s.BatteryPercent <= lowBattery }

// news reports whether a status is worth telling.
func news(was, now driver.Status) bool {
	if now.LastSeenAt.Sub(was.LastSeenAt) > heardEpsilon {
		return true
	}
	return was.Bolt != now.Bolt || was.Door != now.Door || was.Online != now.Online || was.Firmware != now.Firmware ||
		was.Name != now.Name || was.OfflineCause != now.OfflineCause ||
		differ(was.BatteryPercent, now.BatteryPercent) || differ(was.ClockOffset, now.ClockOffset)
}

func differ[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a != b
	}
	return *a != *b
}
