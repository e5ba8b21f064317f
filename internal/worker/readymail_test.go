package worker

import (
	"strings"
	"testing"
	"time"

	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/reservation"
)

// A guest of whom the PMS has no address, and who typed one at a kiosk, is mailed that the room is ready. The person may be a stranger who
// knows a number and a name, so the mail has no link, no name and no data of the stay. The PMS's address comes first.
func TestRoomReadyAtATypedAddress(t *testing.T) {
	for name, c := range map[string]struct {
		booked, want string
		plain        bool
	}{
		"no address from the PMS":   {"", "typed@example.com", true},
		"the address of an agency":  {"x.1@guest.booking.com", "typed@example.com", true},
		"an address from the PMS":   {"ana@example.com", "ana@example.com", false},
		"nothing that reaches them": {"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			eachPost(t, func(p *post) {
				p.room("spc_one", "Room 204")
				stay := p.book("1", c.booked, time.Hour, func(patch reservation.Patch) { patch[reservation.OwnSpaceID] = "spc_one" })
				if c.want != "" {
					p.typeAtKiosk(stay, "typed@example.com")
				}
				write(p.T, p.d, func(tx *db.Tx) error {
					_, err := mail.Order(tx, p.keys, p.queue, mail.Mail{PropertyID: "prp_one", Kind: mail.RoomReady, ReservationID: stay})
					return err
				})
				row := p.deliver()[0]
				if c.want == "" {
					if row.State != string(mail.Failed) || row.Failure != string(mail.FailedAddress) {
						p.Errorf("the mail is %s, %s", row.State, row.Failure)
					}
					return
				}
				text := p.text(row)
				if text.To != c.want {
					p.Errorf("the mail goes to %q, want %q", text.To, c.want)
				}
				for _, detail := range []string{"/g/l/", "Ana", "N1", "Departure"} {
					if has := strings.Contains(text.Text, detail) || strings.Contains(text.HTML, detail); has == c.plain {
						p.Errorf("the mail to %s has %q: %v", c.want, detail, has)
					}
				}
				if strings.Contains(text.Text, "QR code at the door") != c.plain {
					p.Errorf("where the guest checks in: %s", text.Text)
				}
			})
		})
	}
}

// typeAtKiosk stores an address that a guest typed at a kiosk, and that the guest has begun to check in.
func (p *post) typeAtKiosk(stay, address string) {
	p.Helper()
	var session guest.Session
	write(p.T, p.d, func(tx *db.Tx) (err error) {
		if _, err = guest.LoadParty(tx, p.keys, "prp_one", stay); err != nil {
			return err
		}
		session, err = guest.CreateSession(tx, p.keys, guest.SessionSpec{PropertyID: "prp_one", ReservationID: stay, Origin: "ksk_one", TTL: time.Hour})
		return err
	})
	a, err := guest.Authenticate(p.d.View(p.Context()), p.keys, session.Token)
	if err != nil {
		p.Fatal(err)
	}
	write(p.T, p.d, func(tx *db.Tx) error { return guest.SetMailAddress(tx, p.keys, a, address) })
	write(p.T, p.d, func(tx *db.Tx) error {
		return tx.Stay.Update().Where(entstay.PropertyID("prp_one"), entstay.ReservationID(stay)).SetBeganAt(tx.Now()).SetBeganBy("ksk_one").Exec(tx.Context())
	})
	party, _, err := guest.ViewParty(p.d.View(p.Context()), p.keys, "prp_one", stay)
	if err != nil {
		p.Fatal(err)
	}
	if ready, err := p.mails.ReadyAddress(p.d.View(p.Context()), party); err != nil || ready == "" {
		p.Errorf("the guest reads that no mail comes: %q, %v", ready, err)
	}
}
