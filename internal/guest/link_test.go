package guest_test

import (
	"sync"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/reservation"
)

func TestLinkBindsOneDevice(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva")
		secret := h.link(id, "", "ana@example.com")
		for range 2 { // a mail scanner opens the link
			l, err := guest.LookUpLink(h.db.View(t.Context()), h.keys, secret)
			if err != nil || l.Row.BoundAt != nil || l.Reservation.ID != id {
				t.Fatalf("look up: %+v, %v", l, err)
			}
		}
		s := h.bind(secret)
		a, err := guest.Authenticate(h.db.View(t.Context()), h.keys, s.Token)
		if err != nil || a.PropertyID != hotel || a.ReservationID != id || a.Origin != guest.OriginMail || a.GuestID != "" {
			t.Fatalf("the session is %+v, %v", a, err)
		}
		if want := time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC); !s.ExpiresAt.Equal(want) {
			t.Errorf("the session ends %s; want %s", s.ExpiresAt, want)
		}
		h.refused(fault.LinkBound, func(tx *db.Tx) error { _, err := guest.BindLink(tx, h.keys, secret, ""); return err })
		if l, err := guest.LookUpLink(h.db.View(t.Context()), h.keys, secret); err != nil || l.Row.BoundAt == nil {
			t.Errorf("a bound link: %+v, %v", l, err)
		}
	})
}

// The device that bound a link keeps it: with its session, and not with one of another stay, of a companion, of a QR code, or that has ended.
func TestLinkIsHeldByItsDevice(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, other := h.book(hotel, "A", "Silva"), h.book(hotel, "B", "Meyer")
		secret := h.link(id, "", "ana@example.com")
		s, stranger := h.bind(secret), h.bind(h.link(other, "", "ben@example.com"))
		door, err := h.find(guest.Search{Number: "N-A", FamilyName: "Silva", Address: "192.0.2.1"})
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			tokens []string
			want   bool
		}{
			"its session":          {[]string{stranger.Token, "junk", s.Token}, true},
			"of another stay":      {[]string{stranger.Token}, false},
			"of a QR code":         {[]string{door.Session.Token}, false},
			"a device without any": {nil, false},
		} {
			l, err := guest.LookUpLink(h.db.View(t.Context()), h.keys, secret)
			if err != nil {
				t.Fatal(err)
			}
			if held, err := l.IsCoveredBy(h.db.View(t.Context()), h.keys, c.tokens); err != nil || held != c.want {
				t.Errorf("%s: %v, %v", name, held, err)
			}
		}
		h.write(func(tx *db.Tx) error { return guest.EndSessions(tx, hotel, id, s.ID) })
		l, err := guest.LookUpLink(h.db.View(t.Context()), h.keys, secret)
		if held, e := l.IsCoveredBy(h.db.View(t.Context()), h.keys, []string{s.Token}); err != nil || e != nil || held {
			t.Errorf("after the session has ended: %v, %v, %v", held, err, e)
		}
	})
}

func TestRaceOfTwoDevices(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		secret := h.link(h.book(hotel, "A", "Silva"), "", "ana@example.com")
		results := make([]error, 4)
		var all sync.WaitGroup
		for i := range results {
			all.Go(func() {
				results[i] = h.db.Write(t.Context(), func(tx *db.Tx) error { _, err := guest.BindLink(tx, h.keys, secret, ""); return err })
			})
		}
		all.Wait()
		bound := 0
		for _, err := range results {
			if err == nil {
				bound++
			} else if !fault.Has(err, fault.LinkBound) {
				t.Errorf("got %v", err)
			}
		}
		if bound != 1 {
			t.Errorf("%d devices were bound", bound)
		}
	})
}

func TestLinksThatEnded(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva")
		revoked, canceled := h.link(id, "", "ana@example.com"), h.link(h.book(hotel, "B", "Silva"), "", "ana@example.com")
		h.write(func(tx *db.Tx) error { return guest.RevokeLinks(tx, hotel, id, "", true) })
		session := h.bind(canceled)
		other := h.link(h.book(hotel, "B", "Silva"), "", "ana@example.com")
		h.book(hotel, "B", "Silva", reservation.State, "canceled")
		live := h.link(id, "", "ana@example.com")
		for _, secret := range []string{"", "lkl_0", keyring.NewToken(keyring.GuestLink), keyring.NewToken(keyring.SessionToken), revoked, canceled, other} {
			if _, err := guest.LookUpLink(h.db.View(t.Context()), h.keys, secret); !fault.Has(err, fault.LinkNotFound) {
				t.Errorf("%.8s: got %v", secret, err)
			}
			h.refused(fault.LinkNotFound, func(tx *db.Tx) error { _, err := guest.BindLink(tx, h.keys, secret, ""); return err })
		}
		if _, err := guest.Authenticate(h.db.View(t.Context()), h.keys, session.Token); !fault.Has(err, fault.InvalidCredentials) {
			t.Errorf("the session of a canceled stay: %v", err)
		}
		h.clock.Advance(11*24*time.Hour + 2*time.Hour) // seven days after the stay
		if _, err := guest.LookUpLink(h.db.View(t.Context()), h.keys, live); !fault.Has(err, fault.LinkNotFound) {
			t.Errorf("an expired link: %v", err)
		}
	})
}

// The change of the booker's address ends the links and the devices of the former address at once, and nothing else.
func TestFormerAddressEndsWithTheChange(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva")
		unbound, given, bound := h.link(id, "", "ana@example.com"), h.link(id, "", "given@example.com"), h.link(id, "", "Ana@example.com")
		session := h.bind(bound)
		other := h.link(h.book(hotel, "B", "Silva"), "", "ana@example.com")
		h.book(hotel, "A", "Souza", reservation.Email, "ANA@example.com") // the same address
		if _, err := guest.LookUpLink(h.db.View(t.Context()), h.keys, unbound); err != nil {
			t.Errorf("another name ended the link: %v", err)
		}
		h.book(hotel, "A", "Souza", reservation.Email, "eve@example.com")
		for _, secret := range []string{unbound, bound} {
			h.refused(fault.LinkNotFound, func(tx *db.Tx) error { _, err := guest.BindLink(tx, h.keys, secret, ""); return err })
		}
		if _, err := guest.Authenticate(h.db.View(t.Context()), h.keys, session.Token); !fault.Has(err, fault.InvalidCredentials) {
			t.Errorf("the device of the former address: %v", err)
		}
		for _, secret := range []string{given, other} {
			if _, err := guest.LookUpLink(h.db.View(t.Context()), h.keys, secret); err != nil {
				t.Errorf("a link that went elsewhere: %v", err)
			}
		}
	})
}

// A new link goes only to the address of the old one, and only while that is the guest's address.
func TestRenewLink(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		secret := h.link(h.book(hotel, "A", "Silva"), "", "Ana@example.com")
		renew := func() (r *guest.Renewal) {
			h.write(func(tx *db.Tx) (err error) { r, err = guest.RenewLink(tx, h.keys, secret); return err })
			return r
		}
		h.book(hotel, "A", "Silva", reservation.Email, "eve@example.com")
		if r := renew(); r != nil {
			t.Errorf("the changed address gets a link: %+v", r)
		}
		secret = h.link(h.book(hotel, "A", "Silva"), "", "Ana@example.com") // the former link ended with the address
		h.bind(secret)
		if r := renew(); r == nil || r.Address != "ana@example.com" || r.PropertyID != hotel {
			t.Errorf("renewed: %+v", r)
		}
		if r := renew(); r != nil {
			t.Errorf("a link was renewed twice: %+v", r)
		}
	})
}
