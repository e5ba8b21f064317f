package guest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	entreservation "latchkey.dev/ent/reservation"
	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/actor"
	api "latchkey.dev/internal/api/guest"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

const hotel, integration = "prp_hotel", "int_pms"

// fixture is a property with the services for guests' pages.
type fixture struct {
	*testing.T
	db    *db.DB
	deps  api.Deps
	stays *api.Stays
	forms *api.Forms
}

// each runs f on every database.
func each(t *testing.T, f func(x *fixture)) {
	now := clock.At(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC))
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		keys := dbtest.Keys(t, d)
		x := &fixture{T: t, db: d, deps: api.Deps{DB: d, Answers: &idem.Answers{DB: d, Keys: keys}, Keys: keys, Reservations: reservation.Service{Keys: keys}}}
		x.stays, x.forms = &api.Stays{Deps: x.deps}, &api.Forms{Deps: x.deps}
		x.must(keys.EnsureKey(t.Context(), hotel))
		x.write(func(tx *db.Tx) error {
			if err := tx.Property.Create().SetID(hotel).SetName("Hotel").SetTimeZone("Europe/Lisbon").Exec(tx.Context()); err != nil {
				return err
			}
			if _, err := property.UpdateCheckInSettings(tx, hotel, property.CheckInChange{MandatoryGroups: &[]string{"identity"}}); err != nil {
				return err
			}
			return tx.Integration.Create().SetID(integration).SetPropertyID(hotel).SetName("PMS").SetScopes(nil).Exec(tx.Context())
		})
		f(x)
	}, dbtest.Clock(now))
}

func (x *fixture) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

func (x *fixture) write(f func(tx *db.Tx) error) {
	x.Helper()
	x.must(x.db.Write(x.Context(), f))
}

// book stores a reservation and returns the caller whose session came by the booker's mail.
func (x *fixture) book(pmsID string, adults, children int) (caller context.Context, reservationID string) {
	x.Helper()
	x.write(func(tx *db.Tx) error {
		stored, err := x.deps.Reservations.Upsert(tx, reservation.Scope{PropertyID: hotel, IntegrationID: integration}, reservation.Patch{
			reservation.PMSID: pmsID, reservation.Number: pmsID, reservation.LastName: "Silva", reservation.State: "confirmed",
			reservation.Adults: adults, reservation.Children: children, reservation.From: "2026-11-21T15:00:00Z", reservation.To: "2026-11-24T11:00:00Z",
		}, nil)
		if err == nil {
			reservationID = stored.Row.ID
		}
		return err
	})
	a := actor.Actor{Kind: actor.Guest, ID: "ses_" + pmsID, PropertyID: hotel, ReservationID: reservationID, Origin: guest.OriginMail, UsedAt: x.db.Clock().Now()}
	return actor.With(x.Context(), a), reservationID
}

// invite stores that each companion was mailed a link, and mails in a state with an id for each.
func (x *fixture) invite(reservationID string, state mail.State, id string) {
	x.Helper()
	x.write(func(tx *db.Tx) error {
		p, err := guest.LoadParty(tx, x.deps.Keys, hotel, reservationID)
		if err != nil {
			return err
		}
		if err := tx.Guest.Update().SetInvitedAt(tx.Now()).Exec(tx.Context()); err != nil {
			return err
		}
		for i, m := range p.Members[1:] {
			err := tx.Mail.Create().SetID(fmt.Sprintf("mai_%s_%s_%02d", reservationID[len(reservationID)-8:], id, i)).SetPropertyID(hotel).SetKind(string(mail.Companion)).
				SetReservationID(reservationID).SetGuestID(m.Row.ID).SetAddress([]byte("sealed")).SetState(string(state)).SetCreatedAt(tx.Now()).Exec(tx.Context())
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// The statements of a call do not grow with the party: its first read, which stores the guests, and reads of the stay and of all forms, also
// with links to all companions.
func TestStatementsOfAParty(t *testing.T) {
	each(t, func(x *fixture) {
		few, fewID := x.book("few", 1, 1)
		many, manyID := x.book("many", 20, 19)
		same := func(what string, call func(ctx context.Context) error) {
			x.Helper()
			run := func(ctx context.Context) []string {
				return dbtest.Statements(t, nil, func() { x.must(call(ctx)) })
			}
			a, b := run(few), run(many)
			if len(a) == 0 || len(a) != len(b) {
				x.Errorf("%s: %d statements for two guests, %d for 39:\n%s", what, len(a), len(b), strings.Join(b, "\n"))
			}
		}
		stay := func(ctx context.Context) error {
			_, err := x.stays.GetStay(ctx, &guestv1.GetStayRequest{})
			return err
		}
		same("the first read", stay)
		for _, id := range []string{fewID, manyID} {
			x.invite(id, mail.Failed, "1")
			x.invite(id, mail.Sent, "2")
			x.invite(id, mail.Canceled, "3")
		}
		same("the stay", stay)
		same("all forms", func(ctx context.Context) error {
			_, err := x.forms.ListForms(ctx, &guestv1.ListFormsRequest{})
			return err
		})
		same("sharing for all minors", func(ctx context.Context) error {
			read, err := x.stays.GetStay(ctx, &guestv1.GetStayRequest{})
			if err != nil {
				return err
			}
			req := &guestv1.SetSharingRequest{Groups: []string{"identity"}}
			for _, g := range read.GetData().GetGuests() {
				if g.GetMinor() {
					req.Minors = append(req.Minors, &guestv1.MinorSharing{GuestId: g.GetId(), Groups: req.GetGroups()})
				}
			}
			_, err = x.forms.SetSharing(ctx, req)
			return err
		})
		same("a smaller party", func(ctx context.Context) error {
			_, err := x.forms.SetParty(ctx, &guestv1.SetPartyRequest{AdultCount: 1})
			return err
		})
		read, err := x.stays.GetStay(many, &guestv1.GetStayRequest{})
		x.must(err)
		for _, g := range read.GetData().GetGuests()[1:] {
			if g.GetLinkMail() != string(mail.DeliveryOf(mail.Sent, mail.ToServer)) {
				x.Fatalf("the latest link of %s is %q", g.GetId(), g.GetLinkMail())
			}
		}
	})
}

// A read of the stay of a guest in house queries the mapping once, for the room and for its doors.
func TestStayLooksAtTheMappingOnce(t *testing.T) {
	each(t, func(x *fixture) {
		caller, id := x.book("in house", 1, 0)
		x.write(func(tx *db.Tx) error {
			return tx.Reservation.Update().Where(entreservation.ID(id)).SetState("started").SetPmsParentSpaceID("R101").Exec(tx.Context())
		})
		if _, err := x.stays.GetStay(caller, &guestv1.GetStayRequest{}); err != nil {
			x.Fatal(err)
		}
		n := 0
		list := dbtest.Statements(t, nil, func() {
			_, err := x.stays.GetStay(caller, &guestv1.GetStayRequest{})
			x.must(err)
		})
		for _, statement := range list {
			if strings.Contains(statement, "mappings") {
				n++
			}
		}
		if n != 1 {
			x.Errorf("the mapping is read %d times:\n%s", n, strings.Join(list, "\n"))
		}
	})
}
