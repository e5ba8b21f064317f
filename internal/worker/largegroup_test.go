package worker

import (
	"context"
	"fmt"
	"regexp"
	"slices"
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
	db.WatchStatements(func(context.Context, string) { n.Add(1) })
	defer db.WatchStatements(func(context.Context, string) {})
	f()
	return n.Load()
}

// A booker of a group with more rooms than one mail lists gets a link for each room, in several mails that count the rooms of the others, and
// as many reminders. The statements of the sweep grow with the mails, not with the rooms.
func TestGroupOfManyRooms(t *testing.T) {
	const rooms, mails = 501, 11
	eachPost(t, func(p *post) {
		p.bookGroup(rooms, func(int) string { return "ana@example.com" })
		p.invite()
		p.clock.Advance(settleAll)
		p.Log("statements of the sweep:", p.within(200, p.invite))
		p.Log("statements of the mails:", p.within(300*mails, func() { p.deliver() }))
		for range 2 {
			p.clock.Advance(settleAll)
			p.invite()
			p.deliver()
		}
		invitations := slices.Repeat([]string{"invitation ana@example.com"}, mails)
		p.wantMails("a group of 501 rooms", invitations...)
		p.wantLinkOfEachRoom(rooms)
		p.clock.Advance(3 * day)
		p.invite()
		p.deliver()
		p.invite()
		p.wantMails("two days before", append(invitations, slices.Repeat([]string{"reminder ana@example.com"}, mails)...)...)
		p.bookGroup(rooms, func(int) string { return "bea@example.com" })
		p.clock.Advance(settleAll)
		p.within(200, p.invite)
		p.clock.Advance(settleAll)
		p.invite()
		p.deliver()
		if last := p.all()[len(p.all())-1]; p.text(last).To != "bea@example.com" || len(p.all()) != 3*mails {
			p.Errorf("after the booker changed: %d mails, the last to %s", len(p.all()), p.text(last).To)
		}
	})
}

// wantLinkOfEachRoom fails the test unless the mails together have one link for each room, and each counts the rooms of the others.
func (p *post) wantLinkOfEachRoom(rooms int) {
	p.Helper()
	links := map[string]bool{}
	for _, row := range p.all() {
		text := p.text(row).Text
		here := linkPattern.FindAllString(text, -1)
		for _, link := range here {
			links[link] = true
		}
		if other := fmt.Sprintf("in other mails to you: %d.", rooms-len(here)); len(here) > mail.MaxLinks || !strings.Contains(text, other) {
			p.Errorf("a mail with %d links does not say %q", len(here), other)
		}
	}
	if len(links) != rooms {
		p.Errorf("the mails have %d links, want %d", len(links), rooms)
	}
}

var linkPattern = regexp.MustCompile(`/g/l/\w+`)

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
