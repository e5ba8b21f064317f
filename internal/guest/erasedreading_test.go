package guest_test

import (
	"testing"

	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/guest"
)

// A partner that reads the guests of an erased stay, and a late change, bring nothing of it back: no stay, and no completed form.
func TestReadingAnErasedStayStoresNothing(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, main, _ := h.fullStay(access.Confirmed)
		h.erase(h.requestErasure(main))
		h.write(func(tx *db.Tx) error {
			read, err := guest.ReadGuests(tx, h.keys, hotel, id, "int_"+hotel)
			if len(read) != 0 {
				t.Errorf("the partner reads %d guests", len(read))
			}
			return err
		})
		p := h.party(id)
		h.write(func(tx *db.Tx) error { return p.RecordCompletion(tx) })
		events := h.db.View(t.Context()).Event.Query().Where(entevent.Subject(id), entevent.Kind(string(event.PreCheckInCompleted))).CountX(t.Context())
		if h.count("stays", id) != 0 || events != 0 {
			t.Errorf("%d stays and %d events of an erased stay", h.count("stays", id), events)
		}
	})
}
