package worker

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent/guestlink"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

func inGroup(id string) func(reservation.Patch) {
	return func(patch reservation.Patch) { patch[reservation.GroupID] = id }
}

// A room that the PMS adds to a group later gets a mail of its own, and rooms with a changed address share one.
func TestGroupGrowsAndMoves(t *testing.T) {
	eachPost(t, func(p *post) {
		p.change("1", "ana@example.com", 5*day, inGroup("G"))
		p.change("2", "ana@example.com", 5*day, inGroup("G"))
		p.settle()
		p.wantLinks("two rooms", 2)
		p.change("3", "ana@example.com", 5*day, inGroup("G"))
		p.settle()
		p.wantLinks("a third room", 2, 1)
		for _, room := range []string{"1", "2", "3"} {
			p.change(room, "bea@example.com", 5*day, inGroup("G"))
			p.invite()
		}
		p.settle()
		p.wantMails("another address", "invitation ana@example.com", "invitation ana@example.com", "invitation bea@example.com")
		p.wantLinks("another address", 2, 1, 3)
		if n, err := p.d.View(p.Context()).GuestLink.Query().Where(guestlink.RevokedAtIsNil()).Count(p.Context()); err != nil || n != 3 {
			p.Errorf("%d valid links, %v; want those of the present address", n, err)
		}
	})
}

// A group that the PMS changes all the time is invited all the same.
func TestRestlessGroupIsInvited(t *testing.T) {
	eachPost(t, func(p *post) {
		for n := range 12 {
			p.clock.Advance(time.Minute)
			p.change("1", "ana@example.com", 5*day, inGroup("G"), func(patch reservation.Patch) { patch[reservation.Number] = strings.Repeat("N", n+1) })
			p.invite()
		}
		p.wantMails("a group that changes each minute", "invitation ana@example.com")
	})
}

// A reminder lists the rooms of a group whose form is not finished, and no guest who finishes before it is sent gets it.
func TestReminderOfAGroup(t *testing.T) {
	eachPost(t, func(p *post) {
		p.change("1", "ana@example.com", 5*day, inGroup("G"))
		p.change("2", "ana@example.com", 5*day, inGroup("G"))
		p.change("3", "ana@example.com", 5*day, inGroup("G"))
		p.change("9", "bea@example.com", 5*day)
		p.settle()
		p.deliver()
		done := map[string]string{}
		rows, err := p.d.View(p.Context()).Reservation.Query().All(p.Context())
		if err != nil {
			p.Fatal(err)
		}
		for _, r := range rows {
			done[r.PmsNumber] = r.ID
		}
		finish := func(number string) {
			dbtest.Insert(p, p.d, "guests", dbtest.Values{"id": "gst_" + number, "property_id": "prp_one", "reservation_id": done[number], "role": "main", "complete": true})
		}
		finish("N1")
		p.clock.Advance(3 * day)
		p.invite()
		finish("N3")
		finish("N9")
		p.invite()
		links := map[string]int{}
		for _, row := range p.deliver() {
			if row.Kind == string(mail.Reminder) {
				links[row.State] = 0
				if row.State == string(mail.InBox) {
					links[row.State] = strings.Count(p.text(row).Text, "/g/l/")
				}
			}
		}
		if diff := cmp.Diff(map[string]int{string(mail.InBox): 1, string(mail.Canceled): 0}, links); diff != "" {
			p.Error(diff)
		}
		n := len(p.all())
		p.clock.Advance(day)
		p.invite()
		p.invite()
		if got := len(p.all()); got != n {
			p.Errorf("%d mails more than one reminder", got-n)
		}
	})
}

// A booker gets one mail for all rooms of a group, with a link for each.
func TestGroupGetsOneMail(t *testing.T) {
	eachPost(t, func(p *post) {
		p.book("1", "ana@example.com", 5*day, inGroup("G"))
		p.book("2", "ANA@example.com", 5*day, inGroup("G"))
		p.invite()
		p.clock.Advance(time.Second)
		p.book("3", "bea@example.com", 5*day, inGroup("G"))
		p.invite()
		p.wantMails("while the PMS sends the rooms")
		p.settle()
		p.wantMails("a group", "invitation ana@example.com", "invitation bea@example.com")
		for _, row := range p.all() {
			text := p.text(row)
			want := map[bool]int{true: 2, false: 1}[text.To == "ana@example.com"]
			if n := strings.Count(text.Text, "/g/l/"); n != want {
				p.Errorf("the mail to %s has %d links, want %d", text.To, n, want)
			}
		}
		p.clock.Advance(3 * day)
		p.invite()
		p.invite()
		p.wantMails("two days before", "invitation ana@example.com", "invitation bea@example.com", "reminder ana@example.com", "reminder bea@example.com")
	})
}
