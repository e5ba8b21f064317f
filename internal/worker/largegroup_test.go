package worker

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/reservation"
)

// bookGroup stores a group of rooms of one booker.
func (p *post) bookGroup(rooms int, email func(room int) string) {
	p.Helper()
	from := p.clock.Now().Add(5 * day)
	for first := 0; first < rooms; first += 100 {
		write(p.T, p.d, func(tx *db.Tx) error {
			for i := first; i < min(rooms, first+100); i++ {
				_, err := p.stays.Upsert(tx, reservation.Scope{PropertyID: "prp_one", IntegrationID: "int_one"}, reservation.Patch{
					reservation.PMSID: fmt.Sprint(i), reservation.Number: fmt.Sprintf("N%03d", i), reservation.LastName: "Silva", reservation.Email: email(i), reservation.State: "confirmed",
					reservation.GroupID: "G", reservation.From: from.Format("2006-01-02T15:04:05Z07:00"), reservation.To: from.Add(2 * day).Format("2006-01-02T15:04:05Z07:00"),
				}, nil)
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// statementsOf returns how many statements f runs.
func statementsOf(f func()) int64 {
	var n atomic.Int64
	db.WatchStatements(func(string) { n.Add(1) })
	defer db.WatchStatements(func(string) {})
	f()
	return n.Load()
}

// A booker of a group with more rooms than are evaluated or linked at once gets one mail, which counts the rooms without a link, and one
// reminder. The number of statements does not grow with the rooms.
func TestGroupOfManyRooms(t *testing.T) {
	const rooms = 501
	eachPost(t, func(p *post) {
		p.bookGroup(rooms, func(int) string { return "ana@example.com" })
		p.invite()
		p.clock.Advance(settleAll)
		p.Log("statements of the sweep:", p.within(200, p.invite))
		p.Log("statements of the mail:", p.within(300, func() { p.deliver() }))
		for range 2 {
			p.clock.Advance(settleAll)
			p.invite()
			p.deliver()
		}
		p.wantMails("a group of 501 rooms", "invitation ana@example.com")
		text := p.text(p.all()[0])
		if n := strings.Count(text.Text, "/g/l/"); n != mail.MaxLinks || !strings.Contains(text.Text, fmt.Sprintf("no links for %d more rooms", rooms-mail.MaxLinks)) {
			p.Errorf("%d links, and: %s", n, text.Text[max(0, len(text.Text)-400):])
		}
		rows, err := p.d.Read().Invitation.Query().All(p.Context())
		if err != nil {
			p.Fatal(err)
		}
		invited := 0
		for _, row := range rows {
			if row.InvitedAt != nil && row.MailID == p.all()[0].ID {
				invited++
			}
		}
		if invited != rooms {
			p.Errorf("%d rooms are invited, want %d", invited, rooms)
		}
		p.clock.Advance(3 * day)
		p.invite()
		p.deliver()
		p.invite()
		p.wantMails("two days before", "invitation ana@example.com", "reminder ana@example.com")
		p.bookGroup(rooms, func(int) string { return "bea@example.com" })
		p.clock.Advance(settleAll)
		p.within(200, p.invite)
		p.clock.Advance(settleAll)
		p.invite()
		p.deliver()
		if last := p.all()[len(p.all())-1]; p.text(last).To != "bea@example.com" || len(p.all()) != 3 {
			p.Errorf("after the booker changed: %d mails, the last to %s", len(p.all()), p.text(last).To)
		}
	})
}

// settleAll is longer than a group may settle.
const settleAll = 2 * time.Minute

// within fails the test if f runs more statements.
func (p *post) within(most int64, f func()) int64 {
	p.Helper()
	n := statementsOf(f)
	if n > most {
		p.Errorf("%d statements, want at most %d", n, most)
	}
	return n
}
