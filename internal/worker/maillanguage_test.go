package worker

import (
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/pseudo"
)

// A mail is in the language of the guest who gets it. The property's counts until it is known, and for staff.
func TestMailsAreInTheGuestsLanguage(t *testing.T) {
	eachPost(t, func(p *post) {
		write(p.T, p.d, func(tx *db.Tx) error {
			staff, language := "desk@example.com", "fr"
			_, err := property.UpdateCheckInSettings(tx, "prp_one", property.CheckInChange{
				StaffEmail: &staff, Language: &language, Directions: new("Tram 28"), Texts: &map[string]property.LocalTexts{"de": {Directions: "Linie 28"}},
			})
			return err
		})
		stay := p.book("1", "ana@example.com", 10*day, func(patch reservation.Patch) { patch[reservation.Adults] = 2 })
		p.invite()
		order := func(kind mail.Kind, guestID string) {
			m := mail.Mail{PropertyID: "prp_one", Kind: kind, ReservationID: stay, GuestID: guestID}
			switch {
			case guestID != "":
				m.To = "bea@example.com"
			case kind == mail.Staff:
				m.Params = mail.StaffParams(message.Message{Kind: "fix.more"})
			}
			write(p.T, p.d, func(tx *db.Tx) error { _, err := mail.Order(tx, p.keys, p.queue, m); return err })
		}
		companion := ""
		read := func(guestID, language string) {
			write(p.T, p.d, func(tx *db.Tx) error { return guest.SetLanguage(tx, "prp_one", stay, guestID, language) })
		}
		want := func(what, subject string) {
			p.Helper()
			all := p.deliver()
			if text := p.text(all[len(all)-1]); !strings.Contains(text.Subject, subject) {
				p.Errorf("%s: %q, want %q", what, text.Subject, subject)
			}
		}
		want("the first invitation", "Préparez")
		write(p.T, p.d, func(tx *db.Tx) error {
			party, err := guest.LoadParty(tx, p.keys, "prp_one", stay)
			if err != nil {
				return err
			}
			companion = party.Members[1].Row.ID
			main := actor.Actor{Kind: actor.Guest, ID: "gss_1", PropertyID: "prp_one", ReservationID: stay, Origin: guest.OriginMail}
			return guest.InviteCompanion(tx, p.keys, main, companion, "bea@example.com")
		})
		read("", "de-AT")
		order(mail.Link, "")
		want("a new link", "Ihr Link")
		if all := p.deliver(); !strings.Contains(p.text(all[len(all)-1]).Text, "Linie 28") {
			p.Error("the directions are not in the guest's language")
		}
		order(mail.Companion, companion)
		want("a companion's first mail", "Aufenthalt")
		read(companion, "es")
		order(mail.Companion, companion)
		want("a companion who reads Spanish", "estancia")
		order(mail.Link, "")
		want("the main guest after that", "Ihr Link")
		order(mail.Staff, "")
		want("a mail to staff", "client")
	})
}

// A mail in a language that is written from right to left says so, and keeps the direction of what is not.
func TestMailFromRightToLeft(t *testing.T) {
	pseudo.Add(t, pseudo.RightToLeft)
	eachPost(t, func(p *post) {
		stay := p.book("1", "ana@example.com", time.Hour)
		write(p.T, p.d, func(tx *db.Tx) error {
			if _, err := guest.LoadParty(tx, p.keys, "prp_one", stay); err != nil {
				return err
			}
			if err := guest.SetLanguage(tx, "prp_one", stay, "", pseudo.RightToLeft); err != nil {
				return err
			}
			_, err := mail.Order(tx, p.keys, p.queue, mail.Mail{PropertyID: "prp_one", Kind: mail.Link, ReservationID: stay})
			return err
		})
		text := p.text(p.deliver()[0])
		for _, part := range []string{`<html lang="ar-XB" dir="rtl">`, `dir="rtl" role="presentation"`, "\u2068Ana\u2069"} {
			if !strings.Contains(text.HTML, part) {
				p.Errorf("the mail lacks %s", part)
			}
		}
	})
}
