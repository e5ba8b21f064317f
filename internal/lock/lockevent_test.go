package lock_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// opens has the bridge tell that the code of a generation opened a door, and returns whose access it was.
func (s *site) opens(sequence int64, row *ent.Slot, address string, generation int64) (learned []lock.EvidenceChange, grant any) {
	s.t.Helper()
	s.change(func(tx *db.Tx) (err error) {
		_, learned, err = lock.StoreEvents(tx, s.bridge.ID, s.epoch, []lock.LockEvent{
			{Sequence: sequence, Address: address, Kind: "opened", Slot: row.Number, Generation: generation, OccurredAt: s.clock.Now()},
		})
		return err
	})
	all := s.events("door.opened")
	return learned, all[len(all)-1].Body["grantId"]
}

// A bridge that was offline reports openings after the hours of the code have changed, after the code was taken back, or after
// its slot was given to another grant. The opening belongs to the grant whose code was typed.
func TestALateOpeningBelongsToTheGrantOfItsGeneration(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.caps.Slots = 1
		lk := s.door()
		row := s.mustPut(lk, "cod_a", "123456")
		first := row.Generation
		s.change(func(tx *db.Tx) (err error) {
			p := s.placeOf("cod_a", "123456")
			p.NotAfter = p.NotAfter.Add(time.Hour)
			row, err = lock.UpdateSlot(tx, s.keys, lk, row, p)
			return err
		})
		learned, grant := s.opens(1, row, "front", first)
		if grant != "cod_a" || len(learned) != 1 || !learned[0].AtThisLock || !learned[0].UsedAt.Equal(s.clock.Now()) {
			t.Errorf("with the hours of before: of %v, learned %+v", grant, learned)
		}
		if now := s.row(row.ID); now.Evidence != string(slot.Queued) || now.UsedAt != nil {
			t.Errorf("what is on its way is %s, used %v", now.Evidence, now.UsedAt)
		}
		row = s.clear(lk, s.row(row.ID))
		if _, grant := s.opens(2, row, "front", first); grant != "cod_a" {
			t.Errorf("before it was taken back: of %v", grant)
		}
		if now := s.row(row.ID); now.Evidence != string(slot.Removing) || now.UsedAt == nil {
			t.Errorf("what is taken back is %s, used %v", now.Evidence, now.UsedAt)
		}
		s.report(row, slot.Verified)
		next := s.mustPut(lk, "cod_b", "654321")
		if next.ID != row.ID {
			t.Fatal("the lock has one slot")
		}
		for n, generation := range []int64{first, row.Generation} {
			learned, grant := s.opens(int64(3+n), row, "front", generation)
			if grant != "cod_a" || len(learned) != 1 || learned[0].Slot.GrantID != "cod_a" || learned[0].Before != learned[0].After {
				t.Errorf("generation %d, reported after the slot was given away: of %v, learned %+v", generation, grant, learned)
			}
		}
		if now := s.row(row.ID); now.Evidence != string(slot.Queued) || now.UsedAt != nil {
			t.Errorf("the code of the next is %s, used %v", now.Evidence, now.UsedAt)
		}
		if learned, grant := s.opens(5, row, "front", next.Generation+1); grant != nil || len(learned) != 0 {
			t.Errorf("a generation that was never drawn: of %v, learned %+v", grant, learned)
		}
		if _, grant := s.opens(9, row, "front", next.Generation); grant != "cod_b" {
			t.Errorf("its own: of %v", grant)
		}
	})
}

