package guest_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/reservation"
)

// Of a canceled stay, only what the cancelation itself ended names the property: links and phones that were in use until then. A link that
// was replaced before, a phone that was removed before, and a tablet do not. Nothing does after the stay would have ended.
func TestWhatACancelationEnded(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		stay := func(state string) string { return h.book(hotel, "A", "Silva", reservation.State, state) }
		id := stay("confirmed")
		session := func(origin string) string {
			var s guest.Session
			h.write(func(tx *db.Tx) (err error) {
				s, err = guest.CreateSession(tx, h.keys, guest.SessionSpec{PropertyID: hotel, ReservationID: id, Origin: origin, TTL: 20 * 24 * time.Hour})
				return err
			})
			return s.Token
		}
		removed := h.bind(h.link(id, "", "ana@example.com"))
		replaced := h.link(id, "", "ana@example.com")
		h.write(func(tx *db.Tx) error {
			if err := guest.RevokeLinks(tx, hotel, id, "", true); err != nil {
				return err
			}
			return guest.EndSessions(tx, hotel, id, removed.ID)
		})
		bound := h.link(id, "", "ana@example.com")
		phone, unbound := h.bind(bound).Token, h.link(id, "", "ana@example.com")
		door, tablet := session(guest.OriginDoor), session("ksk_1")
		other := h.bind(h.link(h.book(hotel, "B", "Silva"), "", "ana@example.com"))

		links := func(what string, want fault.Reason, secrets ...string) {
			t.Helper()
			for _, secret := range secrets {
				if at, err := guest.PropertyOfCanceledLink(h.db.View(t.Context()), h.keys, secret); want != "" && !fault.Has(err, want) || want == "" && (err != nil || at != hotel) {
					t.Errorf("%s: link %.12s is at %q, %v", what, secret, at, err)
				}
			}
		}
		sessions := func(what string, want fault.Reason, tokens ...string) {
			t.Helper()
			for _, token := range tokens {
				if at, err := guest.PropertyOfCanceledStay(h.db.View(t.Context()), h.keys, token); want != "" && !fault.Has(err, want) || want == "" && (err != nil || at != hotel) {
					t.Errorf("%s: session %.12s is at %q, %v", what, token, at, err)
				}
			}
		}
		links("before", fault.LinkNotFound, bound, unbound, replaced)
		sessions("before", fault.StayNotFound, phone, door, tablet)

		h.clock.Advance(time.Minute)
		stay("canceled")
		ended := func(what string) {
			t.Helper()
			links(what, "", bound, unbound)
			sessions(what, "", phone, door)
			links(what, fault.LinkNotFound, replaced, "", "lkl_0", keyring.NewToken(keyring.GuestLink), phone)
			sessions(what, fault.StayNotFound, removed.Token, tablet, other.Token, "", "lks_0", keyring.NewToken(keyring.SessionToken), bound)
		}
		ended("canceled")
		h.write(func(tx *db.Tx) error { return guest.EndLinksAndSessions(tx, hotel, id) })
		ended("evaluated")

		h.clock.Advance(time.Minute)
		stay("confirmed")
		links("reinstated", fault.LinkNotFound, bound, unbound)
		sessions("reinstated", fault.StayNotFound, phone, door)
		h.clock.Advance(time.Minute)
		stay("canceled")
		links("canceled again", fault.LinkNotFound, bound, unbound)
		sessions("canceled again", fault.StayNotFound, phone, door)
	})
}

func TestCanceledStayIsForgotten(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva")
		link := h.link(id, "", "ana@example.com")
		phone := h.bind(link)
		h.book(hotel, "A", "Silva", reservation.State, "canceled")
		h.clock.Advance(phone.ExpiresAt.Sub(h.clock.Now()) - time.Second)
		if _, err := guest.PropertyOfCanceledStay(h.db.View(t.Context()), h.keys, phone.Token); err != nil {
			t.Errorf("before the session would have ended: %v", err)
		}
		h.clock.Advance(time.Second)
		if _, err := guest.PropertyOfCanceledStay(h.db.View(t.Context()), h.keys, phone.Token); !fault.Has(err, fault.StayNotFound) {
			t.Errorf("afterwards: %v", err)
		}
		if _, err := guest.PropertyOfCanceledLink(h.db.View(t.Context()), h.keys, link); !fault.Has(err, fault.LinkNotFound) {
			t.Errorf("the link afterwards: %v", err)
		}
	})
}
