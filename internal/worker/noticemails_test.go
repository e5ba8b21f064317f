package worker

import (
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/staff"
)

// A person gets one mail about the notices of the chosen groups, in the chosen hours, and none about what was read, solved or stored before the choice.
func TestNoticesByMail(t *testing.T) {
	eachPost(t, func(p *post) {
		bob, _ := p.invitePerson("bob@example.com", staff.FrontDesk, "en")
		people := &staff.Service{DB: p.d, Keys: p.keys}
		session, _, err := people.AcceptInvitation(p.Context(), staff.Acceptance{PasswordSignIn: staff.PasswordSignIn{Password: "correct horse battery", Trace: staff.Trace{Action: "test", From: "192.0.2.7"}}, Secret: bob.Secret, Name: "Bob"})
		if err != nil {
			p.Fatal(err)
		}
		add := func(kind notice.Kind, params message.Params) {
			write(p.T, p.d, func(tx *db.Tx) error {
				return notice.Add(tx, notice.Notice{PropertyID: "prp_one", Kind: kind, Subject: "s", Params: params})
			})
		}
		choose := func(c staff.NoticeChoice) {
			write(p.T, p.d, func(tx *db.Tx) error { return staff.SetNoticeChoice(tx, "prp_one", session.PersonID, c) })
		}
		sweep := func() {
			p.Helper()
			for range 2 { // the second finds nothing to do
				if err := p.mails.Notices().Run(p.Context(), p.d); err != nil {
					p.Fatal(err)
				}
			}
		}
		want := func(what string, n int) {
			p.Helper()
			sweep()
			if got := len(p.all()); got != n {
				p.Fatalf("%s: %d mails, want %d", what, got, n)
			}
		}
		add(notice.CodeNotPlaced, nil)
		p.clock.Advance(time.Hour) // 13:00
		want("without a choice", 0)
		choose(staff.NoticeChoice{ByMail: []string{"codes", "messages"}, From: "08:00", Until: "18:00"})
		want("stored before the choice", 0)
		add(notice.CodeNotPlaced, nil)
		add(notice.CheckInHelp, message.Params{"number": "7"}) // of another group
		add(notice.MailsNotSent, nil)                          // says that mails do not arrive
		want("at once", 0)
		p.clock.Advance(noticeMailAfter + time.Second)
		want("after some minutes", 1)
		row := p.deliver()[0]
		if text := p.text(row); text.To != "bob@example.com" || !strings.Contains(text.Subject, "1 notice") || !strings.Contains(text.Text, "/app/notices") {
			p.Errorf("%q to %s\n%s", text.Subject, text.To, text.Text)
		}
		write(p.T, p.d, func(tx *db.Tx) error {
			if err := notice.Add(tx, notice.Notice{PropertyID: "prp_one", Kind: notice.CodeNotPlaced, Subject: "s", OnceKey: "s/solved"}); err != nil {
				return err
			}
			return notice.Resolve(tx, "prp_one", "s/solved")
		})
		p.clock.Advance(time.Hour)
		want("about a problem that is solved", 1)
		p.clock.Advance(5 * time.Hour) // 19:02
		add(notice.CodeNotPlaced, nil)
		p.clock.Advance(time.Hour)
		want("after the hours", 1)
		p.clock.Advance(12 * time.Hour) // 08:02
		want("in the next hours", 2)
		write(p.T, p.d, func(tx *db.Tx) error { _, err := notice.MarkRead(tx, "prp_one"); return err })
		if rows := p.deliver(); rows[1].State != string(mail.Canceled) {
			p.Errorf("a mail about notices that were read meanwhile is %s", rows[1].State)
		}
		setRole := func(role staff.Role) {
			by := staff.Caller{Role: staff.Owner, Author: "staff:tok_1"}
			write(p.T, p.d, func(tx *db.Tx) error {
				_, err := staff.ChangeMember(tx, p.keys, by, "prp_one", session.PersonID, staff.AccessChange{Role: &role})
				return err
			})
		}
		add(notice.CodeNotPlaced, nil)
		p.clock.Advance(time.Hour)
		want("before the role changes", 3)
		setRole(staff.Housekeeping)
		if rows := p.deliver(); rows[2].State != string(mail.Canceled) {
			p.Errorf("a mail to a person who may not read notices any more is %s", rows[2].State)
		}
		add(notice.CodeNotPlaced, nil)
		p.clock.Advance(time.Hour)
		want("to a person who may not read notices", 3)
		setRole(staff.FrontDesk)
		choose(staff.NoticeChoice{Hidden: []string{"codes"}})
		p.clock.Advance(time.Hour)
		want("after mails were switched off", 3)
	})
}
