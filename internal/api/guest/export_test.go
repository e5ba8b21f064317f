package guest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/schema"
	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	api "latchkey.dev/internal/api/guest"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/lock"
)

// copyOf returns the copy that a session gets.
func (x *fixture) copyOf(as context.Context) *guestv1.DataExport {
	x.Helper()
	copied, err := (&api.Privacy{Deps: x.deps}).ExportData(as, &guestv1.ExportDataRequest{})
	x.must(err)
	return copied.GetData()
}

// Each guest of a room finds the phones that they enrolled and the openings by them in their own copy. The main guest's copy also has the phone of a
// link of staff, and the uses of the code, which the party shares. A phone that a former version stored without its guest is in no copy after its session was
// deleted: it may be anyone's.
func TestExportNamesThePhonesOfItsGuest(t *testing.T) {
	each(t, func(x *fixture) {
		caller, stay := x.book("shared", 2, 0)
		companionID := x.guestIDs(stay)[1]
		now := x.db.Clock().Now()
		companion := actor.With(x.Context(), actor.Actor{Kind: actor.Guest, ID: "ses_b", PropertyID: hotel, ReservationID: stay, GuestID: companionID, Origin: guest.OriginMail, UsedAt: now})
		x.write(func(tx *db.Tx) error {
			ctx := tx.Context()
			for session, of := range map[string]string{"ses_a": "", "ses_b": companionID} {
				err := tx.GuestSession.Create().SetID(session).SetPropertyID(hotel).SetReservationID(stay).SetGuestID(of).SetOrigin(guest.OriginMail).SetMAC([]byte(session)).
					SetUsedAt(now).SetExpiresAt(now.Add(time.Hour)).SetCreatedAt(now).Exec(ctx)
				if err != nil {
					return err
				}
			}
			if err := tx.Grant.Create().SetID("grt_1").SetPropertyID(hotel).SetReservationID(stay).SetPlacedAt(now).SetNotBefore(now).SetNotAfter(now.Add(time.Hour)).SetCreatedAt(now).Exec(ctx); err != nil {
				return err
			}
			var rows []*ent.EventCreate
			for i, phone := range []string{"", "phn_staff", "phn_a", "phn_b", "phn_deleted", "phn_known"} {
				body := map[string]any{}
				if phone != "" {
					create := tx.Phone.Create().SetID(phone).SetPropertyID(hotel).SetReservationID(stay).SetKey([]byte(phone)).SetKeyID(phone).SetSubject(phone).SetCreatedAt(now)
					if phone != "phn_staff" {
						create.SetSession("ses_" + phone[len("phn_"):])
					}
					if phone == "phn_known" {
						create.SetGuestID(companionID)
					}
					if err := create.Exec(ctx); err != nil {
						return err
					}
					body["actor"] = lock.PhoneActorPrefix + phone
				}
				rows = append(rows, tx.Event.Create().SetID(int64(i+1)).SetPropertyID(hotel).SetSubject("lck_1").SetSubjectSequence(int64(i+1)).SetKind(string(event.DoorOpened)).
					SetGrantID("grt_1").SetBody(body).SetOccurredAt(now.Add(time.Duration(i)*time.Minute)).SetCreatedAt(now))
			}
			return tx.Event.CreateBulk(rows...).Exec(ctx)
		})
		for _, c := range []struct {
			who      string
			as       context.Context
			phones   []string
			openings []int // minutes
		}{
			{"the main guest", caller, []string{"phn_a", "phn_staff"}, []int{0, 1, 2}},
			{"the companion", companion, []string{"phn_b", "phn_known"}, []int{3, 5}},
		} {
			d := x.copyOf(c.as)
			var phones []string
			var openings []int
			for _, p := range d.GetPhones() {
				phones = append(phones, p.GetId())
			}
			for _, o := range d.GetOpenings() {
				openings = append(openings, int(o.GetAt().AsTime().Sub(now).Minutes()))
			}
			slices.Sort(phones)
			slices.Sort(openings)
			if !slices.Equal(phones, c.phones) || !slices.Equal(openings, c.openings) {
				t.Errorf("the copy of %s has the phones %v and openings %v, want %v and %v", c.who, phones, openings, c.phones, c.openings)
			}
		}
	})
}

