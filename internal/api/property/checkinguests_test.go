package property

import (
	"context"
	"testing"

	entevent "latchkey.dev/ent/event"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/staff"
)

// answers stores answers to a step of the main guest's form, as from the link of the mail.
func (h *tenant) answers(reservationID string, step rule.Step, answers map[string]string) {
	h.Helper()
	h.w.write(h.T, func(tx *db.Tx) error {
		p, err := guest.LoadParty(tx, h.w.deps.Keys, h.id, reservationID)
		if err != nil {
			return err
		}
		a := actor.Actor{Kind: actor.Guest, ID: "ses_1", PropertyID: h.id, ReservationID: reservationID, Origin: guest.OriginMail}
		_, err = guest.SaveStep(tx, h.w.deps.Keys, a, p.Members[0].Row.ID, step, answers)
		return err
	})
}

// The front desk reads the answers that the law or the property asks, and how many others are stored. Each read is recorded.
func TestGuestsByRole(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		id := a.reserve(a.integration(), "1", nil)
		groups := func(list ...string) {
			must(a.changeCheckIn(&propertyv1.CheckInSettingsChange{MandatoryGroups: &propertyv1.MandatoryGroups{List: list}}))(t)
		}
		groups("contact")
		a.answers(id, rule.NameStep, map[string]string{"firstName": "Ada", "lastName": "Lovelace"})
		a.answers(id, rule.ContactStep, map[string]string{"email": "ada@example.com", "mobile": "+351912345678"})
		s := &CheckIns{Deps: a.w.deps, Service: &checkin.Service{DB: a.w.d, Keys: a.w.deps.Keys}}
		reads := 0
		read := func(as context.Context) *propertyv1.GuestData {
			reads++
			return must(s.ListGuests(as, &propertyv1.ListGuestsRequest{ReservationId: id}))(t).GetData().GetList()[0]
		}
		if g := read(a.person(staff.FrontDesk)); g.GetPerson().GetEmail() != "ada@example.com" || g.GetWithheld() != 0 {
			t.Errorf("the desk does not see what is asked: %v", g)
		}
		groups()
		for name, c := range map[string]struct {
			as   context.Context
			sees bool
		}{
			"owner": {a.person(staff.Owner), true}, "manager": {a.person(staff.Manager), true}, "front desk": {a.person(staff.FrontDesk), false},
			"owner token": {a.token(credential.RoleOwner), true}, "operator token": {a.token(credential.RoleOperator), false},
		} {
			g := read(c.as)
			if g.GetPerson().GetLastName() != "Lovelace" || (g.GetPerson().GetMobile() != "") != c.sees || (g.GetPerson().GetEmail() != "") != c.sees || (g.GetWithheld() == 2) == c.sees {
				t.Errorf("%s: %v", name, g)
			}
		}
		n, err := a.w.d.View(a.ctx).Event.Query().Where(entevent.PropertyID(a.id), entevent.Kind(string(event.GuestsRead))).Count(a.ctx)
		if err != nil || n != reads {
			t.Errorf("%d of %d reads are recorded, %v", n, reads, err)
		}
	})
}