// A slot passes from grant to grant. Each generation belongs to the grant that had the slot at it, for as long as that is kept.
func TestEachGenerationBelongsToItsGrant(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.caps.Slots = 1
		lk := s.door()
		var row *ent.Slot
		at := map[string]int64{}
		var first int64
		for _, grant := range []string{"gra_a", "gra_b", "gra_a", "gra_c"} {
			s.clock.Advance(time.Hour)
			row = s.mustPut(lk, grant, "123456")
			at[grant] = row.Generation
			first = cmp.Or(first, row.Generation)
			if grant == "gra_c" {
				break
			}
			row = s.clear(lk, row)
			s.report(row, slot.Verified)
		}
		for n, tt := range []struct {
			generation int64
			want       any
		}{{first, "gra_a"}, {first + 1, "gra_a"}, {at["gra_b"], "gra_b"}, {at["gra_b"] + 1, "gra_b"}, {at["gra_a"], "gra_a"}, {at["gra_c"], "gra_c"}} {
			if _, grant := s.opens(int64(1+n), row, "front", tt.generation); grant != tt.want {
				t.Errorf("generation %d: of %v, want %v", tt.generation, grant, tt.want)
			}
		}
		s.clock.Advance(time.Hour)
		s.change(func(tx *db.Tx) error {
			return event.Append(tx, event.Event{PropertyID: s.propertyID, Subject: event.InternalSubject(row.ID), Kind: event.SlotReassigned,
				Body: map[string]any{"lockId": lk.ID, "doorId": "spc_1", "grantId": "gra_c", "since": row.Generation, "until": row.Generation}})
		})
		if _, grant := s.opens(19, row, "front", first); grant != "gra_a" {
			t.Errorf("before it is forgotten: of %v", grant)
		}
		s.change(func(tx *db.Tx) error {
			_, err := event.Forget(tx, tx.Now(), 0, 1000)
			return err
		})
		if learned, grant := s.opens(20, row, "front", first); grant != nil || len(learned) != 0 {
			t.Errorf("after it was forgotten: of %v, learned %+v", grant, learned)
		}
	})
}

// The bridge removes a one-time code from all of its locks at once, and reports them in any order.
func TestAOneTimeCodeIsUsedAtOneDoor(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		open := s.connect("front", "back")
		at := map[string]*ent.Slot{}
		for _, l := range open.Locks {
			lk, err := lock.Get(s.db.View(t.Context()), s.propertyID, l.ID)
			s.must(err)
			s.change(func(tx *db.Tx) (err error) {
				p := s.placeOf("cod_a", "123456")
				p.OneTimeID = "cod_a"
				at[l.Address], err = lock.AssignSlot(tx, s.keys, lk, p)
				return err
			})
		}
		used := s.clock.Now()
		s.clock.Advance(time.Minute)
		for _, address := range []string{"back", "front"} {
			s.change(func(tx *db.Tx) error {
				learned, err := lock.ApplyObservations(tx, s.keys, s.bridge.ID, s.epoch, address, []lock.Observation{{Number: 1, Observed: slot.Observed{
					Generation: uint64(at[address].Generation), Evidence: slot.Verified, Used: true, At: used,
				}}})
				if err == nil && (len(learned) != 1 || !learned[0].UsedAt.Equal(used) || learned[0].AtThisLock) {
					t.Errorf("%s: learned %+v", address, learned)
				}
				return err
			})
		}
		if learned, _ := s.opens(1, at["front"], "front", at["front"].Generation); len(learned) != 1 || !learned[0].AtThisLock {
			t.Errorf("the opening: learned %+v", learned)
		}
		if s.row(at["front"].ID).UsedAt == nil || s.row(at["back"].ID).UsedAt != nil {
			t.Errorf("used at the front %v, at the back %v", s.row(at["front"].ID).UsedAt, s.row(at["back"].ID).UsedAt)
		}
	})
}

// A lock moves from one door to another. What its bridge reports later is of the door that it was on then. If its clock is not
// known to be right, what was typed is of the door that the code was for.
func TestEventsNameTheDoorOfTheirTime(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		for _, door := range []string{"spc_1", "spc_2"} {
			s.change(func(tx *db.Tx) error {
				return tx.Space.Create().SetID(door).SetPropertyID(s.propertyID).SetName(door).SetType("Room").SetIsPrivate(true).Exec(tx.Context())
			})
		}
		lk := s.door()
		hangs := func(minute int, door string) {
			s.clock.Set(start.Add(time.Duration(minute) * time.Minute))
			s.change(func(tx *db.Tx) error {
				_, err := lock.AssignDoor(tx, s.propertyID, lk.ID, door)
				return err
			})
		}
		hangs(10, "spc_1")
		row := s.mustPut(lk, "cod_a", "123456")
		code := row.Generation
		hangs(20, "")
		row = s.clear(lk, row)
		hangs(30, "spc_2")
		s.clock.Set(start.Add(40 * time.Minute))
		for n, tt := range []struct {
			name       string
			minute     int
			generation int64
			quality    string
			want       any
		}{
			{"before it was on any door", 5, 0, "", nil},
			{"on the first", 15, 0, "", "spc_1"},
			{"on none", 25, 0, "", nil},
			{"on the second", 35, 0, "", "spc_2"},
			{"a code for the first", 15, code, "synchronized", "spc_1"},
			{"a code for the first, on none", 25, code, "synchronized", "spc_1"},
			{"a code for the first, on the second", 35, code, "synchronized", "spc_2"},
			{"by a clock that is ahead", 35, code, "untrusted", "spc_1"},
			{"by a clock that was not compared", 35, code, "", "spc_1"},
		} {
			s.change(func(tx *db.Tx) error {
				h := lock.LockEvent{Sequence: int64(1 + n), Address: "front", Kind: "opened", OccurredAt: start.Add(time.Duration(tt.minute) * time.Minute), ClockQuality: tt.quality}
				if tt.generation > 0 {
					h.Slot, h.Generation = row.Number, tt.generation
				}
				_, _, err := lock.StoreEvents(tx, s.bridge.ID, s.epoch, []lock.LockEvent{h})
				return err
			})
			all := s.events("door.opened")
			if got := all[len(all)-1].Body["doorId"]; got != tt.want {
				t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
			}
		}
		pausedAt := start.Add(15 * time.Minute)
		s.change(func(tx *db.Tx) error {
			_, _, err := lock.StoreEvents(tx, s.bridge.ID, s.epoch, []lock.LockEvent{{
				Sequence: 100, Address: "front", Kind: "keypadPaused", OccurredAt: pausedAt, Until: pausedAt.Add(time.Minute),
			}})
			return err
		})
		if got := s.events("lock.keypadPaused")[0].Body["doorId"]; got != "spc_1" {
			t.Errorf("a keypad pause on the first: %v", got)
		}
	})
}

