package reservation_test

import (
	"strings"
	"testing"
	"time"

	entgrant "latchkey.dev/ent/grant"
	entpin "latchkey.dev/ent/pin"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
)

// What is read later agrees with what the change answered: the lock of the new room accepts no PIN, and the PIN of the former room is not
// that of the new one.
func TestImpossiblePINIsReadAsSuch(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.capable("r2", func(c *slot.Capabilities) { c.PINMin, c.PINMax, c.Alphabet = 4, 4, "0" })
		a := h.checkIn("A", "r1", "r1", "g1")
		first := h.pins(a.Row.ID)
		moved := h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		same(t, "plan", doorsOf(moved.Plan), doorsOf(h.plan("A")))
		h.clock.Advance(time.Minute)
		h.checkIn("B", "r1", "r1", "g1") // takes over the former room
		h.verify("r1", "g1")
		shown := h.pins(a.Row.ID)
		if shown.PIN != "" || len(shown.Gates) != 1 || shown.Gates[0].PIN != first.PIN {
			t.Errorf("a room without a PIN shows %+v, and the gate had %q", shown, first.PIN)
		}
		same(t, "reset", []access.Part{access.PartPIN}, h.reset(a.Row.ID, access.PartPIN))
		same(t, "PINs after the reset", shown, h.pins(a.Row.ID))

		h.capable("r2", func(c *slot.Capabilities) { *c = h.caps })
		same(t, "reset once the lock accepts PINs", []access.Part(nil), h.reset(a.Row.ID, access.PartPIN))
		if now := h.pins(a.Row.ID); now.PIN == "" || now.PIN == first.PIN {
			t.Errorf("the room has the PIN %q", now.PIN)
		}
	})
}

// The row of a grant is stored before its PINs, and names its shared PIN, also if none is possible.
func TestGrantNamesItsSharedPIN(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		for _, door := range []string{"r2", "g1"} {
			h.capable(door, func(c *slot.Capabilities) { c.PINMin, c.PINMax, c.Alphabet = 4, 4, "0" })
		}
		for room, has := range map[string]bool{"r1": true, "r2": false, "bare": false} {
			s := h.checkIn("in "+room, room)
			g, err := h.db.View(h.ctx()).Grant.Query().Where(entgrant.PropertyID(h.id), entgrant.ReservationID(s.Row.ID)).Only(h.ctx())
			h.must(err)
			p, err := h.db.View(h.ctx()).Pin.Query().Where(entpin.PropertyID(h.id), entpin.GrantID(g.ID)).All(h.ctx())
			h.must(err)
			if len(p) > 1 || has != (len(p) == 1) || has != (g.PinID != "") || has && p[0].ID != g.PinID {
				t.Errorf("in %s: the grant names the PIN %q, and has %v", room, g.PinID, p)
			}
		}
	})
}

// A lock that a guest only keeps, because the PMS took the room away, refuses a PIN as a duplicate. The next PIN is one that this lock
// accepts.
func TestDuplicateAtAKeptDoor(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.capable("r1", func(c *slot.Capabilities) { c.Alphabet = "56789" })
		h.capable("r2", func(c *slot.Capabilities) { c.Alphabet = "1234" })
		h.checkIn("A", "r1", "r1", "g1")
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: nil})
		first := h.wanted(h.slotsAt("r2")[0])
		h.reportSlots("r2", slot.Failed, slot.Duplicate)
		if next := h.wanted(h.slotsAt("r2")[0]); next == first || strings.Trim(next, "1234") != "" {
			t.Errorf("after the PIN %s the lock gets %q", first, next)
		}
	})
}
