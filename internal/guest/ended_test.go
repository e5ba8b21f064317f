package guest_test

import (
	"testing"
	"time"

	entproperty "latchkey.dev/ent/property"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/reservation"
)

// Of a canceled stay, links that were in use until then name the property. A link that was replaced before does not. A phone that was removed
// before was not ended by the cancelation. Nothing does after the stay would have ended.
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
		sessions := func(what string, want guest.Ending, tokens ...string) {
			t.Helper()
			for _, token := range tokens {
				at, by, err := guest.PropertyOfEndedSession(h.db.View(t.Context()), h.keys, token)
				if by != want || want == "" && !fault.Has(err, fault.StayNotFound) || want != "" && (err != nil || at != hotel) {
					t.Errorf("%s: session %.12s was ended by %q at %q, %v; want %q", what, token, by, at, err, want)
				}
			}
		}
		links("before", fault.LinkNotFound, bound, unbound, replaced)
		sessions("before", "", phone, door, tablet)
		sessions("before", guest.EndedByRevocation, removed.Token)

		h.clock.Advance(time.Minute)
		stay("canceled")
		ended := func(what string) {
			t.Helper()
			links(what, "", bound, unbound)
			sessions(what, guest.EndedByCancelation, phone, door, tablet)
			sessions(what, guest.EndedByRevocation, removed.Token)
			links(what, fault.LinkNotFound, replaced, "", "lkl_0", keyring.NewToken(keyring.GuestLink), phone)
			sessions(what, "", other.Token, "", "lks_0", keyring.NewToken(keyring.SessionToken), bound)
		}
		ended("canceled")
		h.write(func(tx *db.Tx) error { return guest.EndLinksAndSessions(tx, hotel, id) })
		ended("evaluated")

		h.clock.Advance(time.Minute)
		stay("confirmed")
		links("reinstated", fault.LinkNotFound, bound, unbound)
		sessions("reinstated", guest.EndedByRevocation, phone, door, removed.Token)
		h.clock.Advance(time.Minute)
		stay("canceled")
		links("canceled again", fault.LinkNotFound, bound, unbound)
		sessions("canceled again", guest.EndedByRevocation, phone, door)
	})
}

func TestCanceledStayIsForgotten(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva")
		link := h.link(id, "", "ana@example.com")
		phone := h.bind(link)
		h.book(hotel, "A", "Silva", reservation.State, "canceled")
		h.clock.Advance(phone.ExpiresAt.Sub(h.clock.Now()) - time.Second)
		if _, _, err := guest.PropertyOfEndedSession(h.db.View(t.Context()), h.keys, phone.Token); err != nil {
			t.Errorf("before the session would have ended: %v", err)
		}
		h.clock.Advance(time.Second)
		if _, _, err := guest.PropertyOfEndedSession(h.db.View(t.Context()), h.keys, phone.Token); !fault.Has(err, fault.StayNotFound) {
			t.Errorf("afterwards: %v", err)
		}
		if _, err := guest.PropertyOfCanceledLink(h.db.View(t.Context()), h.keys, link); !fault.Has(err, fault.LinkNotFound) {
			t.Errorf("the link afterwards: %v", err)
		}
	})
}

// A stay that the PMS has started ends with the late check-out, also if the PMS says nothing more.
func TestStayingEndsWithTheLateCheckOut(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.write(func(tx *db.Tx) error {
			return tx.Property.Update().Where(entproperty.ID(hotel)).SetLateOutMinutes(90).Exec(tx.Context())
		})
		p := h.party(h.book(hotel, "A", "Silva", reservation.State, string(access.Started)))
		end := p.Reservation.ToAt.Add(90 * time.Minute)
		for at, want := range map[time.Time]bool{p.Reservation.ToAt: true, end.Add(-time.Nanosecond): true, end: false, end.Add(time.Hour): false} {
			if got := p.IsStaying(at); got != want {
				t.Errorf("at %s: %v", at, got)
			}
		}
		other := h.party(h.book(hotel, "B", "Meyer"))
		if other.IsStaying(other.Reservation.FromAt.Add(time.Hour)) {
			t.Error("a guest whom the PMS has not checked in is staying")
		}
	})
}