// The record of a move is deleted with other old events: the door of before it is unknown then.
func TestTheDoorOfBeforeAForgottenMoveIsUnknown(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		for _, door := range []string{"spc_1", "spc_2"} {
			s.change(func(tx *db.Tx) error {
				return tx.Space.Create().SetID(door).SetPropertyID(s.propertyID).SetName(door).SetType("Room").SetIsPrivate(true).Exec(tx.Context())
			})
		}
		lk := s.door()
		for _, door := range []string{"spc_1", "", "spc_2"} {
			s.clock.Advance(time.Hour)
			s.change(func(tx *db.Tx) error {
				_, err := lock.AssignDoor(tx, s.propertyID, lk.ID, door)
				return err
			})
		}
		s.clock.Advance(time.Hour)
		s.change(func(tx *db.Tx) error {
			if err := event.Append(tx, event.Event{PropertyID: s.propertyID, Subject: event.InternalSubject(lk.ID), Kind: event.LockOnline}); err != nil {
				return err
			}
			_, err := event.Forget(tx, tx.Now(), 0, 1000)
			return err
		})
		s.change(func(tx *db.Tx) error {
			_, _, err := lock.StoreEvents(tx, s.bridge.ID, s.epoch, []lock.LockEvent{
				{Sequence: 1, Address: "front", Kind: "opened", OccurredAt: start.Add(90 * time.Minute), ClockQuality: "synchronized"},
				{Sequence: 2, Address: "front", Kind: "opened", OccurredAt: start.Add(210 * time.Minute), ClockQuality: "synchronized"},
			})
			return err
		})
		opened := s.events("door.opened")
		if door, ok := opened[0].Body["doorId"]; ok {
			t.Errorf("the opening before the move is recorded at %v, want no door", door)
		}
		if got := opened[1].Body["doorId"]; got != "spc_2" {
			t.Errorf("the opening after the move is recorded at %v, want spc_2", got)
		}
	})
}

// A late report finds its grant among many later ones.
func TestAnOpeningOfAGrantManyGrantsAgo(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.caps.Slots = 1
		lk := s.door()
		row := s.mustPut(lk, "gra_now", "123456")
		s.change(func(tx *db.Tx) error {
			for n := range 100 {
				err := event.Append(tx, event.Event{PropertyID: s.propertyID, Subject: event.InternalSubject(row.ID), Kind: event.SlotReassigned,
					Body: map[string]any{"lockId": lk.ID, "doorId": "spc_1", "grantId": fmt.Sprintf("gra_%d", n), "since": 10 * n, "until": 10*n + 5}})
				if err != nil {
					return err
				}
			}
			return tx.Slot.UpdateOneID(row.ID).SetSince(2000).SetGeneration(2000).Exec(tx.Context())
		})
		for n, tt := range []struct {
			generation int64
			want       any
		}{{2000, "gra_now"}, {990, "gra_99"}, {505, "gra_50"}, {506, nil}, {3, "gra_0"}, {1500, nil}} {
			if _, grant := s.opens(int64(1+n), row, "front", tt.generation); grant != tt.want {
				t.Errorf("generation %d: of %v, want %v", tt.generation, grant, tt.want)
			}
		}
	})
}
