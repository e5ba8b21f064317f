package access

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// mostRedraws bounds how often a stay draws anew for locks that call each PIN a duplicate.
const mostRedraws = 5

// prepare has a PIN ready for every door: a lock that refused one as a duplicate gets another. A stay without a door that
// can be opened gets none.
func (w *work) prepare(doors []Door, held []occupied) (err error) {
	if w.fresh {
		w.codes = newCodes(w.tx, w.keys, w.grant, w.rules.PINLength)
	} else if w.codes, err = codesOf(w.tx, w.keys, w.grant, w.rules.PINLength); err != nil {
		return err
	}
	if err := w.redraw(held); err != nil {
		return err
	}
	if err := w.codes.cover(doors); err != nil {
		return err
	}
	id := ""
	if w.codes.all != nil {
		id = w.codes.all.ID
	}
	if err := w.store(id); err != nil || !w.codes.drew && !w.drew {
		return err
	}
	return event.Append(w.tx, event.Event{
		PropertyID: w.property, Subject: w.reservation, Kind: event.PINGenerated,
		Body: map[string]any{"reservationId": w.reservation, "pinId": id},
	})
}

// redraw retires a PIN that a lock refused as a duplicate: it is final for that PIN there, and trying again is no use.
func (w *work) redraw(held []occupied) error {
	if w.grant.Redraws >= mostRedraws {
		return nil
	}
	for _, h := range held {
		p := w.codes.at(h.DoorID)
		if !h.Present || p == nil || h.PIN != p.ID || h.Evidence != slot.Failed || h.Result != string(slot.Duplicate) {
			continue
		}
		if err := w.codes.retire(p); err != nil {
			return err
		}
		w.moved = true
		g, err := w.tx.Grant.UpdateOne(w.grant).AddRedraws(1).Save(w.ctx())
		if err != nil {
			return fmt.Errorf("count a redraw: %w", err)
		}
		w.grant = g
		return nil
	}
	return nil
}

// take carries the steps out and gives the codes as they are then. A lock without a free slot is no error: the plan says
// so and staff are told.
func (w *work) take(steps []Step, doors []Door, held []occupied) ([]occupied, error) {
	for _, s := range steps {
		var err error
		switch s.Verb {
		case Put:
			held, err = w.put(door(doors, s.DoorID), held)
		case Change:
			err = w.alter(s.DoorID, find(held, s.SlotID))
		case Clear:
			err = w.clear(find(held, s.SlotID))
		}
		if err != nil && !errors.Is(err, lock.ErrSlotsFull) {
			return nil, err
		}
	}
	return held, w.offer()
}

// offer gives places that were free at once, because their codes had never left for the lock, to who waits for them: of such
// a place nothing is heard.
func (w *work) offer() error {
	freed := w.freed
	w.freed = nil
	for _, lockID := range slices.Sorted(maps.Keys(freed)) {
		err := Settler{Tx: w.tx, Keys: w.keys}.waiting(SlotChange{PropertyID: w.property, LockID: lockID}, freed[lockID])
		if err != nil {
			return err
		}
	}
	return nil
}

func door(doors []Door, id string) Door {
	for _, d := range doors {
		if d.ID == id {
			return d
		}
	}
	return Door{}
}

// code is what a slot for a door shall hold; false: no PIN is possible there.
func (w *work) code(doorID string) (lock.DesiredCode, bool, error) {
	p := w.codes.at(doorID)
	if p == nil {
		return lock.DesiredCode{}, false, nil
	}
	plain, err := w.codes.code(p)
	return lock.DesiredCode{
		GrantID: w.grant.ID, DoorID: doorID, StaySpaceID: w.spaceID(), PIN: plain, PINID: p.ID,
		NotBefore: w.right.Window.From, NotAfter: w.right.Window.To,
		LaterWindows: w.right.Later.All(), OneTimeID: w.once,
	}, true, err
}

func (w *work) put(d Door, held []occupied) ([]occupied, error) {
	p, ok, err := w.code(d.ID)
	if err != nil || !ok {
		return held, err
	}
	row, err := lock.AssignSlot(w.tx, w.keys, w.locks[d.ID], p)
	if err != nil {
		return held, err
	}
	w.acted = true
	return append(held, occupy(row, d.Lock.ReadBack)), nil
}

func (w *work) alter(doorID string, h *occupied) error {
	p, ok, err := w.code(doorID)
	if err != nil {
		return err
	}
	if !ok {
		return w.clear(h)
	}
	lk, err := w.lockOf(h.Held)
	if err != nil {
		return err
	}
	row, err := lock.UpdateSlot(w.tx, w.keys, lk, h.row, p)
	if err != nil {
		return err
	}
	w.acted = true
	h.becomes(row)
	return nil
}

func (w *work) clear(h *occupied) error {
	if !h.Present {
		return nil
	}
	lk, err := w.lockOf(h.Held)
	if err != nil {
		return err
	}
	row, err := lock.ClearSlot(w.tx, lk, h.row)
	if err != nil {
		return err
	}
	w.acted = true
	h.becomes(row)
	if h.Evidence == slot.Removed {
		if w.freed == nil {
			w.freed = map[string]int{}
		}
		w.freed[h.LockID]++
	}
	return nil
}
