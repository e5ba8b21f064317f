package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// codeUse is the report of an opening with the code in a slot, on its way to the lock's worker.
type codeUse struct {
	slot  uint32
	entry journalEntry
	done  chan string // channel for the id of the one-time code that the opening used up, or ""
}

// entries returns the journal entry to store with the use. It returns none for the zero codeUse, which is no use of a code.
func (e codeUse) entries() []journalEntry {
	if e.done == nil {
		return nil
	}
	return []journalEntry{e.entry}
}

// reportEndedCode answers the event handler that waits for the use: it sends the id of the one-time code that the opening used up, or "".
// before and after are the lock's states around the use. It does nothing for the zero codeUse.
func (e codeUse) reportEndedCode(before, after slot.Lock) {
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

// onCodeUsed handles the event e that a code, one-time or not, opened the lock of w. The worker journals it and ends a one-time code in the
// same write, so that a power cut leaves both or neither; onCodeUsed waits for that. Then it ends the one-time code on the bridge's other
// locks. If ctx ends before the worker receives the event, onCodeUsed only journals it, and a failure of that is its only error.
func (b *Bridge) onCodeUsed(ctx context.Context, w *lockWorker, e driver.Event) error {
	use := codeUse{slot: e.Slot, entry: b.newEntry(e), done: make(chan string, 1)}
	select {
	case w.uses <- use:
	case <-ctx.Done():
		return b.journalEvent(e)
	}
	code := ""
	select {
	case code = <-use.done:
	case <-ctx.Done(): // the worker stores what it has already received
	}
	if code == "" {
		return nil
	}
	for _, other := range b.workers {
		if other != w {
			other.enqueue(ctx, []slot.Event{{Kind: slot.CodeUsedElsewhere, OneTimeID: code}})
		}
	}
	return nil
}

// loadUsedCodes restores at the start which one-time codes were used, and ends them at all locks. It finds them in the records of slots,
// and in the journal, which may contain a use that arrived while the bridge was stopping.
func (b *Bridge) loadUsedCodes() error {
	for _, w := range b.workers {
		b.usedCodes.addFrom(w.state)
	}
	err := b.store.forEachEntry(func(e journalEntry) {
		w := b.workers[e.Address]
		if w == nil || e.Kind != driver.Opened || e.Slot == 0 || e.Generation == 0 {
			return
		}
		if row, ok := w.state.Slot(e.Slot); ok && row.Desired.OneTimeID != "" && row.Observed.Generation == e.Generation {
			b.usedCodes.add(row.Desired.OneTimeID)
		}
	})
	for address, w := range b.workers {
		if err == nil {
			err = w.applyUsedCodes(b.usedCodes.list())
		}
		if err != nil {
			return fmt.Errorf("lock %s: restore which codes were used: %w", address, err)
		}
	}
	return err
}

// applyUsedCodes ends the codes with the ids in used in the slots of this lock, and stores that. It runs before the worker starts.
func (w *lockWorker) applyUsedCodes(used []string) error {
	state := slot.EndUsedCodes(w.state, used)
	changed := changedSlots(w.state, state)
	if len(changed) == 0 {
		return nil
	}
	w.state = state
	return w.bridge.store.writeLock(w.lock.Address(), state, changed, w.savedOffset)
}

// maxUsedCodes is the maximum number of ids in usedCodes. The records of slots keep theirs even beyond it.
const maxUsedCodes = 4096

// usedCodes are the ids of one-time codes that were used at any lock of the bridge. No other lock may accept them. They are stored with the
// slots.
type usedCodes struct {
	mu    sync.Mutex
	codes []string // ids of one-time codes, oldest first
}

// add adds the id of a used code, if it is not there yet. At maxUsedCodes, it forgets the oldest id.
func (s *usedCodes) add(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.codes, code) {
		return
	}
	if len(s.codes) == maxUsedCodes {
		s.codes = slices.Delete(s.codes, 0, 1)
	}
	s.codes = append(s.codes, code)
}

// addFrom adds the used codes in a lock's record. It includes codes that were removed from the lock, because other locks may still hold
// them.
func (s *usedCodes) addFrom(l slot.Lock) {
	for _, row := range l.Slots {
		if row.UsedOneTimeID != "" {
			s.add(row.UsedOneTimeID)
		}
	}
}

// contains reports whether the code with this id was used. It returns false for "".
func (s *usedCodes) contains(code string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return code != "" && slices.Contains(s.codes, code)
}

// list returns the ids of the used codes, oldest first.
func (s *usedCodes) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.codes)
}

// markUsed returns a copy of events. In it, an event that makes an already used one-time code desired has Event.OneTimeID set, so that
// slot.Step ends the code at once.
func (s *usedCodes) markUsed(events []slot.Event) []slot.Event {
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
