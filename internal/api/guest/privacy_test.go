package guest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"latchkey.dev/ent"
	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/actor"
	api "latchkey.dev/internal/api/guest"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/id"
)

// disclose adds lines to the ledger of guests in turn, the newest first. The count of reads numbers them. Each ten lines have the same time.
func (x *fixture) disclose(reservationID string, guests []string, first, last int, newest time.Time) {
	x.Helper()
	x.write(func(tx *db.Tx) error {
		var rows []*ent.DisclosureCreate
		for n := last; n >= first; n-- { // ids sort in the order of creation
			rows = append(rows, tx.Disclosure.Create().SetID(id.New(id.Disclosure)).SetPropertyID(hotel).SetReservationID(reservationID).SetGuestID(guests[n%len(guests)]).
				SetIntegrationID(integration).SetGroups([]string{"identity"}).SetWhy(guest.WhyRead).SetCall("").SetTimes(n).SetCreatedAt(newest.Add(-time.Duration((n-first)/10)*time.Hour)))
		}
		return tx.Disclosure.CreateBulk(rows...).Exec(tx.Context())
	})
}

// guestIDs returns the ids of a party's guests.
func (x *fixture) guestIDs(reservationID string) (ids []string) {
	x.Helper()
	x.write(func(tx *db.Tx) error {
		p, err := guest.LoadParty(tx, x.deps.Keys, hotel, reservationID)
		if err != nil {
			return err
		}
		ids = nil
		for _, m := range p.Members {
			ids = append(ids, m.Row.ID)
		}
		return nil
	})
	return ids
}

// numbers returns the numbers of lines.
func numbers(list []*guestv1.Disclosure) (all []int32) {
	for _, d := range list {
		all = append(all, d.GetTimes())
	}
	return all
}

// The pages of the ledger and the export have each line exactly once, the newest first, also if the PMS reads meanwhile. A companion reads
// their own lines.
func TestLedgerHasEveryLine(t *testing.T) {
	const lines = 457
	each(t, func(x *fixture) {
		caller, stay := x.book("polled", 2, 0)
		_, other := x.book("other", 1, 0)
		ids, others := x.guestIDs(stay), x.guestIDs(other)
		now := x.db.Clock().Now()
		x.disclose(stay, ids, 1, lines, now)
		x.disclose(other, others, 1, 3, now)
		companion := actor.Actor{Kind: actor.Guest, ID: "ses_companion", PropertyID: hotel, ReservationID: stay, GuestID: ids[1], Origin: guest.OriginMail, UsedAt: now}
		var all, odd []int32
		for n := int32(1); n <= lines; n++ {
			if all = append(all, n); n%2 == 1 {
				odd = append(odd, n)
			}
		}
		for _, test := range []struct {
			size, pages int
			want        []int32
		}{{0, 5, all}, {1, lines, all}, {7, 66, all}, {200, 3, all}, {0, 3, odd}} {
			as := caller
			if len(test.want) != lines {
				as = actor.With(x.Context(), companion)
			}
			var got []int32
			pages := 0
			for token, more := "", true; more; pages++ {
				answer, err := x.stays.ListDisclosures(as, &guestv1.ListDisclosuresRequest{PageSize: int32(test.size), PageToken: token})
				x.must(err)
				got = append(got, numbers(answer.GetData().GetList())...)
				if token = answer.GetData().GetNextPageToken(); answer.GetData().GetMore() != (token != "") {
					x.Fatalf("more is %t with the token %q", answer.GetData().GetMore(), token)
				}
				more = token != ""
			}
			if !slices.Equal(got, test.want) || pages != test.pages {
				x.Errorf("%d pages of %d lines have %v, want %d pages with %v", pages, test.size, got, test.pages, test.want)
			}
		}
		privacy := &api.Privacy{Deps: x.deps}
		copied, err := privacy.ExportData(caller, &guestv1.ExportDataRequest{})
		x.must(err)
		if got := numbers(copied.GetData().GetDisclosures()); !slices.Equal(got, all) {
			x.Errorf("the export has the lines %v", got)
		}
		copied, err = privacy.ExportData(actor.With(x.Context(), companion), &guestv1.ExportDataRequest{})
		x.must(err)
		if got := numbers(copied.GetData().GetDisclosures()); !slices.Equal(got, odd) {
			x.Errorf("the companion's export has the lines %v", got)
		}

		first, err := x.stays.ListDisclosures(caller, &guestv1.ListDisclosuresRequest{})
		x.must(err)
		x.disclose(stay, ids, lines+1, lines+5, now.Add(time.Minute)) // the PMS reads between two pages
		second, err := x.stays.ListDisclosures(caller, &guestv1.ListDisclosuresRequest{PageToken: first.GetData().GetNextPageToken()})
		x.must(err)
		if got := numbers(second.GetData().GetList()); !slices.Equal(got, all[100:200]) {
			x.Errorf("after another read, the second page has %v", got)
		}
		for _, token := range []string{"x", stay, first.GetData().GetNextPageToken() + "A"} {
			_, err := x.stays.ListDisclosures(caller, &guestv1.ListDisclosuresRequest{PageToken: token})
			if f, ok := fault.Of(err); !ok || f.Kind != fault.Invalid {
				x.Errorf("the token %q: %v", token, err)
			}
		}
	})
}

// The export has every opening of a stay once, the latest first, and none of another stay.
func TestExportHasEveryOpening(t *testing.T) {
	const openings = 1_234
	each(t, func(x *fixture) {
		caller, stay := x.book("busy", 1, 0)
		_, other := x.book("other", 1, 0)
		now := x.db.Clock().Now()
		x.write(func(tx *db.Tx) error {
			for grant, of := range map[string]string{"grt_1": stay, "grt_2": other} {
				err := tx.Grant.Create().SetID(grant).SetPropertyID(hotel).SetReservationID(of).SetPlacedAt(now).SetNotBefore(now).SetNotAfter(now.Add(time.Hour)).SetCreatedAt(now).Exec(tx.Context())
				if err != nil {
					return err
				}
			}
			var rows []*ent.EventCreate
			for n := 1; n <= openings+1; n++ {
				grant, kind := "grt_1", event.DoorOpened
				if n%3 == 0 {
					kind = event.DoorDenied
				}
				if n > openings {
					grant = "grt_2"
				}
				rows = append(rows, tx.Event.Create().SetID(int64(n)).SetPropertyID(hotel).SetSubject("lck_1").SetSubjectSequence(int64(n)).SetKind(string(kind)).
					SetGrantID(grant).SetBody(map[string]any{}).SetOccurredAt(now.Add(time.Duration(n)*time.Second)).SetCreatedAt(now))
			}
			return tx.Event.CreateBulk(rows...).Exec(tx.Context())
		})
		copied, err := (&api.Privacy{Deps: x.deps}).ExportData(caller, &guestv1.ExportDataRequest{})
		x.must(err)
		var got, want []string
		for _, o := range copied.GetData().GetOpenings() {
			got = append(got, fmt.Sprint(o.GetAt().AsTime().Sub(now), o.GetOpened()))
		}
		for n := openings; n > 0; n-- {
			want = append(want, fmt.Sprint(time.Duration(n)*time.Second, n%3 != 0))
		}
		if !slices.Equal(got, want) {
			x.Errorf("the export has %d openings %v, want %d", len(got), got, len(want))
		}
	})
}
