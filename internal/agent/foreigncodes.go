package agent

import (
	"context"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// Settings of the search for foreign codes: codes that the server did not set. The search is slow, because each read wakes the lock and
// uses its battery.
const (
	searchInterval      = 10 * time.Minute   // time between two reads of one lock in this search, to save its battery
	searchRoundInterval = 7 * 24 * time.Hour // wait after a complete search of one lock for foreign codes until the next one
	searchTimeout       = 4 * time.Second    // timeout of a read, short because an unlock command must not wait long for the lock
	maxSearchedSlots    = 250                // number of slots of a lock that are searched
)

// searchRound is the progress of the search for foreign codes on one lock.
type searchRound struct {
	next      uint32    // next slot to read, from 1
	notBefore time.Time // no slot is read before this time
}

// searchForeignCodes searches all locks, until ctx ends, for codes that the server did not set, and reports the slots with such codes in
// the status of the lock. To save batteries it reads one slot of each lock per searchInterval.
func (b *Bridge) searchForeignCodes(ctx context.Context) {
	t := time.NewTicker(searchInterval)
	defer t.Stop()
	rounds := map[string]*searchRound{}
	for _, l := range b.locks {
		rounds[l.Address()] = &searchRound{next: 1}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			for _, l := range b.locks {
				b.searchSlot(ctx, l, rounds[l.Address()])
			}
		}
	}
}

// searchSlot makes the next step of the search at a lock: it reads one slot that the server does not use, and records whether the slot
// holds a code. r is the progress. It does nothing while the lock is offline, its battery is low or the next search is not due, nor for a
// lock that cannot be read. A slot whose read fails is skipped until the next complete search.
func (b *Bridge) searchSlot(ctx context.Context, l driver.Lock, r *searchRound) {
	caps, now := l.Capabilities(), b.clock.Now()
	status := b.outbox.lastStatus(l.Address())
	if !caps.ReadBack || caps.Readable == slot.ReadableNone || !status.Online || isBatteryLow(status) || now.Before(r.notBefore) {
		return
	}
	last := uint32(min(max(caps.Slots, 0), maxSearchedSlots))
	for r.next <= last && b.outbox.isManaged(l.Address(), r.next) {
		r.next++
	}
	if r.next > last {
		r.next, r.notBefore = 1, now.Add(searchRoundInterval)
		return
	}
	number := r.next
	r.next++
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	w := b.workers[l.Address()]
	if !w.radio.acquire(ctx) {
		return
	}
	content, answer := l.Read(ctx, number)
	w.radio.release()
	if answer.Result == slot.OK && !b.outbox.isManaged(l.Address(), number) { // the server may have assigned the slot during the read
		b.outbox.setForeign(l.Address(), number, content.Present)
	}
}
