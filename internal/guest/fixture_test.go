package guest_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

var morning = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

const hotel, hostel = "prp_hotel", "prp_hostel"

// fixture is two properties with one integration each.
type fixture struct {
	t     *testing.T
	db    *db.DB
	keys  *keyring.Ring
	clock *clock.Fixed
}

// each runs f on every engine.
func each(t *testing.T, f func(t *testing.T, h *fixture)) {
	t.Helper()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			c := clock.At(morning)
			d := dbtest.Open(t, engine, dbtest.Clock(c))
			h := &fixture{t, d, dbtest.Keys(t, d), c}
			for _, p := range []string{hotel, hostel} {
				h.must(h.keys.EnsureKey(t.Context(), p))
				h.write(func(tx *db.Tx) error {
					if err := tx.Property.Create().SetID(p).SetName(p).SetTimeZone("Europe/Lisbon").Exec(tx.Context()); err != nil {
						return err
					}
					return tx.Integration.Create().SetID("int_" + p).SetPropertyID(p).SetName("PMS").SetScopes(nil).Exec(tx.Context())
				})
			}
			f(t, h)
		})
	}
}

func (h *fixture) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *fixture) write(f func(tx *db.Tx) error) {
	h.t.Helper()
	h.must(h.db.Write(h.t.Context(), f))
}

// refused fails unless a transaction is refused for a reason.
func (h *fixture) refused(want fault.Reason, f func(tx *db.Tx) error) {
	h.t.Helper()
	if err := h.db.Write(h.t.Context(), f); !fault.Has(err, want) {
		h.t.Errorf("got %v; want %s", err, want)
	}
}

// book stores a reservation and returns its id.
func (h *fixture) book(propertyID, pmsID, lastName string, more ...any) string {
	h.t.Helper()
	p := reservation.Patch{
		reservation.PMSID: pmsID, reservation.Number: "N-" + pmsID, reservation.LastName: lastName, reservation.FirstName: "Ana",
		reservation.Email: "ana@example.com", reservation.State: "confirmed",
		reservation.From: "2026-11-21T15:00:00Z", reservation.To: "2026-11-24T11:00:00Z",
	}
	for i := 0; i < len(more); i += 2 {
		p[more[i].(reservation.Field)] = more[i+1]
	}
	var stored reservation.Stored
	h.write(func(tx *db.Tx) (err error) {
		scope := reservation.Scope{PropertyID: propertyID, IntegrationID: "int_" + propertyID}
		stored, err = reservation.Service{Keys: h.keys}.Upsert(tx, scope, p, nil)
		return err
	})
	return stored.Row.ID
}

// link creates a link to the booker's address.
func (h *fixture) link(reservationID, guestID, address string) (secret string) {
	h.t.Helper()
	l := guest.MailedLink{Secret: keyring.NewToken(keyring.GuestLink), GuestID: guestID, Address: address}
	h.write(func(tx *db.Tx) (err error) {
		if l.Stay, err = tx.Reservation.Get(tx.Context(), reservationID); err != nil {
			return err
		}
		return l.Store(tx, h.keys)
	})
	return l.Secret
}

// bind binds a link and returns the session.
func (h *fixture) bind(secret string) (s guest.Session) {
	h.t.Helper()
	h.write(func(tx *db.Tx) (err error) {
		s, err = guest.BindLink(tx, h.keys, secret, "iPhone")
		return err
	})
	return s
}
