package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// entry is a door that was opened with the code in a slot, on its way to the lock's owner.
type entry struct {
	slot uint32
	what occurrence
	done chan string // holds one: the code for one use that this ended, or ""
}

func (e entry) happened() []occurrence {
	if e.done == nil {
		return nil
	}
	return []occurrence{e.what}
}

// answer tells whoever waits for an entry what it came to.
func (e entry) answer(before, after slot.Lock) {
	if e.done == nil {
		return
	}
	was, _ := before.Slot(e.slot)
	is, _ := after.Slot(e.slot)
	if is.UsedOneTimeID == was.UsedOneTimeID {
		is.UsedOneTimeID = ""
	}
	e.done <- is.UsedOneTimeID
}

// entered has a lock's owner journal an entry, in the write that ends the code if it was for one use: a power cut leaves
// both or neither. Then the code ends on the bridge's other locks.
func (b *Bridge) entered(ctx context.Context, o *owner, e driver.Event) error {
	use := entry{slot: e.Slot, what: b.occurred(e), done: make(chan string, 1)}
	select {
	case o.entries <- use:
	case <-ctx.Done():
		return b.happened(e)
	}
	code := ""
	select {
	case code = <-use.done:
	case <-ctx.Done(): // the owner stores what it has taken
	}
	if code == "" {
		return nil
	}
	for _, other := range b.owners {
		if other != o {
			other.offer(ctx, []slot.Event{{Kind: slot.CodeUsedElsewhere, OneTimeID: code}})
		}
	}
	return nil
}

// recall learns which codes for one use were used: from the slots' records, and from entries in the journal, since one that
// came while the bridge was being stopped is only there.
func (b *Bridge) recall() error {
	for _, o := range b.owners {
		b.spent.learn(o.state)
	}
	err := b.store.entries(func(e occurrence) {
		o := b.owners[e.Address]
		if o == nil || e.Kind != driver.Opened || e.Slot == 0 || e.Generation == 0 {
			return
		}
		if row, ok := o.state.Slot(e.Slot); ok && row.Desired.OneTimeID != "" && row.Observed.Generation == e.Generation {
			b.spent.add(row.Desired.OneTimeID)
		}
	})
	for address, o := range b.owners {
		if err == nil {
			err = o.recall(b.spent.all())
		}
		if err != nil {
			return fmt.Errorf("lock %s: recall which codes were used: %w", address, err)
		}
	}
	return err
}

// recall stores, before anything is started, that codes in the lock's slots were used.
func (o *owner) recall(used []string) error {
	state := slot.EndUsedCodes(o.state, used)
	changed := changedSlots(o.state, state)
	if len(changed) == 0 {
		return nil
	}
	o.state = state
	return o.bridge.store.writeLock(o.lock.Address(), state, changed, o.saved)
}

// mostSpent bounds how many used codes are remembered beyond the slots that hold them.
const mostSpent = 4096

// spent are the codes for one use that were used at some lock: they open no other any more. The slots' own records are
// what lasts.
type spent struct {
	mu    sync.Mutex
	codes []string // the oldest first
}

func (s *spent) add(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.codes, code) {
		return
	}
	if len(s.codes) == mostSpent {
		s.codes = slices.Delete(s.codes, 0, 1)
	}
	s.codes = append(s.codes, code)
}

// learn takes in what a lock's record says, also of codes that it shall not hold any more: others still may.
func (s *spent) learn(l slot.Lock) {
	for _, row := range l.Slots {
		if row.UsedOneTimeID != "" {
			s.add(row.UsedOneTimeID)
		}
	}
}

// has says whether a code was used; no code was not.
func (s *spent) has(code string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return code != "" && slices.Contains(s.codes, code)
}

// all lists the codes that were used.
func (s *spent) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.codes)
}

// mark has a wish for a code that was used elsewhere say so. It does not change its argument.
func (s *spent) mark(events []slot.Event) []slot.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events = slices.Clone(events)
	for i, ev := range events {
		if code := ev.Desired.OneTimeID; ev.Kind == slot.DesiredChanged && code != "" && slices.Contains(s.codes, code) {
			events[i].OneTimeID = code
		}
	}
	return events
}
