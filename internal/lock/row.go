package lock

import (
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/predicate"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/lock/slot"
)

// free says whether a slot is nobody's any more. Its grant stays named until another takes it.
func free(s *ent.Slot) bool { return !s.Present && s.Evidence == string(slot.Removed) }

// choose picks the slot for a new code: the lowest number that was never used, else the row that has been empty
// longest. 0: there is none. A slot that holds something foreign is left alone.
func choose(rows []*ent.Slot, total int) (number int, row *ent.Slot) {
	used := make(map[int]bool, len(rows))
	for _, s := range rows {
		used[s.Number] = true
		if s.Number > total || !free(s) || s.Foreign {
			continue
		}
		if row == nil || emptySince(s).Before(emptySince(row)) {
			row = s
		}
	}
	for n := 1; n <= total; n++ {
		if !used[n] {
			return n, nil
		}
	}
	if row == nil {
		return 0, nil
	}
	return row.Number, row
}

// vacant counts the slots that choose may pick.
func vacant(rows []*ent.Slot, total int) int {
	n := total
	for _, s := range rows {
		if s.Number <= total && (!free(s) || s.Foreign) {
			n--
		}
	}
	return max(n, 0)
}

func emptySince(s *ent.Slot) time.Time {
	if s.SeenAt != nil {
		return *s.SeenAt
	}
	return s.ChangedAt
}

// serverOf is a row as package slot sees it.
func serverOf(s *ent.Slot, lk *ent.Lock) slot.Server {
	intent := slot.Absent
	if s.Present {
		intent = slot.Present
	}
	grant := s.GrantID
	if free(s) {
		grant = ""
	}
	return slot.Server{
		Desired: slot.Desired{
			Generation: uint64(s.Generation), Intent: intent,
			NotBefore: value(s.NotBefore), NotAfter: value(s.NotAfter), Claimed: s.Inherited,
		},
		Observed:  observedOf(s),
		Grant:     grant,
		Claimant:  s.Claimant,
		Inherited: s.Inherited,
		Foreign:   s.Foreign,
		ReadBack:  lk.Capabilities.ReadBack,
	}
}

func observedOf(s *ent.Slot) slot.Observed {
	return slot.Observed{
		Generation: uint64(s.SeenGeneration), Present: s.SeenPresent,
		Evidence: slot.Evidence(s.SeenEvidence), Result: slot.Result(s.SeenResult), At: value(s.SeenAt),
	}
}

// unchanged matches the row as long as nothing else was wanted of it since it was read.
func unchanged(s *ent.Slot) []predicate.Slot {
	return []predicate.Slot{entslot.ID(s.ID), entslot.PropertyID(s.PropertyID), entslot.Generation(s.Generation)}
}

func value(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
