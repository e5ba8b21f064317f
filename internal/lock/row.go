package lock

import (
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/ent/schema"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock/slot"
)

// hasNoGrant reports whether a slot has no grant. It may hold a foreign code. The row keeps the id of the former grant
// until another grant gets the slot.
func hasNoGrant(s *ent.Slot) bool { return !s.Present && s.Evidence == string(slot.Removed) }

// HasGrant matches the slots where a code of Latchkey is desired, or may still be on the lock.
func HasGrant() predicate.Slot {
	return entslot.Or(entslot.Present(true), entslot.EvidenceNEQ(string(slot.Removed)))
}

// slotUse is a slot that ever had a code, with what the choice of a slot for a new code needs.
type slotUse struct {
	id     string
	number int
	free   bool // free means that the slot has neither a grant nor a foreign credential
}

// chooseSlot returns the number and the row id of the slot for a new code: the lowest number up to total that was
// never used, which has no row, else the free slot that has been empty longest. It returns 0 if there is none.
func chooseSlot(leastRecentFirst []slotUse, total int) (number int, id string) {
	used := make([]bool, total+1)
	var found slotUse
	for _, s := range leastRecentFirst {
		if s.number < 1 || s.number > total {
			continue
		}
		used[s.number] = true
		if s.free && found.number == 0 {
			found = s
		}
	}
	for n := 1; n <= total; n++ {
		if !used[n] {
			return n, ""
		}
	}
	return found.number, found.id
}

// serverSlotOf converts the row of a slot into the state that package slot computes with, without the PIN.
func serverSlotOf(s *ent.Slot, lk *ent.Lock) slot.ServerSlot {
	grant := s.GrantID
	if hasNoGrant(s) {
		grant = ""
	}
	return slot.ServerSlot{
		Desired: slot.Desired{
			Generation: uint64(s.Generation), Intent: intentOf(s),
			NotBefore: db.OrZero(s.NotBefore), NotAfter: db.OrZero(s.NotAfter), LaterWindows: packedLaterWindows(s), OneTimeID: s.Once, MayHoldOwn: s.Inherited,
		},
		Observed:       observedOf(s),
		Grant:          grant,
		SentTo:         s.Claimant,
		SentToOther:    s.Inherited,
		OlderMayRemain: s.Former,
		Foreign:        s.Foreign,
		ReadBack:       lk.Capabilities.ReadBack,
	}
}

// observedOf returns the last report about a slot from its row.
func observedOf(s *ent.Slot) slot.Observed {
	return slot.Observed{
		Generation: uint64(s.SeenGeneration), Present: s.SeenPresent,
		Evidence: slot.Evidence(s.SeenEvidence), Result: slot.Result(s.SeenResult), At: db.OrZero(s.SeenAt),
		Window: s.SeenWindow, Used: s.SeenUsed, Cleared: s.SeenCleared,
	}
}

// storedWindows converts windows for their column. It returns nil, which is stored as NULL, if there are none.
func storedWindows(all []slot.Window) []schema.SlotWindow {
	var out []schema.SlotWindow
	for _, w := range all {
		out = append(out, schema.SlotWindow{From: w.From.UTC(), To: w.To.UTC()})
	}
	return out
}

// LaterWindows returns the windows of a slot after the first.
func LaterWindows(s *ent.Slot) []slot.Window {
	out := make([]slot.Window, len(s.Later))
	for i, w := range s.Later {
		out[i] = slot.Window{From: w.From, To: w.To}
	}
	return out
}

// packedLaterWindows returns [LaterWindows] in the packed form of package slot.
func packedLaterWindows(s *ent.Slot) slot.Windows { return slot.PackWindows(LaterWindows(s)...) }

// ifUnchanged is a compare-and-swap condition: it matches the slot's row only if its generation is unchanged since it
// was loaded.
func ifUnchanged(s *ent.Slot) []predicate.Slot {
	return []predicate.Slot{entslot.ID(s.ID), entslot.PropertyID(s.PropertyID), entslot.Generation(s.Generation)}
}

// optionalTime returns a time for a nullable column: nil if it is zero.
func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
