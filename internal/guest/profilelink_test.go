package guest_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/keyring"
)

const bookersAddress = "ana@example.com"

// askProfileLink requests a link, and returns whether one is mailed and why the client must wait.
func (h *fixture) askProfileLink(propertyID, address, client string) (due bool, refused error) {
	h.t.Helper()
	h.write(func(tx *db.Tx) (err error) {
		due, refused, err = guest.RequestProfileLink(tx, h.keys, guest.ProfileRequest{PropertyID: propertyID, Address: address, Client: client})
		return err
	})
	return due, refused
}

// profileLink stores the link of a mail.
func (h *fixture) profileLink(propertyID, address string) (secret string) {
	h.t.Helper()
	l := guest.MailedProfileLink{PropertyID: propertyID, ProfileID: guest.ProfileID(h.keys, propertyID, address), Secret: keyring.NewToken(keyring.GuestLink)}
	for range 2 { // a retried mail
		h.write(func(tx *db.Tx) error { return l.Store(tx, h.keys) })
	}
	return l.Secret
}

func (h *fixture) bindProfile(secret string) (s guest.Session, err error) {
	return s, h.db.Write(h.t.Context(), func(tx *db.Tx) (err error) {
		s, err = guest.BindProfileLink(tx, h.keys, secret)
		return err
	})
}

// A mail goes only to the address of a profile of the same property.
func TestProfileLinkGoesToItsAddress(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.fullStay(access.Confirmed)
		for what, tt := range map[string]struct {
			propertyID, address string
			due                 bool
		}{
			"the booker's address":             {hotel, bookersAddress, true},
			"the same in capitals":             {hotel, "ANA@Example.com", true},
			"another address":                  {hotel, "bo@example.com", false},
			"the address at another property":  {hostel, bookersAddress, false},
			"another address at that property": {hostel, "bo@example.com", false},
		} {
			if due, refused := h.askProfileLink(tt.propertyID, tt.address, "192.0.2.1"); due != tt.due || refused != nil {
				t.Errorf("%s: %t, %v", what, due, refused)
			}
		}
	})
}

// An address gets three mails a day from all clients together. The fourth request answers like the others. A client asks 20 times an hour, for known and
// unknown addresses alike. Both counts are in the database.
func TestProfileLinkLimits(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.fullStay(access.Confirmed)
		for i, want := range []bool{true, true, true, false} {
			if due, refused := h.askProfileLink(hotel, bookersAddress, "192.0.2."+string(rune('1'+i))); due != want || refused != nil {
				t.Errorf("request %d: %t, %v", i+1, due, refused)
			}
		}
		h.clock.Advance(25 * time.Hour)
		if due, _ := h.askProfileLink(hotel, bookersAddress, "192.0.2.1"); !due {
			t.Error("the next day sends none")
		}
		for i := range 20 {
			if _, refused := h.askProfileLink(hotel, "x"+string(rune('a'+i))+"@example.com", "198.51.100.7"); refused != nil {
				t.Fatalf("request %d: %v", i+1, refused)
			}
		}
		for _, address := range []string{bookersAddress, "stranger@example.com"} {
			due, refused := h.askProfileLink(hotel, address, "198.51.100.7")
			if due || !fault.Has(refused, fault.TooManyAttempts) {
				t.Errorf("request 21 for %s: %t, %v", address, due, refused)
			}
		}
		if _, refused := h.askProfileLink(hotel, bookersAddress, "203.0.113.9"); refused != nil {
			t.Errorf("another client: %v", refused)
		}
		h.clock.Advance(61 * time.Minute)
		if _, refused := h.askProfileLink(hotel, bookersAddress, "198.51.100.7"); refused != nil {
			t.Errorf("an hour later: %v", refused)
		}
	})
}

// The clients of one IPv6 site count together, so that a site with many networks does not ask without end.
func TestProfileLinkLimitOfASite(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		refusals := 0
		for i := range 64 {
			client := "2001:db8:7:" + string("0123456789abcdef"[i%16]) + "::/64"
			if _, refused := h.askProfileLink(hotel, "x@example.com", client); refused != nil {
				refusals++
			}
		}
		if refusals != 4 {
			t.Errorf("%d of 64 requests of one site are refused; want 4", refusals)
		}
	})
}

// The link shows without being used up, binds one device for an hour, and opens the profile and no stay. It ends with the profile.
func TestProfileLinkBindsOneDevice(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		_, _, _ = h.fullStay(access.Confirmed)
		secret := h.profileLink(hotel, bookersAddress)
		view := func() *db.Tx { return h.db.View(t.Context()) }
		for range 2 {
			if row, err := guest.FindProfileLink(view(), h.keys, secret); err != nil || len(row.SessionMAC) > 0 {
				t.Fatalf("the link: %v, %v", row, err)
			}
		}
		if _, err := guest.LookUpLink(view(), h.keys, secret); !fault.Has(err, fault.LinkNotFound) {
			t.Errorf("it opens a stay: %v", err)
		}
		s, err := h.bindProfile(secret)
		h.must(err)
		if _, err := h.bindProfile(secret); !fault.Has(err, fault.LinkBound) {
			t.Errorf("a second device: %v", err)
		}
		a := h.authenticate(s.Token)
		if a.ReservationID != "" || a.GuestID != "" || a.ProfileID == "" || a.PropertyID != hotel {
			t.Fatalf("the session acts for %+v", a)
		}
		if answers, _, err := guest.OpenedProfile(view(), h.keys, a); err != nil || answers[rule.FirstName] == "" {
			t.Fatalf("the profile: %v, %v", answers, err)
		}
		if answers, _, err := guest.OpenedProfile(view(), h.keys, actor.Actor{PropertyID: hostel, ProfileID: a.ProfileID}); err != nil || answers != nil {
			t.Errorf("another property reads it: %v, %v", answers, err)
		}
		second := h.profileLink(hotel, bookersAddress)
		h.write(func(tx *db.Tx) error { return guest.DeleteOpenedProfile(tx, a) })
		if h.profiles() != 0 {
			t.Error("the profile is left")
		}
		if _, err := guest.Authenticate(view(), h.keys, s.Token); err == nil {
			t.Error("the session outlives the profile")
		}
		for _, link := range []string{second, h.profileLink(hotel, bookersAddress)} {
			if _, err := guest.FindProfileLink(view(), h.keys, link); !fault.Has(err, fault.LinkNotFound) {
				t.Errorf("a link outlives the profile: %v", err)
			}
		}
	})
}

// A link works for a day, and the session of a bound one for an hour.
func TestProfileLinkExpires(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.fullStay(access.Confirmed)
		unused, used := h.profileLink(hotel, bookersAddress), h.profileLink(hotel, bookersAddress)
		h.clock.Advance(23 * time.Hour)
		s, err := h.bindProfile(used)
		h.must(err)
		h.clock.Advance(59 * time.Minute)
		h.authenticate(s.Token)
		h.clock.Advance(2 * time.Minute)
		if _, err := guest.Authenticate(h.db.View(t.Context()), h.keys, s.Token); !fault.Has(err, fault.InvalidCredentials) {
			t.Errorf("the session after an hour: %v", err)
		}
		if _, err := h.bindProfile(unused); !fault.Has(err, fault.LinkNotFound) {
			t.Errorf("the link after a day: %v", err)
		}
	})
}
