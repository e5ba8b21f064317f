package agent

import (
	"context"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// Slots that hold nothing of ours are searched for codes of others: slowly, since each reading wakes a lock and costs it
// battery, and only where reading shows something.
const (
	searchPause  = 10 * time.Minute   // between two readings of a lock
	searchRest   = 7 * 24 * time.Hour // between two rounds through its slots
	searchWait   = 4 * time.Second    // an opening must not wait long behind a reading
	mostSearched = 250                // slots of a lock
)

// round is how far a lock was searched.
type round struct {
	next uint32 // slot
	rest time.Time
}

// search reads one slot of each lock at a time, until ctx ends.
func (b *Bridge) search(ctx context.Context) {
	t := time.NewTicker(searchPause)
	defer t.Stop()
	rounds := map[string]*round{}
	for _, l := range b.locks {
		rounds[l.Address()] = &round{next: 1}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			for _, l := range b.locks {
				b.searchOne(ctx, l, rounds[l.Address()])
			}
		}
	}
}

// searchOne reads the next slot of a lock that is due. One that cannot be read now is looked at in the next round.
func (b *Bridge) searchOne(ctx context.Context, l driver.Lock, r *round) {
	caps, now := l.Capabilities(), b.clock.Now()
	_, status := b.out.known(l.Address())
	if !caps.ReadBack || caps.Readable == slot.ReadableNone || !status.Online || low(status) || now.Before(r.rest) {
		return
	}
	last := uint32(min(max(caps.Slots, 0), mostSearched))
	for r.next <= last && b.out.ours(l.Address(), r.next) {
		r.next++
	}
	if r.next > last {
		r.next, r.rest = 1, now.Add(searchRest)
		return
	}
	number := r.next
	r.next++
	ctx, cancel := context.WithTimeout(ctx, searchWait)
	defer cancel()
	o := b.owners[l.Address()]
	if !o.radio.acquire(ctx) {
		return
	}
	content, answer := l.Read(ctx, number)
	o.radio.release()
	if answer.Result == slot.OK && !b.out.ours(l.Address(), number) { // a code of ours may have come meanwhile
		b.out.found(l.Address(), number, content.Present)
	}
}
