package lock

import (
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/ent/schema"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/lock/slot"
)

// free says whether a slot is nobody's any more. Its grant stays named until another takes it.
func free(s *ent.Slot) bool { return !s.Present && s.Evidence == string(slot.Removed) }

// seat is a slot as choose sees it.
type seat struct {
	id     string
	number int
	free   bool // nobody's, and nothing foreign in it
}

// choose picks the slot for a new code: the lowest number that was never used, else the first that is free, which is the
// one that has been empty longest. 0: there is none. A slot that holds something foreign is left alone.
func choose(longestEmptyFirst []seat, total int) (number int, id string) {
	used := make([]bool, total+1)
	var found seat
	for _, s := range longestEmptyFirst {
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

// serverOf is a row as package slot sees it.
func serverOf(s *ent.Slot, lk *ent.Lock) slot.Server {
	grant := s.GrantID
	if free(s) {
		grant = ""
	}
	return slot.Server{
		Desired: slot.Desired{
			Generation: uint64(s.Generation), Intent: intentOf(s),
			NotBefore: value(s.NotBefore), NotAfter: value(s.NotAfter), Later: laterIn(s), Once: s.Once, Claimed: s.Inherited,
		},
		Observed:  observedOf(s),
		Grant:     grant,
		Claimant:  s.Claimant,
		Inherited: s.Inherited,
		Former:    s.Former,
		Foreign:   s.Foreign,
		ReadBack:  lk.Capabilities.ReadBack,
	}
}

func observedOf(s *ent.Slot) slot.Observed {
	return slot.Observed{
		Generation: uint64(s.SeenGeneration), Present: s.SeenPresent,
		Evidence: slot.Evidence(s.SeenEvidence), Result: slot.Result(s.SeenResult), At: value(s.SeenAt),
		Window: s.SeenWindow, Used: s.SeenUsed, Cleared: s.SeenCleared,
	}
}

// laterOf are windows as they are stored, nil if there are none.
func laterOf(all []slot.Window) []schema.SlotWindow {
	var out []schema.SlotWindow
	for _, w := range all {
		out = append(out, schema.SlotWindow{From: w.From.UTC(), To: w.To.UTC()})
	}
	return out
}

// LaterOf are the windows that follow the first of a slot.
func LaterWindows(s *ent.Slot) []slot.Window {
	out := make([]slot.Window, len(s.Later))
	for i, w := range s.Later {
		out[i] = slot.Window{From: w.From, To: w.To}
	}
	return out
}

func laterIn(s *ent.Slot) slot.Windows { return slot.Pack(LaterWindows(s)...) }

// unchanged matches the row as long as nothing else was wanted of it since it was read.
func unchanged(s *ent.Slot) []predicate.Slot {
	return []predicate.Slot{entslot.ID(s.ID), entslot.PropertyID(s.PropertyID), entslot.Generation(s.Generation)}
}

// value is what a pointer leads to, or the zero value for nil.
func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
