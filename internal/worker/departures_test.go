package worker

import (
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

// A guest who owes an answer at departure is mailed once in the evening before, and not if the answer is there when the mail is sent.
func TestReminderBeforeDeparture(t *testing.T) {
	eachPost(t, func(p *post) {
		write(t, p.d, func(tx *db.Tx) error {
			law := "GB"
			_, err := property.UpdateCheckInSettings(tx, "prp_one", property.CheckInChange{Rule: &law})
			return err
		})
		started := func(patch reservation.Patch) { patch[reservation.State] = "started" }
		french := p.book("1", "ana@example.com", time.Hour, started)
		p.answerAs(french, rule.CitizenshipStep, "nationality", "FR")
		british := p.book("2", "bea@example.com", time.Hour, started)
		p.answerAs(british, rule.CitizenshipStep, "nationality", "GB")
		silent := p.book("3", "", time.Hour, started)
		p.answerAs(silent, rule.CitizenshipStep, "nationality", "FR")
		expected := p.book("4", "dan@example.com", time.Hour)
		p.answerAs(expected, rule.CitizenshipStep, "nationality", "FR")
		later := p.book("5", "eve@example.com", time.Hour, started)
		p.answerAs(later, rule.CitizenshipStep, "nationality", "FR")
		remind := func(want int) {
			t.Helper()
			for range 2 {
				if err := p.mails.Departures().Run(t.Context(), p.d); err != nil {
					t.Fatal(err)
				}
			}
			if all := p.all(); len(all) != want {
				t.Fatalf("%d mails, want %d: %v", len(all), want, all)
			}
		}
		p.clock.Advance(49*time.Hour - departureNotice - time.Minute)
		remind(0)
		p.clock.Advance(2 * time.Minute)
		remind(2)
		p.answerAs(later, rule.JourneyStep, "nextDestination", "Dublin")
		states := map[string]string{}
		for _, row := range p.deliver() {
			if row.Kind != string(mail.Departure) {
				t.Errorf("a mail of kind %s", row.Kind)
			}
			states[row.ReservationID] = row.State
			if row.State != string(mail.InBox) {
				continue
			}
			if text := p.text(row); !strings.Contains(text.Subject, "Before you leave") || !strings.Contains(text.Text, "https://stay.example/g/l/") {
				t.Errorf("%s\n%s", text.Subject, text.Text)
			}
		}
		if states[french] != string(mail.InBox) || states[later] != string(mail.Canceled) {
			t.Errorf("states of the mails: %v", states)
		}
		p.answerAs(french, rule.JourneyStep, "nextDestination", "Dublin")
		remind(2)
	})
}

// answerAs stores an answer of the main guest.
func (p *post) answerAs(reservationID string, step rule.Step, field, value string) {
	p.Helper()
	write(p.T, p.d, func(tx *db.Tx) error {
		party, err := guest.LoadParty(tx, p.keys, "prp_one", reservationID)
		if err != nil {
			return err
		}
		a := actor.Actor{Kind: actor.Guest, ID: "gss_1", PropertyID: "prp_one", ReservationID: reservationID, Origin: guest.OriginMail}
		_, err = guest.SaveStep(tx, p.keys, a, party.Members[0].Row.ID, step, map[string]string{field: value})
		return err
	})
}
