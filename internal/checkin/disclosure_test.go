package checkin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/ent/schema"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

// Each guest shares for themselves: the main guest's consent discloses nothing of a companion. What a call discloses is recorded once,
// also if the call is repeated.
func TestDisclosure(t *testing.T) {
	each(t, func(x *fixture) {
		x.push(reservation.Patch{reservation.Adults: 2})
		x.settings(property.CheckInChange{MandatoryGroups: &[]string{"identity"}})
		x.answer(map[string]string{"firstName": "Ana", "lastName": "Silva"})
		a := x.guest()
		var members []guest.Member
		x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
			p, err := guest.LoadParty(tx, x.service.Keys, propertyID, x.key.ReservationID)
			if err != nil {
				return err
			}
			members = p.Members
			for _, m := range p.Members {
				_, err = guest.SaveStep(tx, x.service.Keys, a, m.Row.ID, rule.CitizenshipStep, map[string]string{"nationality": "PT"})
				if err != nil {
					return err
				}
			}
			return guest.SetSharing(tx, x.service.Keys, a, false, guest.SharingChoice{Groups: []string{"identity"}})
		}))
		x.begin()
		x.desk.answer = func(w http.ResponseWriter, _ *http.Request, call int) {
			if call == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}
		x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
		x.answer(map[string]string{"firstName": "Anna", "lastName": "Silva"}) // the first call may have arrived: its key keeps its body
		x.do("press again", x.complete, checkin.Waiting)
		if len(x.desk.bodies) != 2 {
			x.Errorf("%d calls", len(x.desk.bodies))
		}
		if n := x.d.View(x.Context()).Stay.Query().Where(entstay.AttemptBodyNotNil()).CountX(x.Context()); n != 0 {
			x.Error("the body is kept after the PMS accepted")
		}
		want := `{"reservationId":"R1","mainCustomer":{"firstName":"Ana","lastName":"Silva","nationality":"PT"}}`
		for i, body := range x.desk.bodies {
			if body != want {
				x.Errorf("checkIn %d sent %s", i, body)
			}
		}
		rows := x.d.View(x.Context()).Disclosure.Query().AllX(x.Context())
		if len(rows) != 1 || rows[0].GuestID != members[0].Row.ID || !slices.Equal(rows[0].Groups, []string{"identity"}) || rows[0].Why != "checkIn" ||
			rows[0].IntegrationID == "" || rows[0].ReservationID != x.key.ReservationID {
			x.Errorf("recorded: %+v", rows)
		}
		x.push(reservation.Patch{reservation.State: "canceled"})
		x.sweep()
		x.clock.Advance(checkin.CanceledRetention + time.Hour)
		x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
			_, err := checkin.EraseCanceled(tx, tx.Now().Add(-checkin.CanceledRetention), 10)
			return err
		}))
		if n := x.d.View(x.Context()).Disclosure.Query().CountX(x.Context()); n != 0 {
			x.Errorf("%d disclosures are left after the erasure", n)
		}
	})
}

// Staff read what a PMS says about an error. It may name the guest, so it is sealed, and deleted when the check-in ends.
func TestTextOfThePMSIsSealed(t *testing.T) {
	const text = "Ms Silva of 204 has an invoice"
	said := func(w http.ResponseWriter) {
		_, _ = io.WriteString(w, `{"error":{"code":9,"reason":"silvaOwes","message":"`+text+`","status":409}}`)
	}
	stops := map[checkin.StopReason]func(x *fixture) checkin.View{
		checkin.StopPartnerError: func(x *fixture) checkin.View {
			x.desk.status = `{"error":{"code":9,"reason":"silvaOwes","message":"` + text + `","status":409}}`
			return x.do("ask again", x.again, checkin.Stopped, checkin.StopPartnerError)
		},
		checkin.StopCheckInRefused: func(x *fixture) checkin.View {
			x.desk.answer = func(w http.ResponseWriter, _ *http.Request, _ int) { said(w) }
			return x.do("press", x.complete, checkin.Stopped, checkin.StopCheckInRefused)
		},
		checkin.StopNoAnswer: func(x *fixture) checkin.View {
			x.desk.answer = func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusConflict); said(w) }
			return x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
		},
	}
	for reason, stop := range stops {
		t.Run(string(reason), func(t *testing.T) {
			each(t, func(x *fixture) {
				x.begin()
				v := stop(x)
				facts, err := x.service.FactsOf(x.Context(), v, v.Stops[0])
				x.must(err)
				if facts.PartnerReason != "silvaOwes" || facts.PartnerMessage != text || facts.Status == 0 {
					x.Errorf("staff read %+v", facts)
				}
				stored := func() schema.StatusAnswer {
					row := x.d.View(x.Context()).Stay.Query().Where(entstay.PropertyID(propertyID)).OnlyX(x.Context())
					raw, err := json.Marshal(row)
					x.must(err)
					if strings.Contains(string(raw), "ilva") {
						x.Errorf("stored in the open: %s", raw)
					}
					if row.Answer.ErrorText != nil {
						return row.Answer
					}
					return row.Refusal
				}
				if len(stored().ErrorText) == 0 {
					x.Error("the text is not stored")
				}
				x.push(reservation.Patch{reservation.State: "started"})
				x.sweep()
				if a := stored(); len(a.ErrorText) != 0 {
					x.Error("the text is kept after the end")
				}
			})
		})
	}
}
