package guest_test

import (
	"slices"
	"testing"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/reservation"
)

// passOn makes the link of a companion that the main guest passes on, and returns its secret.
func (h *fixture) passOn(main actor.Actor, guestID string) (secret string) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error {
		l, err := guest.CreateCompanionLink(tx, h.keys, main, guestID)
		secret = l.Secret
		return err
	})
	return secret
}

// companionAddress returns the address to which the mails of a companion go.
func (h *fixture) companionAddress(guestID string) string {
	h.t.Helper()
	row, err := guest.Get(h.db.View(h.t.Context()), hotel, guestID)
	h.must(err)
	address, err := guest.CompanionAddress(h.db.View(h.t.Context()), h.keys, row)
	h.must(err)
	return address
}

// A companion whose link was passed on is mailed at the address that the companion gave with that link, and at no other.
func TestCompanionAddress(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("ES")
		id := h.book(hotel, "A", "Silva", reservation.Adults, 2)
		bo := h.party(id).Members[1].Row.ID
		main := h.guestOf(id, "")
		want := func(what, want string) {
			t.Helper()
			if got := h.companionAddress(bo); got != want {
				t.Errorf("%s: mails go to %q, want %q", what, got, want)
			}
		}
		contact := func(a actor.Actor, email string) error {
			return h.save(a, bo, rule.ContactStep, "email", email, "mobile", "+34 600 000 000")
		}

		h.must(contact(main, "typed@example.com"))
		want("the main guest typed an address", "")
		companion := h.authenticate(h.bind(h.passOn(main, bo)).Token)
		want("the companion opened the link", "")
		h.must(contact(companion, "Typed@example.com")) // the page shows what the main guest typed
		want("the companion left what the main guest typed", "")
		h.must(contact(companion, "bo@example.com"))
		want("the companion gave an address", "bo@example.com")
		h.isRefused("the main guest", h.save(main, bo, rule.ContactStep, "email", "typed@example.com"), fault.NotYourAnswer)
		want("the main guest cannot change it", "bo@example.com")
		h.must(h.save(companion, bo, rule.NameStep, "firstName", "Bo", "lastName", "Berg"))
		want("the companion answered something else", "bo@example.com")
		h.must(contact(companion, "bo.berg@example.com"))
		want("the companion replaced the address", "bo.berg@example.com")
		h.must(contact(companion, ""))
		want("the companion removed the address", "")

		h.must(contact(companion, "bo@example.com"))
		h.write(func(tx *db.Tx) error { return guest.RevokeLinks(tx, hotel, id, bo, false) })
		want("the link was revoked", "")
	})
}

// Who got a link that was replaced by one for another address, or by one that is passed on, is no longer the companion.
func TestAReplacedLinkEndsItsDevices(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("ES")
		id := h.book(hotel, "A", "Silva", reservation.Adults, 2)
		bo := h.party(id).Members[1].Row.ID
		main := h.guestOf(id, "")
		invite := func(address string) {
			h.write(func(tx *db.Tx) error { return guest.InviteCompanion(tx, h.keys, main, bo, address) })
		}
		isActive := func(what string, a actor.Actor, want bool) {
			t.Helper()
			if active, err := guest.IsSessionActive(h.db.View(t.Context()), hotel, a.ID); err != nil || active != want {
				t.Errorf("%s: active %t, %v", what, active, err)
			}
		}
		stranger := h.authenticate(h.bind(h.passOn(main, bo)).Token)
		second := h.authenticate(h.bind(h.passOn(main, bo)).Token)
		isActive("the device of a link that was passed on again", stranger, false)
		invite("bo@exmaple.com")
		isActive("the device of a link that was passed on", second, false)
		mistyped := h.guestOf(id, bo)
		invite("bo@example.com")
		isActive("the device of a mistyped address", mistyped, false)
		companion := h.guestOf(id, bo)
		invite("Bo@example.com")
		isActive("the device of the same address", companion, true)
		isActive("the main guest's device", main, true)
	})
}

// The links that were mailed to an address end when the companion replaces the address, and so do the devices that they brought in.
func TestCompanionReplacesAddress(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("ES")
		id := h.book(hotel, "A", "Silva", reservation.Adults, 2)
		bo := h.party(id).Members[1].Row.ID
		main := h.guestOf(id, "")
		companion := h.authenticate(h.bind(h.passOn(main, bo)).Token)
		h.must(h.save(companion, bo, rule.ContactStep, "email", "bo@exmaple.com", "mobile", "+34 600 000 000"))
		opened := h.authenticate(h.bind(h.link(id, bo, "bo@exmaple.com")).Token)
		unopened := h.link(id, bo, "bo@exmaple.com")
		lost := h.link(id, bo, "bo@exmaple.com")
		var renewed *guest.Renewal
		h.write(func(tx *db.Tx) (err error) { renewed, err = guest.RenewLink(tx, h.keys, lost); return err })
		if renewed == nil || renewed.Address != "bo@exmaple.com" || renewed.GuestID != bo {
			t.Errorf("a link that was mailed to the companion's address is renewed to %+v", renewed)
		}

		h.must(h.save(companion, bo, rule.ContactStep, "email", "bo@example.com", "mobile", "+34 600 000 000"))
		if _, err := guest.LookUpLink(h.db.View(t.Context()), h.keys, unopened); !fault.Has(err, fault.LinkNotFound) {
			t.Errorf("the link of the former address: %v", err)
		}
		for what, of := range map[string]struct {
			actor.Actor
			active bool
		}{"the device of the former address": {opened, false}, "the companion's": {companion, true}, "the main guest's": {main, true}} {
			if active, err := guest.IsSessionActive(h.db.View(t.Context()), hotel, of.ID); err != nil || active != of.active {
				t.Errorf("%s: active %t, %v", what, active, err)
			}
		}
		var present []string
		var err error
		present, err = guest.CompanionAddresses(h.db.View(t.Context()), h.keys, hotel, bo)
		h.must(err)
		if !slices.Equal(present, []string{"bo@example.com"}) {
			t.Errorf("the companion's addresses are %v", present)
		}
	})
}

// A device that a replaced address brought in ends also if its link was renewed and the new link is not mailed yet.
func TestCompanionReplacesAddressAfterRenewal(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("ES")
		id := h.book(hotel, "A", "Silva", reservation.Adults, 2)
		bo := h.party(id).Members[1].Row.ID
		companion := h.authenticate(h.bind(h.passOn(h.guestOf(id, ""), bo)).Token)
		h.must(h.save(companion, bo, rule.ContactStep, "email", "bo@exmaple.com", "mobile", "+34 600 000 000"))
		mailed := h.link(id, bo, "bo@exmaple.com")
		stranger := h.authenticate(h.bind(mailed).Token)
		h.write(func(tx *db.Tx) error { _, err := guest.RenewLink(tx, h.keys, mailed); return err })
		h.must(h.save(companion, bo, rule.ContactStep, "email", "bo@example.com", "mobile", "+34 600 000 000"))
		if active, err := guest.IsSessionActive(h.db.View(t.Context()), hotel, stranger.ID); err != nil || active {
			t.Errorf("the device of the former address: active %t, %v", active, err)
		}
	})
}
