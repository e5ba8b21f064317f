package reservation_test

import (
	"strings"
	"testing"

	entgrant "latchkey.dev/ent/grant"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
)

// keysOf returns the SmartKey evidence of each door of a plan.
func keysOf(p access.Plan) []string {
	var out []string
	for _, d := range p.Doors {
		out = append(out, d.Name+" "+string(d.SmartKey))
	}
	return out
}

// opens lists the doors that SmartKeys of a stay may open, and the generation of these.
func (h *testProperty) opens(rsv string) (doors []string, generation int64) {
	h.t.Helper()
	tx := h.db.View(h.ctx())
	g := tx.Grant.Query().Where(entgrant.ReservationID(rsv), entgrant.EndedAtIsNil()).OnlyX(h.ctx())
	all, err := access.AccessibleDoors(tx, g)
	h.must(err)
	for _, o := range all {
		doors = append(doors, o.Name)
		if o.Row.ID != h.at("lck-"+o.Name) || o.Lock == nil || o.Lock.ID != o.Row.ID {
			h.t.Errorf("the lock of %s: %+v", o.Name, o)
		}
	}
	return doors, int64(g.KeyGeneration)
}

// A stay whose room is unknown keeps its doors until it has one, for SmartKeys as for PINs.
func TestStayWithoutAPlaceKeepsItsSmartKeys(t *testing.T) {
	for what, lose := range map[string]func(h *testProperty){
		"an unknown room": func(h *testProperty) {
			h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: "P-nowhere"})
		},
		"a mapping that is gone": func(h *testProperty) {
			h.settings(func(tx *db.Tx) error {
				_, err := tx.Mapping.Delete().Exec(tx.Context())
				return err
			})
			h.replan(space.AffectedStays{All: true})
		},
	} {
		t.Run(strings.ReplaceAll(what, " ", "_"), func(t *testing.T) {
			each(t, func(t *testing.T, h *testProperty) {
				for _, door := range []string{"r1", "r2", "g1"} {
					h.capable(door, func(c *slot.Capabilities) { c.RemoteUnlock = true })
				}
				rsv := h.checkIn("A", "r1", "r1", "g1").Row.ID
				_, before := h.opens(rsv)
				lose(h)
				same(t, "doors", []string{"g1 verified movingOut", "r1 verified movingOut"}, doorsOf(h.plan("A")))
				same(t, "SmartKeys", []string{"g1 planned", "r1 planned"}, keysOf(h.plan("A")))
				doors, after := h.opens(rsv)
				same(t, "opens", []string{"g1", "r1"}, doors)
				same(t, "generation", before, after)

				h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: nil, reservation.OwnSpaceID: h.at("r2")})
				doors, after = h.opens(rsv)
				same(t, "opens", []string{"r2", "g1"}, doors)
				same(t, "generation", before+1, after)
				same(t, "SmartKeys", []string{"r2 planned", "g1 planned", "r1 removed"}, keysOf(h.plan("A")))
			})
		})
	}
}