// The copy of the main guest has what is stored of the booking and the check-in. A companion's has neither the amounts nor the decisions of staff.
func TestExportHasTheWholeStay(t *testing.T) {
	each(t, func(x *fixture) {
		caller, stay := x.book("whole", 2, 0)
		companionID := x.guestIDs(stay)[1]
		now := x.db.Clock().Now()
		x.write(func(tx *db.Tx) error {
			ctx := tx.Context()
			if err := tx.Reservation.UpdateOneID(stay).SetPriceMinor(21_000).SetOwingMinor(8_450).SetOwingCurrency("EUR").SetArrivedAt(now).Exec(ctx); err != nil {
				return err
			}
			return tx.Stay.Update().SetBeganAt(now).SetDetailsConfirmedAt(now.Add(time.Minute)).SetAcceptedAt(now.Add(2 * time.Minute)).SetEndedAt(now.Add(3 * time.Minute)).
				SetCleared([]schema.ClearedStage{{Stage: "owing", By: "stf_1", At: now.Format(time.RFC3339), OwingMinor: 8_450, OwingCurrency: "EUR"}}).Exec(ctx)
		})
		s := x.copyOf(caller).GetStay()
		got := fmt.Sprint(s.GetPrice(), " ", s.GetOwing(), " ", s.GetCurrency(), " ", s.GetArrivedAt().AsTime().Equal(now))
		for _, at := range []time.Time{s.GetCheckInBeganAt().AsTime(), s.GetDetailsConfirmedAt().AsTime(), s.GetCheckInAcceptedAt().AsTime(), s.GetCheckInEndedAt().AsTime()} {
			got += fmt.Sprint(" ", at.Sub(now))
		}
		for _, c := range s.GetCleared() {
			got += fmt.Sprint(" ", c.GetStage(), " ", c.GetOwing(), " ", c.GetOwingCurrency(), " ", c.GetAt().AsTime().Equal(now))
		}
		if want := "210.00 84.50 EUR true 0s 1m0s 2m0s 3m0s owing 84.50 EUR true"; got != want {
			t.Errorf("the copy has %s, want %s", got, want)
		}
		companion := actor.Actor{Kind: actor.Guest, ID: "ses_b", PropertyID: hotel, ReservationID: stay, GuestID: companionID, Origin: guest.OriginMail, UsedAt: now}
		if s := x.copyOf(actor.With(x.Context(), companion)).GetStay(); s.GetPrice() != "" || s.GetOwing() != "" || s.GetCheckInBeganAt() != nil || len(s.GetCleared()) != 0 || s.GetBooker() != nil {
			t.Errorf("the companion's copy has %v", s)
		}
	})
}

// Staff export a stay that no guest has opened, which has no messages. The copy of the main guest has the address typed for mails, and a companion's has not.
func TestExportOfAnUnopenedStay(t *testing.T) {
	each(t, func(x *fixture) {
		caller, stay := x.book("unopened", 2, 0)
		staffCopy := func(guestID string) *guestv1.DataExport {
			view := x.db.View(x.Context())
			p, _, err := guest.ViewParty(view, x.deps.Keys, hotel, stay)
			x.must(err)
			as, err := guest.AsGuest(p, guestID)
			x.must(err)
			copied, err := convert.Export(view, x.deps.Keys, p, as)
			x.must(err)
			return copied
		}
		if got := staffCopy(""); got.GetStay().GetBooker().GetLastName() != "Silva" || len(got.GetMessages()) != 0 {
			t.Errorf("the copy is %v", got)
		}
		companionID := x.guestIDs(stay)[1]
		a, _ := actor.From(caller)
		x.write(func(tx *db.Tx) error { return guest.SetMailAddress(tx, x.deps.Keys, a, "ana@example.com") })
		if got := x.copyOf(caller).GetGuests(); got[0].GetMailAddress() != "ana@example.com" || got[1].GetMailAddress() != "" {
			t.Errorf("the copy has the guests %v", got)
		}
		if got := staffCopy(companionID).GetGuests(); len(got) != 1 || got[0].GetMailAddress() != "" {
			t.Errorf("the companion's copy has the guests %v", got)
		}
	})
}
