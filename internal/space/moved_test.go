package space_test

import (
	"testing"

	"latchkey.dev/ent/conflict"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/space"
)

// A bed that the PMS moves to another dorm is a conflict, which offers the bed of the same name there. Its mapping, and so its guest's door, changes only
// when a person chooses a cure. Undo opens the conflict again.
func TestMovedBed(t *testing.T) {
	each(t, func(h house) {
		dorm, attic := h.create(space.Draft{Type: space.Dorm, Name: "Dorm"}), h.create(space.Draft{Type: space.Dorm, Name: "Attic"})
		here := h.create(space.Draft{Type: space.Bed, Name: "A", ParentID: dorm.ID})
		there := h.create(space.Draft{Type: space.Bed, Name: "A", ParentID: attic.ID})
		rooms := []space.Listed{listed("d", space.Dorm, "Dorm", ""), listed("e", space.Dorm, "Attic", "")}
		bedIn := func(room string) { h.t.Helper(); h.read(append(rooms, listed("b", space.Bed, "A", room))...) }
		bedIn("")
		h.bind("d", dorm.ID)
		h.bind("e", attic.ID)
		h.bind("b", here.ID)
		bedIn("d") // the mapping learns the room
		same(t, "open", []string(nil), h.open())

		find := func() *space.ConflictRow {
			return h.d.View(h.ctx()).Conflict.Query().Where(conflict.Kind("moved"), conflict.ClosedAtIsNil()).OnlyX(h.ctx())
		}
		mappedTo := func(want string) {
			t.Helper()
			if p, reason := h.resolve(space.Request{ExternalID: "b"}); id(p.Space) != want || reason != "" {
				t.Errorf("the bed resolves to %v, %s, want %s", p.Space, reason, want)
			}
		}
		bedIn("e")
		same(t, "open", []string{"moved b"}, h.open())
		mappedTo(here.ID)
		same(t, "text", "The partner has moved bed “A” from “Dorm” to “Attic”.", space.ConflictText(find(), message.Reader{}))
		same(t, "affected", []string{"rsv_b"}, find().ReservationIds)
		cures, err := space.Cures(h.d.View(h.ctx()), prp, []*space.ConflictRow{find()})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "cures", []space.Cure{{Kind: space.CureMap, SpaceID: there.ID, SpaceName: "Attic · A"}, {Kind: space.CureAccept}, {Kind: space.CureUnmap}}, cures[find().ID])

		apply := func(kind space.CureKind) (changeID string) {
			t.Helper()
			h.write(func(tx *db.Tx) error {
				row := find()
				var err error
				changeID, err = h.m.RecordChange(tx, space.ChangeOf{PropertyID: prp, IntegrationID: itg, Kind: space.AppliedCure, Author: "staff:tok"}, func() error {
					_, err := h.m.ApplyCure(tx, row, space.Cure{Kind: kind})
					return err
				})
				return err
			})
			same(t, "open after "+string(kind), []string(nil), h.open())
			return changeID
		}
		undo := func(changeID string) {
			t.Helper()
			h.write(func(tx *db.Tx) error {
				_, _, err := h.m.Undo(tx, prp, changeID, "staff:tok")
				return err
			})
			same(t, "open after undo", []string{"moved b"}, h.open())
			mappedTo(here.ID)
		}
		kept := apply(space.CureAccept)
		mappedTo(here.ID)
		undo(kept)
		moved := apply(space.CureMap)
		mappedTo(there.ID)
		undo(moved)

		bedIn("d")
		h.read(append(rooms, listed("b", space.Bed, "B", "e"))...)
		same(t, "open after a move with a new name", []string{"renamed b", "moved b"}, h.open())
		h.write(func(tx *db.Tx) error {
			row := h.d.View(h.ctx()).Conflict.Query().Where(conflict.Kind("renamed"), conflict.ClosedAtIsNil()).OnlyX(h.ctx())
			_, err := h.m.ApplyCure(tx, row, space.Cure{Kind: space.CureAccept})
			return err
		})
		same(t, "open after the name was accepted", []string{"moved b"}, h.open())

		h.read(append(rooms, listed("b", space.Bed, "B", "d"))...)
		same(t, "open when the bed is back", []string(nil), h.open())
	})
}
