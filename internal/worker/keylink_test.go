package worker

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/reservation"
)

// Of the links in mails with a code, only the newest works. A device that opened an earlier one keeps its session.
func TestLinksOfKeyMails(t *testing.T) {
	eachPost(t, func(p *post) {
		t := p.T
		p.room("spc_one", "Room 204")
		p.room("spc_two", "Room 305")
		p.book("1", "ana@example.com", -time.Hour, started("spc_one"))
		p.publish()
		p.clock.Advance(keyPatience)
		if works := p.working(); !slices.Equal(works, []bool{true}) {
			t.Fatalf("links of the first mail: %v", works)
		}
		p.book("1", "ana@example.com", -2*time.Hour, started("spc_two"))
		p.publish()
		p.clock.Advance(keyPatience)
		if works := p.working(); !slices.Equal(works, []bool{false, true}) {
			t.Fatalf("links after the move: %v", works)
		}
		all := p.all()
		write(t, p.d, func(tx *db.Tx) error { _, err := p.mails.Resend(tx, "prp_one", all[0].ID); return err })
		p.clock.Advance(keyPatience)
		p.wantOneLink("of mails with a code")
	})
}

// The booker's new address gets the code of a started stay with a link of its own. The link of the former address ends with its devices.
func TestKeyFollowsTheAddress(t *testing.T) {
	eachPost(t, func(p *post) {
		t := p.T
		p.room("spc_one", "Room 204")
		p.book("1", "ana@example.com", -time.Hour, started("spc_one"))
		p.invite()
		p.publish()
		p.clock.Advance(keyPatience)
		secret := mailedLink.FindStringSubmatch(p.text(p.deliver()[0]).Text)[1]
		var device guest.Session
		write(t, p.d, func(tx *db.Tx) (err error) { device, err = guest.BindLink(tx, p.keys, secret, ""); return err })
		change := func(email string) {
			p.book("1", email, -time.Hour, started("spc_one"))
			p.invite()
			p.publish()
		}
		change("bea@example.com")
		if _, err := guest.Authenticate(p.d.View(t.Context()), p.keys, device.Token); err == nil {
			t.Error("the device of the former address still has a session")
		}
		p.clock.Advance(keyPatience)
		all := p.deliver()
		if len(all) != 2 || all[1].State != string(mail.InBox) || p.text(all[1]).To != "bea@example.com" {
			t.Fatalf("%d mails after the change", len(all))
		}
		if works := p.working(); !slices.Equal(works, []bool{false, true}) {
			t.Errorf("links after the change: %v", works)
		}
		change("bea@example.com")
		change("x.1@guest.booking.com")
		if all := p.deliver(); len(all) != 2 {
			t.Errorf("%d mails after the relay address of an agency, want 2", len(all))
		}
		if works := p.working(); !slices.Equal(works, []bool{false, false}) {
			t.Errorf("links without an address: %v", works)
		}
	})
}

// A second device gets a new link at the address to which the first one went, also if the guest gave it and not the PMS.
func TestRenewLinkOfAGivenAddress(t *testing.T) {
	eachPost(t, func(p *post) {
		t := p.T
		p.room("spc_one", "Room 204")
		stay := p.book("1", "", -time.Hour, func(patch reservation.Patch) { patch[reservation.OwnSpaceID] = "spc_one" })
		var byDesk guest.Session
		write(t, p.d, func(tx *db.Tx) (err error) {
			if _, err = guest.LoadParty(tx, p.keys, "prp_one", stay); err != nil {
				return err
			}
			byDesk, err = guest.CreateSession(tx, p.keys, guest.SessionSpec{PropertyID: "prp_one", ReservationID: stay, Origin: guest.OriginMail, TTL: time.Hour})
			return err
		})
		give := func(address string) {
			a, err := guest.Authenticate(p.d.View(t.Context()), p.keys, byDesk.Token)
			if err != nil {
				t.Fatal(err)
			}
			write(t, p.d, func(tx *db.Tx) error { return guest.SetMailAddress(tx, p.keys, a, address) })
		}
		give("ana@example.com")
		p.book("1", "", -time.Hour, started("spc_one"))
		p.publish()
		p.clock.Advance(keyPatience)
		secret := mailedLink.FindStringSubmatch(p.text(p.deliver()[0]).Text)[1]
		renew := func() (r *guest.Renewal) {
			write(t, p.d, func(tx *db.Tx) (err error) { r, err = guest.RenewLink(tx, p.keys, secret); return err })
			return r
		}
		r := renew()
		if r == nil || r.Address != "ana@example.com" {
			t.Fatalf("renewed: %+v", r)
		}
		write(t, p.d, func(tx *db.Tx) error {
			_, err := p.mails.OrderLink(tx, mail.LinkOrder{PropertyID: "prp_one", ReservationID: stay, Address: r.Address, Occasion: r.LinkID})
			return err
		})
		p.deliver()
		p.wantOneLink("after a second device asked")
		p.book("1", "", -time.Hour, started("spc_one"), func(patch reservation.Patch) { patch[reservation.State] = "processed" })
		secret = mailedLink.FindStringSubmatch(p.text(p.all()[1]).Text)[1]
		if r = renew(); r == nil {
			t.Fatal("a guest who has left gets no new link")
		}
		write(t, p.d, func(tx *db.Tx) error {
			_, err := p.mails.OrderLink(tx, mail.LinkOrder{PropertyID: "prp_one", ReservationID: stay, Address: r.Address, Occasion: r.LinkID})
			return err
		})
		if all := p.deliver(); len(all) != 3 || all[2].State != string(mail.InBox) {
			t.Errorf("%d mails after a guest who has left asked", len(all))
		}
		give("bea@example.com")
		if works := p.working(); !slices.Equal(works, []bool{false, false, false}) {
			t.Errorf("links at an address that the guest replaced: %v", works)
		}
		if !keyring.IsToken(secret, keyring.GuestLink) || renew() != nil {
			t.Error("a link at a replaced address was renewed")
		}
	})
}
