package guest_test

import (
	"testing"
	"time"

	entevent "latchkey.dev/ent/event"
	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/test/dbtest"
)

// addPhone stores a named phone of the main guest, or of a companion.
func (h *fixture) addPhone(id, reservationID, guestID string) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error {
		return tx.Phone.Create().SetID(id).SetPropertyID(hotel).SetReservationID(reservationID).SetGuestID(guestID).SetLabel([]byte("sealed")).
			SetKey([]byte(id)).SetKeyID(id).SetSubject(id).SetCreatedAt(tx.Now()).Exec(tx.Context())
	})
}

// isNamed reports whether a phone has a name.
func (h *fixture) isNamed(phoneID string) bool {
	h.t.Helper()
	return len(h.db.View(h.t.Context()).Phone.GetX(h.t.Context(), phoneID).Label) > 0
}

// Staff gave a guest a link after an erasure, and the phone joined with a name. The next erasure reaches that name too.
func TestErasureOfAnErasedStay(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, main, _ := h.fullStay(access.Confirmed)
		if !h.erase(h.requestErasure(main)) {
			t.Fatal("the first erasure is not done")
		}
		h.addPhone("phn_later", id, "")
		var again guest.Erasure
		h.write(func(tx *db.Tx) (err error) {
			again, err = guest.RequestErasureFor(tx, h.keys, hotel, id, "", "Ada")
			return err
		})
		if !h.erase(again) {
			t.Fatal("the second erasure is not done")
		}
		if h.isNamed("phn_later") {
			t.Error("the name of the phone is kept")
		}
	})
}

// A lock may hold a code of the stay longer than the guest's data are kept. Staff keep the notice that they must act.
func TestErasureKeepsNoticesAboutCodesOnLocks(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, main, _ := h.fullStay(access.Confirmed)
		for name, values := range map[string]dbtest.Values{
			"ntc_open":     {"kind": "formerCode", "once_key": "grt_1/formerCode"},
			"ntc_resolved": {"kind": "formerCode"},
			"ntc_help":     {"kind": "checkInHelp"},
			"ntc_unread":   {"kind": "messageUnread", "once_key": "gst_1/messageUnread"},
		} {
			values["id"], values["property_id"], values["subject"] = name, hotel, id
			dbtest.Insert(t, h.db, "notices", values)
		}
		if !h.erase(h.requestErasure(main)) {
			t.Fatal("it is not done")
		}
		if left := h.db.View(t.Context()).Notice.Query().IDsX(t.Context()); len(left) != 1 || left[0] != "ntc_open" {
			t.Errorf("the notices %v are left, want only the open one about a code on a lock", left)
		}
	})
}

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

// The list of erasures shows all, also if the answers of one stay cannot be read. Staff look there when an erasure is late.
func TestErasuresAreListedWithUnreadableAnswers(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		broken, _, _ := h.fullStay(access.Confirmed)
		whole := h.book(hotel, "B", "Meyer")
		for _, id := range []string{broken, whole} {
			h.write(func(tx *db.Tx) error {
				_, err := guest.RequestErasureFor(tx, h.keys, hotel, id, "", "Ada")
				return err
			})
		}
		h.write(func(tx *db.Tx) error {
			return tx.Guest.Update().Where(entguest.PropertyID(hotel), entguest.ReservationID(broken)).SetPerson([]byte("broken")).Exec(tx.Context())
		})
		list, err := guest.ListErasures(h.db.View(t.Context()), h.keys, hotel, guest.ErasurePage{Limit: 10})
		if h.must(err); len(list) != 2 {
			t.Fatalf("%d erasures are listed", len(list))
		}
		for _, e := range list {
			if !e.DueAt.Equal(morning.Add(24*time.Hour)) || e.Zone == nil {
				t.Errorf("%s is due at %s", e.Row.ReservationID, e.DueAt)
			}
		}
	})
}
