package property

import (
	"context"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/staff"
)

// reserve stores a reservation as the PMS sends it, with these fields besides the required ones, and returns its id.
func (h *tenant) reserve(integrationID, pmsID string, more reservation.Patch) string {
	h.Helper()
	patch := reservation.Patch{
		reservation.PMSID: pmsID, reservation.Number: "10" + pmsID, reservation.LastName: "Lovelace", reservation.State: "confirmed",
		reservation.From: "2026-11-20T15:00:00Z", reservation.To: "2026-11-25T11:00:00Z",
	}
	for field, value := range more {
		patch[field] = value
	}
	var id string
	h.w.write(h.T, func(tx *db.Tx) error {
		scope := reservation.Scope{PropertyID: h.id, IntegrationID: integrationID}
		stored, err := reservation.Service{Keys: h.w.deps.Keys}.Upsert(tx, scope, patch, nil)
		if err == nil {
			id = stored.Row.ID
		}
		return err
	})
	return id
}

// person returns the context of a signed-in person with a role at the property.
func (h *tenant) person(role staff.Role) context.Context {
	return actor.With(h.Context(), actor.Actor{Kind: actor.Staff, ID: "prs_1", PersonID: "prs_1", PropertyID: h.id, Role: string(role), ProvedAt: time.Now()})
}

// token returns the context of a staff token with a role at the property.
func (h *tenant) token(role string) context.Context {
	return actor.With(h.Context(), actor.Actor{Kind: actor.Staff, ID: "tok_1", TokenID: "tok_1", PropertyID: h.id, Role: role})
}

// A reservation has what the PMS sent, and nothing where it sent nothing.
func TestReservationHasTheFactsOfThePMS(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		in := a.integration()
		full := a.reserve(in, "1", reservation.Patch{
			reservation.Adults: 2, reservation.Children: 0, reservation.Owing: 84.5, reservation.Currency: "EUR", reservation.GroupID: "G-7",
			reservation.SourceName: "Booking site", reservation.ChannelNumber: "BK 99", reservation.Email: "ada@example.com", reservation.Mobile: "+351 912 345",
		})
		bare := a.reserve(in, "2", nil)
		read := func(ids ...string) []*propertyv1.Reservation {
			return must((&reservations{Deps: a.w.deps}).ListReservations(a.ctx, &propertyv1.ListReservationsRequest{Ids: ids}))(t).GetData().GetList()
		}
		r := read(full)[0]
		same(t, "the integration", "CloudPMS", r.GetIntegrationName())
		same(t, "adults", ptr(int32(2)), r.AdultCount)
		same(t, "no children is a fact", ptr(int32(0)), r.ChildCount)
		same(t, "owing", "84.50 EUR", r.GetOwing()+" "+r.GetOwingCurrency())
		same(t, "the rest", []string{"G-7", "Booking site", "BK 99", "ada@example.com", "+351 912 345"},
			[]string{r.GetPmsGroupId(), r.GetSourceName(), r.GetChannelNumber(), r.GetEmail(), r.GetMobile()})
		r = read(bare)[0]
		if r.AdultCount != nil || r.ChildCount != nil || r.Owing != nil || r.OwingCurrency != nil || r.PmsGroupId != nil || r.SourceName != nil || r.ChannelNumber != nil || r.Email != nil || r.Mobile != nil {
			t.Errorf("a reservation without facts has %v", r)
		}
		for _, r := range read(full, bare) {
			if r.Email != nil || r.Mobile != nil {
				t.Errorf("a list has the contact of %s", r.GetId())
			}
		}
	})
}

// Only a caller who may read the data of guests gets the contact of the booker.
func TestContactOfTheBookerNeedsTheRight(t *testing.T) {
	eachTenant(t, func(a, b *tenant) {
		id := a.reserve(a.integration(), "1", reservation.Patch{reservation.Email: "ada@example.com", reservation.Mobile: "+351 912 345"})
		read := func(ctx context.Context) []*propertyv1.Reservation {
			return must((&reservations{Deps: a.w.deps}).ListReservations(ctx, &propertyv1.ListReservationsRequest{Ids: []string{id}}))(t).GetData().GetList()
		}
		for name, c := range map[string]struct {
			as   context.Context
			sees bool
		}{
			"owner": {a.person(staff.Owner), true}, "manager": {a.person(staff.Manager), true}, "front desk": {a.person(staff.FrontDesk), true},
			"housekeeping": {a.person(staff.Housekeeping), false}, "a role of tokens as a person": {a.person(credential.RoleOperator), false},
			"owner token": {a.token(credential.RoleOwner), true}, "operator token": {a.token(credential.RoleOperator), true},
			"viewer token": {a.token(credential.RoleViewer), false}, "a role of people as a token": {a.token(string(staff.FrontDesk)), false},
		} {
			r := read(c.as)[0]
			if (r.GetEmail() == "ada@example.com") != c.sees || (r.GetMobile() == "+351 912 345") != c.sees || (r.Email != nil) != c.sees || (r.Mobile != nil) != c.sees {
				t.Errorf("%s: email %q, mobile %q", name, r.GetEmail(), r.GetMobile())
			}
		}
		same(t, "found by another property", 0, len(read(b.ctx)))
	})
}
