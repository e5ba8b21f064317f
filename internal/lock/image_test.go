package lock_test

import (
	"maps"
	"testing"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/lock/slot"
)

// A bridge that was started from an older image of its store does not trust what the image says of a slot that has changed since.
func TestBridgeOfAnOlderImageAndServerAgreeAgain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(s *site, lk *ent.Lock) // the guest before, of whom the image knows
		lost   func(s *site, lk *ent.Lock) // while the card is broken
		want   map[uint32]slot.PIN
	}{
		{name: "the code of the next guest, who has left", before: func(s *site, lk *ent.Lock) { s.clear(lk, s.slots()[0]) },
			lost: func(s *site, lk *ent.Lock) { s.clear(lk, s.slots()[0]) }, want: map[uint32]slot.PIN{}},
		{name: "the code of the next guest", before: func(s *site, lk *ent.Lock) { s.clear(lk, s.slots()[0]) },
			want: map[uint32]slot.PIN{1: "222222"}},
		{name: "another code of the next guest", before: func(s *site, lk *ent.Lock) { s.clear(lk, s.slots()[0]) },
			lost: func(s *site, lk *ent.Lock) { s.mustUpdate(lk, s.slots()[0], "grt_b", "333333") }, want: map[uint32]slot.PIN{1: "333333"}},
		{name: "the former PIN again",
			lost: func(s *site, lk *ent.Lock) { s.mustUpdate(lk, s.slots()[0], "grt_b", "111111") }, want: map[uint32]slot.PIN{1: "111111"}},
	} {
		for _, readable := range []slot.Readable{slot.ReadableMasked, slot.ReadableNone} {
			t.Run(tt.name+" "+string(readable), func(t *testing.T) {
				each(t, func(t *testing.T, s *site) {
					s.caps.OpLifetime, s.caps.Slots = time.Second, 1
					s.caps.Readable, s.caps.ReadBack = readable, readable != slot.ReadableNone
					b := &smallBridge{site: s, record: slot.Lock{Caps: s.caps}, onLock: map[uint32]slot.PIN{}}
					lk := s.door()
					s.mustPut(lk, "grt_a", "111111")
					b.sync()
					if tt.before != nil {
						tt.before(s, lk)
						b.sync()
					}
					image := b.record
					s.clear(lk, s.slots()[0])
					b.sync()
					s.mustPut(lk, "grt_b", "222222")
					b.sync()
					if tt.lost != nil {
						tt.lost(s, lk)
					}
					b.record = image
					b.step(slot.Event{Kind: slot.Restarted})
					b.sync()
					row := s.slots()[0]
					if !maps.Equal(b.onLock, tt.want) || row.Foreign || row.Present != (len(tt.want) > 0) {
						t.Errorf("the lock holds %v, want %v; present %v, foreign %v", pins(b.onLock), pins(tt.want), row.Present, row.Foreign)
					}
					if e := slot.Evidence(row.Evidence); row.Present != e.ConfirmedByLock() || !row.Present && e != slot.Removed {
						t.Errorf("evidence %s of a slot with a code: %v", e, row.Present)
					}
				})
			})
		}
	}
}
