package worker

import (
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

// sharedStay is a stay whose main guest passed a link on to a companion.
type sharedStay struct {
	*post
	id, bo          string
	main, companion actor.Actor
}

// eachSharedStay runs f on each database, in Spain, where the form of each adult asks for an address.
func eachSharedStay(t *testing.T, f func(s *sharedStay)) {
	eachPost(t, func(p *post) {
		s := &sharedStay{post: p, id: p.book("1", "ana@example.com", time.Hour, func(patch reservation.Patch) { patch[reservation.Adults] = 2 })}
		s.main = actor.Actor{Kind: actor.Guest, ID: "gss_main", PropertyID: "prp_one", ReservationID: s.id, Origin: guest.OriginMail}
		write(p.T, p.d, func(tx *db.Tx) error {
			law := "ES"
			if _, err := property.UpdateCheckInSettings(tx, "prp_one", property.CheckInChange{Rule: &law}); err != nil {
				return err
			}
			party, err := guest.LoadParty(tx, p.keys, "prp_one", s.id)
			if err != nil {
				return err
			}
			s.bo = party.Members[1].Row.ID
			l, err := guest.CreateCompanionLink(tx, p.keys, s.main, s.bo)
			if err != nil {
				return err
			}
			own, err := guest.BindLink(tx, p.keys, l.Secret, "")
			s.companion = actor.Actor{Kind: actor.Guest, ID: own.ID, PropertyID: "prp_one", ReservationID: s.id, GuestID: s.bo, Origin: guest.OriginMail}
			return err
		})
		f(s)
	})
}

// give answers the question for the companion's contact.
func (s *sharedStay) give(a actor.Actor, email string) {
	s.Helper()
	write(s.T, s.d, func(tx *db.Tx) error {
		_, err := guest.SaveStep(tx, s.keys, a, s.bo, rule.ContactStep, map[string]string{"email": email, "mobile": "+34 600 000 000"})
		return err
	})
}

// writeToCompanion sends the companion a message of the property, and sweeps when it is unread for long enough.
func (s *sharedStay) writeToCompanion() {
	s.Helper()
	write(s.T, s.d, func(tx *db.Tx) error {
		k := conversation.Key{PropertyID: "prp_one", ReservationID: s.id, GuestID: s.bo}
		_, err := conversation.Send(tx, s.keys, conversation.Message{Key: k, Sender: conversation.Property, Text: "Your towel is at the desk."})
		return err
	})
	s.clock.Advance(unreadAfter + time.Second)
	if err := s.mails.Unread().Run(s.Context(), s.d); err != nil {
		s.Fatal(err)
	}
}

// wantSent delivers the mails, and fails the test unless these were sent, and so many canceled.
func (s *sharedStay) wantSent(what string, canceled int, want ...string) {
	s.Helper()
	sent, gone := []string{}, 0
	for _, row := range s.deliver() {
		switch mail.State(row.State) {
		case mail.InBox:
			sent = append(sent, row.Kind+" "+s.text(row).To)
		case mail.Canceled:
			gone++
		default:
			s.Errorf("%s: a mail is %s", what, row.State)
		}
	}
	if strings.Join(sent, ", ") != strings.Join(want, ", ") || gone != canceled {
		s.Errorf("%s: sent %v and canceled %d, want %v and %d", what, sent, gone, want, canceled)
	}
}

// wantLink checks the state of the latest mail with a link to the companion.
func (s *sharedStay) wantLink(want mail.State) {
	s.Helper()
	if states, err := mail.LatestLinks(s.d.View(s.Context()), "prp_one", s.id); err != nil || states[s.bo] != want {
		s.Errorf("the latest link is %q (%v), want %q", states[s.bo], err, want)
	}
}

// A companion whose link was passed on is mailed at the address that the companion gave, and at none that the main guest typed.
func TestUnreadMessagesOfACompanion(t *testing.T) {
	eachSharedStay(t, func(s *sharedStay) {
		s.writeToCompanion()
		s.wantSent("without an address", 0)
		s.give(s.main, "typed@example.com")
		s.writeToCompanion()
		s.wantSent("the main guest typed an address", 0)
		s.give(s.companion, "bo@exmaple.com")
		s.writeToCompanion()
		s.wantSent("the companion gave an address", 0, "message bo@exmaple.com")
		text := s.text(s.all()[0]).Text
		if strings.Contains(text, "towel") {
			s.Error("the mail has the message: " + text)
		}
		_, secret, ok := strings.Cut(text, "https://stay.example/g/l/")
		secret, _, _ = strings.Cut(secret, "\n")
		l, err := guest.LookUpLink(s.d.View(s.Context()), s.keys, strings.TrimSpace(secret))
		if !ok || err != nil || l.Row.GuestID != s.bo {
			s.Errorf("the link of the mail is not the companion's: %v, %s", err, text)
		}
		s.writeToCompanion()
		s.give(s.companion, "bo@example.com")
		s.wantSent("the address was replaced before the mail was sent", 1, "message bo@exmaple.com")
		s.writeToCompanion()
		s.wantSent("the companion gave another address", 1, "message bo@exmaple.com", "message bo@example.com")
		s.give(s.companion, "")
		s.writeToCompanion()
		s.wantSent("the companion removed the address", 1, "message bo@exmaple.com", "message bo@example.com")
	})
}

// A link that was revoked ends the mails to the address that was given with it, and a companion who was removed gets no mail that waits.
func TestMailsToACompanionEndWithTheLink(t *testing.T) {
	eachSharedStay(t, func(s *sharedStay) {
		s.give(s.companion, "bo@example.com")
		s.writeToCompanion()
		write(s.T, s.d, func(tx *db.Tx) error { return guest.RevokeLinks(tx, "prp_one", s.id, s.bo, false) })
		s.writeToCompanion()
		if n := len(s.all()); n != 1 {
			s.Errorf("%d mails, want the one of before the link was revoked", n)
		}
		write(s.T, s.d, func(tx *db.Tx) error { return guest.RemoveCompanion(tx, s.keys, s.main, s.bo) })
		s.wantSent("the companion was removed", 1)
	})
}

// The removal of a companion erases the address of all mails to the companion, and cancels those that were not sent. They still count as invitations.
func TestRemovedCompanionLeavesNoAddress(t *testing.T) {
	eachSharedStay(t, func(s *sharedStay) {
		s.give(s.companion, "bo@example.com")
		s.writeToCompanion()
		s.wantSent("before the removal", 0, "message bo@example.com")
		write(s.T, s.d, func(tx *db.Tx) error {
			_, err := s.mails.OrderLink(tx, mail.LinkOrder{PropertyID: "prp_one", ReservationID: s.id, GuestID: s.bo, Renews: true, Address: "bo@example.com", Occasion: "lost"})
			return err
		})
		s.book("1", "ana@example.com", time.Hour)
		s.invite() // the booker's mail stays
		write(s.T, s.d, func(tx *db.Tx) error { return guest.RemoveCompanion(tx, s.keys, s.main, s.bo) })
		rows := s.all()
		if len(rows) != 3 {
			s.Fatalf("%d mails", len(rows))
		}
		for _, row := range rows {
			ofBo := row.GuestID == s.bo
			if ofBo != (row.State == string(mail.Canceled)) || ofBo && len(row.Address)+len(row.AddressMAC)+len(row.Reply)+len(row.Text) > 0 {
				s.Errorf("the mail %s to guest %q is %s, and has %d bytes of an address", row.Kind, row.GuestID, row.State, len(row.Address))
			}
			err := s.d.Write(s.Context(), func(tx *db.Tx) error { _, err := s.mails.Resend(tx, "prp_one", row.ID); return err })
			if (err != nil) != ofBo {
				s.Errorf("the mail %s to guest %q is sent again: %v", row.Kind, row.GuestID, err)
			}
		}
	})
}

// A companion who has left gets a new link in place of a lost one, until links end.
func TestNewLinkOfACompanion(t *testing.T) {
	eachSharedStay(t, func(s *sharedStay) {
		renew := func(occasion string) {
			write(s.T, s.d, func(tx *db.Tx) error {
				_, err := s.mails.OrderLink(tx, mail.LinkOrder{
					PropertyID: "prp_one", ReservationID: s.id, GuestID: s.bo, Renews: true, Address: "bo@example.com", Occasion: occasion,
				})
				return err
			})
		}
		s.give(s.companion, "bo@example.com")
		s.book("1", "ana@example.com", time.Hour, func(patch reservation.Patch) {
			patch[reservation.Adults], patch[reservation.State] = 2, "processed"
		})
		s.clock.Advance(3 * day)
		renew("first")
		s.wantLink(mail.Waiting)
		s.wantSent("a day after the stay", 0, "link bo@example.com")
		s.wantLink(mail.InBox)
		s.clock.Advance(7 * day)
		renew("second")
		s.wantSent("a week later", 1, "link bo@example.com")
	})
}

// The erasure of a companion's data is confirmed at the address that the companion gave, and at none that the main guest typed.
func TestErasureOfACompanionIsConfirmed(t *testing.T) {
	for name, c := range map[string]struct {
		by   func(*sharedStay) actor.Actor
		want []string
	}{
		"given by the companion":  {func(s *sharedStay) actor.Actor { return s.companion }, []string{"erasure bo@example.com"}},
		"typed by the main guest": {func(s *sharedStay) actor.Actor { return s.main }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			eachSharedStay(t, func(s *sharedStay) {
				s.give(c.by(s), "bo@example.com")
				write(s.T, s.d, func(tx *db.Tx) error {
					_, err := guest.RequestErasureFor(tx, s.keys, "prp_one", s.id, s.bo, "Ada")
					return err
				})
				if err := s.sweepErasures(); err != nil {
					s.Fatal(err)
				}
				s.wantSent(name, 0, c.want...)
			})
		})
	}
}
