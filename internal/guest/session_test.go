package guest_test

import (
	"slices"
	"testing"

	entphone "latchkey.dev/ent/phone"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/reservation"
)

// A stay has a bounded number of sessions: the oldest ends. Two facts end neither the session of a mailed link nor the session that pressed check-in.
func TestSessionsAreBounded(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva")
		var mailed, found []guest.Session
		for range 12 {
			mailed = append(mailed, h.bind(h.link(id, "", "ana@example.com")))
		}
		atKiosk, refused := h.find(guest.Search{Number: "N-A", FamilyName: "Silva"})
		h.must(refused)
		for i := range 13 {
			got, refused := h.find(guest.Search{Number: "N-A", FamilyName: "Silva", Address: "192.0.2.1"})
			h.must(refused)
			found = append(found, *got.Session)
			if i == 0 {
				h.write(func(tx *db.Tx) error {
					return tx.Stay.Update().Where(entstay.PropertyID(hotel), entstay.ReservationID(id)).SetAttemptSession(found[0].ID).Exec(tx.Context())
				})
			}
		}
		lives := func(s guest.Session) bool {
			_, err := guest.Authenticate(h.db.View(t.Context()), h.keys, s.Token)
			if err != nil && !fault.Has(err, fault.InvalidCredentials) {
				t.Fatal(err)
			}
			return err == nil
		}
		if !lives(*atKiosk.Session) {
			t.Error("searches from afar ended the session of the guest at the kiosk")
		}
		for i, s := range mailed {
			if lives(s) != (i >= 2) {
				t.Errorf("mailed session %d of 12 lives: %t", i, !(i >= 2))
			}
		}
		for i, s := range found {
			if want := i == 0 || i >= 3; lives(s) != want {
				t.Errorf("session %d of 13 by two facts lives: %t", i, !want)
			}
		}
	})
}

// When the PMS changes the booker's address, the SmartKeys of the devices of the former address end with their sessions. A companion's goes on.
func TestFormerAddressLosesTheSmartKey(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva", reservation.Adults, 2)
		former, companion := h.guestOf(id, ""), h.guestOf(id, h.party(id).Members[1].Row.ID)
		h.write(func(tx *db.Tx) error {
			for phone, session := range map[string]string{"phn_former": former.ID, "phn_companion": companion.ID} {
				err := tx.Phone.Create().SetID(phone).SetPropertyID(hotel).SetReservationID(id).SetSession(session).
					SetKey([]byte(phone)).SetKeyID(phone).SetSubject(phone).SetCreatedAt(tx.Now()).Exec(tx.Context())
				if err != nil {
					return err
				}
			}
			return nil
		})
		h.book(hotel, "A", "Silva", reservation.Adults, 2, reservation.Email, "ana@new.example.com")
		revoked, err := h.db.View(t.Context()).Phone.Query().Where(entphone.RevokedAtNotNil()).IDs(t.Context())
		if err != nil || !slices.Equal(revoked, []string{"phn_former"}) {
			t.Errorf("the SmartKeys of %v are revoked, %v", revoked, err)
		}
	})
}
