package worker

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
)

var mailedLink = regexp.MustCompile(`/g/l/(\S+)`)

// working returns which links of delivered mails work, by age.
func (p *post) working() (works []bool) {
	p.Helper()
	for _, row := range p.deliver() {
		if row.State != string(mail.InBox) {
			continue
		}
		for _, found := range mailedLink.FindAllStringSubmatch(p.text(row).Text, -1) {
			_, err := guest.LookUpLink(p.d.View(p.Context()), p.keys, found[1])
			if err != nil && !fault.Has(err, fault.LinkNotFound) {
				p.Fatal(err)
			}
			works = append(works, err == nil)
		}
	}
	return works
}

// Of the links that staff mail again, only the newest works, whether they press twice before or after the first mail is sent, and
// whichever of the mails they choose.
func TestOnlyTheNewestLinkWorks(t *testing.T) {
	for name, sentBetween := range map[string]bool{"at once": false, "after the first mail is sent": true} {
		t.Run(name, func(t *testing.T) {
			eachPost(t, func(p *post) {
				p.book("1", "ana@example.com", 5*day)
				p.invite()
				invitation := p.deliver()[0]
				for range 2 {
					write(p.T, p.d, func(tx *db.Tx) error { _, err := p.mails.Resend(tx, "prp_one", invitation.ID); return err })
					if sentBetween {
						p.deliver()
					}
				}
				p.wantOneLink("of an invitation")
			})
		})
		t.Run("ordered "+name, func(t *testing.T) {
			eachPost(t, func(p *post) {
				stay := p.book("1", "ana@example.com", 5*day)
				for range 2 {
					write(p.T, p.d, func(tx *db.Tx) error {
						if err := guest.RevokeLinks(tx, "prp_one", stay, "", true); err != nil {
							return err
						}
						_, err := p.mails.OrderLink(tx, mail.LinkOrder{PropertyID: "prp_one", ReservationID: stay})
						return err
					})
					if sentBetween {
						p.deliver()
					}
				}
				p.wantOneLink("ordered by staff")
			})
		})
	}
}

// A mail that waits for its next attempt is tried at once when staff send it again, and not only in up to an hour.
func TestWaitingMailIsTriedAtOnce(t *testing.T) {
	eachPost(t, func(p *post) {
		p.order()
		state := func() (state string) {
			p.Helper()
			if _, err := p.d.View(p.Context()).ReadOne(`SELECT CAST(state AS text) FROM river_job WHERE kind = 'mail.send'`, nil, &state); err != nil {
				p.Fatal(err)
			}
			return state
		}
		write(p.T, p.d, func(tx *db.Tx) error {
			_, err := tx.ExecContext(tx.Context(), `UPDATE river_job SET state = 'scheduled'`)
			return err
		})
		first := p.all()[0].ID
		write(p.T, p.d, func(tx *db.Tx) error {
			again, err := p.mails.Resend(tx, "prp_one", first)
			if again != first {
				p.Errorf("%s was ordered in place of %s", again, first)
			}
			return err
		})
		if got := state(); got != "available" {
			p.Errorf("the job of the mail is %s", got)
		}
	})
}

func (p *post) wantOneLink(what string) {
	p.Helper()
	works := p.working()
	for i, ok := range works {
		if ok != (i == len(works)-1) {
			p.Fatalf("links %s: %v, want only the newest to work", what, works)
		}
	}
	if len(works) == 0 {
		p.Fatalf("no links %s", what)
	}
}

// A guest whose address has capital letters is mailed the new link that the page promises.
func TestRenewedLinkOfAnAddressWithCapitals(t *testing.T) {
	eachPost(t, func(p *post) {
		stay := p.book("1", "Ana@Example.com", 5*day)
		write(p.T, p.d, func(tx *db.Tx) error {
			_, err := p.mails.OrderLink(tx, mail.LinkOrder{PropertyID: "prp_one", ReservationID: stay, Address: "Ana@Example.com", Occasion: "once"})
			return err
		})
		if row := p.deliver()[0]; row.State != string(mail.InBox) {
			p.Errorf("the mail is %s", row.State)
		}
	})
}

// Guests name the addresses of companions, and can add and remove companions. So the mails that they order are bounded, for each stay.
func TestMailsToCompanionsAreBounded(t *testing.T) {
	eachPost(t, func(p *post) {
		stay, other := p.book("1", "ana@example.com", 5*day), p.book("2", "bo@example.com", 5*day)
		order := func(stay string, n int) error {
			return p.d.Write(p.Context(), func(tx *db.Tx) error {
				_, err := p.mails.OrderLink(tx, mail.LinkOrder{PropertyID: "prp_one", ReservationID: stay, GuestID: fmt.Sprint("gst_", n), Address: "else@example.com", Occasion: "once"})
				return err
			})
		}
		for n := range 60 {
			if err := order(stay, n); err != nil {
				p.Fatalf("mail %d: %v", n+1, err)
			}
		}
		if err := order(stay, 60); !fault.Has(err, fault.TooManyAttempts) {
			p.Errorf("after 60 mails: %v", err)
		}
		if err := order(other, 0); err != nil {
			p.Errorf("another stay: %v", err)
		}
		p.clock.Advance(24 * time.Hour)
		if err := order(stay, 61); err != nil {
			p.Errorf("a day later: %v", err)
		}
	})
}
