package worker

import (
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
)

// Notices about a guest who cannot go on are mailed to the property's staffEmail once each. Other notices, and old and solved ones, are
// not.
func TestUrgentNoticesByMail(t *testing.T) {
	eachPost(t, func(p *post) {
		stay := p.book("1", "", time.Hour)
		add := func(n notice.Notice) {
			n.PropertyID = "prp_one"
			write(p.T, p.d, func(tx *db.Tx) error { return notice.Add(tx, n) })
		}
		sweep := func() {
			p.Helper()
			for range 2 { // the second finds nothing new
				if err := p.mails.UrgentNotices().Run(p.Context(), p.d); err != nil {
					p.Fatal(err)
				}
			}
		}
		help := notice.Notice{Kind: notice.KioskHelp, Subject: "ksk_one", Params: message.Params{"kiosk": "Lobby"}}
		add(help)
		sweep()
		if len(p.all()) != 0 {
			p.Fatal("a mail was ordered although the property has no address for staff")
		}
		p.clock.Advance(time.Hour)
		write(p.T, p.d, func(tx *db.Tx) error {
			_, err := property.UpdateCheckInSettings(tx, "prp_one", property.CheckInChange{StaffEmail: new("desk@example.com")})
			return err
		})
		sweep()
		if len(p.all()) != 0 {
			p.Fatal("a notice of an hour ago was mailed")
		}
		add(help)
		add(notice.Notice{Kind: notice.CodeLate, Subject: stay})
		add(notice.Notice{Kind: notice.KioskOffline, Subject: "ksk_one", Params: message.Params{"kiosk": "Lobby", "since": "2026-11-01 12:00"}})
		add(notice.Notice{Kind: notice.SearchesFailed, Subject: "ksk_one", Params: message.Params{"place": "Lobby", "at": p.clock.Now(), "number": "87…"}})
		add(notice.Notice{Kind: notice.CodeNotPlaced, Subject: stay})
		add(notice.Notice{Kind: notice.CodeLate, Subject: stay, OnceKey: stay + "/solved"})
		write(p.T, p.d, func(tx *db.Tx) error { return notice.Resolve(tx, "prp_one", stay+"/solved") })
		sweep()
		all := p.deliver()
		if len(all) != 4 {
			p.Fatalf("%d mails, want 4", len(all))
		}
		for i, want := range []struct{ subject, text string }{
			{"a guest may need you", "Lobby asks for help"}, {"booking N1", "lock"}, {"a guest may need you", "2026-11-01 12:00"}, {"a guest may need you", "13:00"},
		} {
			text := p.text(all[i])
			if text.To != "desk@example.com" || all[i].Kind != string(mail.Staff) || !strings.Contains(text.Subject, want.subject) || !strings.Contains(text.Text, want.text) {
				p.Errorf("mail %d: %q to %s\n%s", i, text.Subject, text.To, text.Text)
			}
		}
		for range urgentBatch + 1 {
			add(help)
		}
		sweep()
		if n := len(p.all()); n != 4+urgentBatch+1 {
			p.Errorf("%d mails after many notices at once, want %d", n, 4+urgentBatch+1)
		}
		err := p.d.Write(p.Context(), func(tx *db.Tx) error {
			if _, err := property.UpdateCheckInSettings(tx, "prp_one", property.CheckInChange{StaffEmail: new("")}); err != nil {
				return err
			}
			_, err := p.mails.Resend(tx, "prp_one", all[1].ID)
			return err
		})
		if !fault.Has(err, fault.InvalidFields) || !strings.Contains(err.Error(), "staffEmail") {
			p.Errorf("sent again without an address for staff: %v", err)
		}
		err = p.d.Write(p.Context(), func(tx *db.Tx) error {
			if _, err := tx.ExecContext(tx.Context(), "UPDATE mails SET kind = 'erasure' WHERE id = $1", all[1].ID); err != nil {
				return err
			}
			_, err := p.mails.Resend(tx, "prp_one", all[1].ID)
			return err
		})
		if !fault.Has(err, fault.InvalidFields) || !strings.Contains(err.Error(), "erasure") {
			p.Errorf("a mail about an erasure was sent again: %v", err)
		}
	})
}
