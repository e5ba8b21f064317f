package property

import (
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// Two dorms may have beds of equal names: wherever the API names a bed to staff, it also names the dorm.
func TestEqualBedsHaveTheirDorms(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		check(a, a.w.deps.Keys.EnsureKey(a.ctx, a.id))
		for _, name := range []string{"Dorm 6", "Dorm 8"} {
			dorm := must(a.Space.CreateSpace(a.ctx, &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{Type: "Dorm", Name: name}}))(t).GetData().GetId()
			bed := must(a.Space.CreateSpace(a.ctx, &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{Type: "Bed", Name: "Bed A", ParentSpaceId: dorm}}))(t).GetData().GetId()
			_, lock := a.lock("Lock of " + name)
			assigned := must(a.Lock.AssignLock(a.ctx, &propertyv1.AssignLockRequest{Id: lock, DoorId: &bed}))(t).GetData()
			same(t, "the door of a lock", name+" Bed A", assigned.GetDoorParentName()+" "+assigned.GetDoorName())
			bedNow := must(a.Space.GetSpace(a.ctx, &propertyv1.GetSpaceRequest{Id: bed}))(t).GetData()
			same(t, "a bed", name+" Bed A", bedNow.GetParentName()+" "+bedNow.GetName())
			stay := must(a.TestStay.StartTestStay(a.ctx, &propertyv1.StartTestStayRequest{SpaceId: bed}))(t).GetData()
			same(t, "a test stay", name+" Bed A", stay.GetParentSpaceName()+" "+stay.GetSpaceName())
			tried := must(a.TestStay.CheckInTestStay(a.ctx, &propertyv1.CheckInTestStayRequest{}))(t).GetData().GetDoors()
			if len(tried) != 1 || tried[0].GetParentName() != name || tried[0].GetName() != "Bed A" {
				t.Errorf("the doors of a test stay in %s: %v", name, tried)
			}
			r := must(a.Reservation.ListReservations(a.ctx, &propertyv1.ListReservationsRequest{Ids: []string{stay.GetReservationId()}}))(t).GetData().GetList()[0]
			same(t, "a reservation", name+" Bed A", r.GetParentSpaceName()+" "+r.GetSpaceName())
			explained := must(a.Reservation.ExplainReservation(a.ctx, &propertyv1.ExplainReservationRequest{Id: stay.GetReservationId()}))(t).GetData()
			doors := explained.GetDoors()
			if len(doors) != 1 || doors[0].GetParentName() != name || doors[0].GetName() != "Bed A" {
				t.Errorf("the doors of a stay in %s: %v", name, doors)
			} else if !strings.Contains(doors[0].GetStaffSentence(), name+" · Bed A") {
				t.Errorf("the sentence of a door does not name the dorm: %s", doors[0].GetStaffSentence())
			}
		}
		page := must((&Days{Deps: a.w.deps}).ListDay(a.ctx, &propertyv1.ListDayRequest{Tab: "house"}))(t).GetData().GetList()
		for _, d := range page {
			same(t, "a stay of the day", "Dorm 8 Bed A", d.GetParentSpaceName()+" "+d.GetSpaceName())
			same(t, "the doors of a stay of the day", "Dorm 8 Bed A", strings.Join(append(d.GetDoorParentNames(), d.GetDoors()...), " "))
			for _, fix := range d.GetFixes() {
				if fix.GetDoorName() != "" {
					same(t, "a fix of a stay of the day", "Dorm 8 Bed A", fix.GetDoorParentName()+" "+fix.GetDoorName())
				}
			}
		}
		same(t, "stays in house", 1, len(page))
	})
}
